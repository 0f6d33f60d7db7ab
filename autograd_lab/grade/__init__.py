"""Grading a class: `autograd-lab grade SUBMISSIONS/ --out RESULTS/`.

Students' code computes and this side compares: expected values and solutions never enter the process that runs a submission; plain data
comes back and is judged here.

    model.py         the data that the parts exchange: Cell, Job, Run, Result
    course.py        the released notebooks, and the keys to them
    people.py        who is who: rosters, and the names that Canvas and Moodle give
    variants.py      which numbers each student's copies have, and whose an answer fits
    deliver.py       the command that writes these copies
    collect.py       sorts what Canvas and Moodle let you download by students
    submit.py        the command by which students pack what they hand in
    submissions.py   finds the submissions in a folder and loads them
    archives.py      opens zip archives, which may be hostile
    reading.py       the bytes of a file become cells, what is costly in a process of its own
    beside.py        files beside a notebook: modules it imports, data it reads
    merge.py         puts a student's answers into the released notebook
    sandbox.py       isolates a submission with what the machine offers
    worker.py        the process that runs students' code; it holds libraries and no secrets
    engine.py        keeps the workers busy, within limits; a second, careful pass for what died or hung
    scoring.py       Run -> Results, with the keys
    gradebook.py     SQLite: one transaction per submission, overrides with their reasons
    rescue.py        its backups, what was done by hand, and how a damaged one comes back
    files.py         files that are there whole or not at all; temporary folders that nobody is left with
    policy.py        lateness, extensions, which of several submissions counts
    run.py           the command: from a folder to a gradebook, and on from where it was interrupted
    tables.py        grades.csv, grades.json, Gradescope, nbgrader
    pages.py         what the pages share: look, safety, Markdown
    feedback.py      a page for each student
    hand_back.py     the command that gives pages and grades back: Canvas, Moodle, a folder
    report.py        a page about the class
    by_hand.py       the command that shows the gradebook and changes grades by hand
    similar.py       submissions more alike than the class explains
    cluster.py       the same on a Dask cluster
    validate.py      the slow second opinion: the merged notebook under nbval
    bench.py         measures all this on a test class
"""
