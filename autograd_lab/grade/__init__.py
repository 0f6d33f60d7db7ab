"""Grading a class: `autograd-lab grade SUBMISSIONS/ --out RESULTS/`.

Students' code computes, this side compares: expected values, hidden cases and their results never enter the process
that runs a submission; plain data comes back and is judged here.

    model.py         what the parts hand to each other: Cell, Job, Run, Result
    course.py        the released notebooks, and the keys to them
    submissions.py   finds the submissions in a folder and reads whatever was handed in
    beside.py        what lies beside a notebook: modules it imports, data it reads
    merge.py         puts a student's answers into the notebook as it was released
    sandbox.py       what a machine offers to keep a submission to itself
    worker.py        the process that runs students' code; it holds libraries and no secrets
    engine.py        keeps the workers busy, within limits; a second, careful pass for what died or hung
    scoring.py       Run -> Results, with the keys
    gradebook.py     SQLite: one transaction per submission, overrides with their reasons
    run.py           the command: from a folder to a gradebook, and on from where it was interrupted
    tables.py        grades.csv, grades.json, Gradescope, nbgrader
    pages.py         what all pages share: look, safety, Markdown
    feedback.py      a page for each student
    report.py        a page about the class
    by_hand.py       the command that shows the gradebook and changes grades by hand
    similar.py       submissions more alike than the class explains
    cluster.py       the same on a Dask cluster
    validate.py      the slow second opinion: the merged notebook under nbval
    bench.py         measures all this on a test class
"""
