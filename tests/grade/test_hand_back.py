"""Pages and grades go back to whom they belong, in the forms that Canvas and Moodle import; and a page says what has changed."""

import csv
import errno
import html
import io
import json
import re
import sqlite3
import zipfile

import classroom as c
import pytest
from test_collect import NAMES, NB, canvas_name, moodle_name, pack, roster_of

from autograd_lab.grade import by_hand, feedback, hand_back, people, run, tables
from autograd_lab.grade.gradebook import NAME, Gradebook

NUMBER = "04"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Grading and giving back in this process, in tmp_path/out."""
    c.stand_in(monkeypatch, lambda of, *_: c.HereRunner(items=of.items))
    course = c.course()
    for module in (run, hand_back):
        monkeypatch.setattr(module, "load_course", lambda *_: course)
    out = tmp_path / "out"

    class Desk:
        place = out

        def grade(self, top, *words):
            assert (
                run.main([str(top), "--out", str(out), "--quiet", "--notebooks", NUMBER, *map(str, words)])
                == 0
            )

        def give(self, way, *words, status=0):
            assert hand_back.main([str(out), "--to", way, *map(str, words)]) == status

        def book(self):
            return Gradebook(out / NAME)

        def page(self, student):
            return feedback.page_of(out / feedback.FOLDER, student).read_text(encoding="utf-8")

        def read(self, name):
            return list(csv.reader(io.StringIO((out / name).read_text(encoding="utf-8-sig"))))

        def unzip(self, name):
            with zipfile.ZipFile(out / name) as archive:
                return {one: archive.read(one).decode() for one in archive.namelist()}

    return Desk()


def as_canvas_reads(name):
    """(user, file): what follows "anon" at the beginning, otherwise the first two words of digits; LATE is no word."""
    words = [word for word in name.split("_") if word != "LATE"]
    assert not words[-1].startswith("link")
    if words[0] == "anon":
        return words[1], int(words[2])
    user, file = [int(word) for word in words if re.fullmatch("[0-9]+", word)][:2]
    return user, file


def as_moodle_reads(path):
    """(participant, file): of the first part of the path that has four words or more, the second of which is a number."""
    assert not path.rpartition("/")[2].startswith((".", "~"))
    part, *below = path.split("/")
    _, number, kind, plugin, *more = part.split("_", 4)
    assert (kind, plugin) == ("assignsubmission", "file")
    return int(number), "/".join([*more, *below]).lstrip("/")


def test_every_page_goes_back_to_canvas(tmp_path, desk):
    files = {
        canvas_name(first, last, 1000 + i, 70 + i, NB, i % 2 == 0): f"work of {i}".encode()
        for i, (first, last) in enumerate(NAMES)
    }
    roster_of(NAMES, tmp_path / "class.csv", "canvas")
    desk.grade(pack(tmp_path / "in", files, "zip"), "--roster", tmp_path / "class.csv")
    desk.give("canvas")
    pages = desk.unzip("to-canvas/04_feedback.zip")
    assert {as_canvas_reads(name) for name in pages} == {(1000 + i, 70 + i) for i in range(len(NAMES))}
    for name, text in pages.items():
        student = f"s{as_canvas_reads(name)[0] - 1000:02d}"
        first, last = NAMES[int(student[1:])]
        assert f"<bdi>{student}</bdi>" in text
        title = html.unescape(text.partition("<title>")[2].partition("</title>")[0])
        assert {*people.name_words(f"{first} {last}")} <= {*people.name_words(title)}
        assert text.partition("<h1><bdi>")[2].startswith(
            html.escape(title.removeprefix("Feedback for ")[:40])
        )
    head, possible, *rows = desk.read("to-canvas/grades.csv")
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "04 Backward, node by node"]
    assert (possible[0].strip(), possible[-1]) == ("Points Possible", "15")
    assert {row[1] for row in rows} == {str(1000 + i) for i in range(len(NAMES))}
    assert {row[-1] for row in rows} == {"0"}
    assert not any(row[0].startswith(("=", "+")) for row in rows)


def test_every_page_goes_back_to_moodle(tmp_path, desk, capsys):
    files = {
        moodle_name(first, last, 1000 + i, NB): f"work of {i}".encode()
        for i, (first, last) in enumerate(NAMES)
    }
    roster_of(NAMES, tmp_path / "class.csv", "moodle")
    desk.grade(pack(tmp_path / "in", files, "zip"), "--roster", tmp_path / "class.csv")
    desk.give("moodle")
    pages = desk.unzip("to-moodle/04_feedback.zip")
    assert {as_moodle_reads(name) for name in pages} == {
        (1000 + i, "feedback.html") for i in range(len(NAMES))
    }
    for name, text in pages.items():
        assert f"<bdi>s{as_moodle_reads(name)[0] - 1000:02d}</bdi>" in text
    head, *rows = desk.read("to-moodle/04_grades.csv")
    assert head == ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"]
    assert {row[0] for row in rows} == {f"Participant {1000 + i}" for i in range(len(NAMES))}
    assert "does not speak English" in capsys.readouterr().err


GERMAN = """\
\ufeffID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Bewertung kann geändert werden,Zuletzt geändert (Bewertung),Feedback als Kommentar
Teilnehmer/in11,Ada Lovelace,ada@x.edu,Zur Bewertung abgegeben,,"100,00",Ja,-,"Gut, weiter so"
Teilnehmer/in12,Bob B,BOB@x.edu,Zur Bewertung abgegeben,"3,00","100,00",Ja,-,
Teilnehmer/in13,Cleo C,cleo@x.edu,Keine Abgabe,,"100,00",Ja,-,
"""


@pytest.fixture
def three(tmp_path, desk):
    """Ada and bob handed in, cleo did not; the roster knows their addresses."""
    (tmp_path / "class.csv").write_text(
        "student,name,email\nada,Ada Lovelace,ada@x.edu\nbob,Bob B,bob@x.edu\ncleo,Cleo C,cleo@x.edu\n"
    )
    c.hand_in(tmp_path / "in", "ada", c.document())
    c.hand_in(tmp_path / "in", "bob", c.solved(a1="answer = [12, 4, 12, 160]"))
    desk.grade(tmp_path / "in", "--roster", tmp_path / "class.csv")
    return desk


def test_moodles_own_worksheet_is_filled_in(tmp_path, three, capsys):
    (tmp_path / "w.csv").write_text(GERMAN, encoding="utf-8")
    three.give("moodle", "--sheet", tmp_path / "w.csv")
    given = list(csv.reader(io.StringIO(GERMAN.removeprefix("\ufeff"))))
    rows = three.read("to-moodle/04_grades.csv")
    assert [row[4] for row in rows] == ["Bewertung", "15", "4", "0"]
    assert [row[:4] + row[5:] for row in rows] == [row[:4] + row[5:] for row in given]
    assert {as_moodle_reads(name)[0] for name in three.unzip("to-moodle/04_feedback.zip")} == {11, 12, 13}
    assert "maximum there is 100, the notebook's 15; the points were not converted" in capsys.readouterr().err
    three.give("moodle", "--sheet", tmp_path / "w.csv", "--scale")
    assert [row[4] for row in three.read("to-moodle/04_grades.csv")] == ["Bewertung", "100", "26,6667", "0"]
    (tmp_path / "w.csv").write_text(GERMAN.replace("100,00", "10,00"), encoding="utf-8")
    three.give("moodle", "--sheet", tmp_path / "w.csv")
    assert [row[4] for row in three.read("to-moodle/04_grades.csv")][1:] == ["", "4", "0"]
    assert "15 points are more than Moodle's maximum of 10" in capsys.readouterr().err


EXPORT = """\
Student,ID,SIS User ID,SIS Login ID,Section,Exercise 4 (9001),Exercise 14 (9002),Current Score
,,,,,Manual Posting,,
    Points Possible,,,,,28,10,(read only)
"Lovelace, Ada",501,,ada,A,,,
"B, Bob",502,,bob,A,,,
"Z, Zed",503,,zed,B,,,
"""


def test_canvass_own_gradebook_says_who_and_which_assignment(tmp_path, three, capsys):
    (tmp_path / "e.csv").write_text(EXPORT)
    three.give("canvas", "--sheet", tmp_path / "e.csv")
    rows = three.read("to-canvas/grades.csv")
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Exercise 4 (9001)"]
    assert [(row[0].strip(), row[1], row[-1]) for row in rows[1:]] == [
        ("Points Possible", "", "28"), ("Lovelace, Ada", "501", "15"), ("B, Bob", "502", "4"),
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "no page for ada, bob" in said
    assert "no grades for cleo" in said
    assert "the maximum there is 28" in said
    three.give("canvas", "--sheet", tmp_path / "e.csv", "--scale", "--assignment", "04=Exercise 14")
    assert [row[-1] for row in three.read("to-canvas/grades.csv")] == [
        "Exercise 14 (9002)",
        "10",
        "10",
        "2.6667",
    ]


def canvas_files(*names):
    return {name: json.dumps(c.document()).encode() for name in names}


def roster_with(path, columns, *rows):
    path.write_text("\n".join([columns, *rows]) + "\n", encoding="utf-8")
    return path


def test_anonymous_pages_go_back_to_canvas_and_their_grades_do_not(tmp_path, desk, capsys):
    """A code stands for the student. The number behind it is the file's, and no user's, though the file is called "04_...", too."""
    files = canvas_files(f"anon_aB3xY_70_{NB}", f"LATE_anon_12345_71_{NB}", f"anon_q1w2e_72_{NB}")
    desk.grade(pack(tmp_path / "in", files, "zip"))
    desk.give("canvas")
    pages = desk.unzip("to-canvas/04_feedback.zip")
    assert {as_canvas_reads(name) for name in pages} == {("aB3xY", 70), ("12345", 71), ("q1w2e", 72)}
    for name, text in pages.items():
        assert f"<bdi>anon_{as_canvas_reads(name)[0]}</bdi>" in text
    assert not (desk.place / "to-canvas" / "grades.csv").exists()
    assert "no grades for anon_12345, anon_aB3xY, anon_q1w2e" in capsys.readouterr().err


ODD = {"7": (3012, 70), "anon": (3013, 71), "leeann_7": (3014, 72), "student_3": (3015, 73), "_": (3016, 74)}
"""Names of which Canvas, where it takes files back, reads a number or a code: {name: (user, file)}."""


@pytest.mark.parametrize("known", [True, False], ids=["roster", "no roster"])
def test_numbers_in_a_name_lead_canvas_to_nobody_else(tmp_path, desk, capsys, known):
    files = canvas_files(*(f"{name}_{user}_70{file}_{NB}" for name, (user, file) in ODD.items()))
    people = [f"s{user},{name},{user}" for name, (user, _) in ODD.items()]
    roster = roster_with(tmp_path / "class.csv", "student,name,canvas id", *people)
    desk.grade(pack(tmp_path / "in", files, "zip"), *(["--roster", roster] if known else []))
    desk.give("canvas")
    read = {as_canvas_reads(name) for name in desk.unzip("to-canvas/04_feedback.zip")}
    right = {(user, int(f"70{file}")) for user, file in ODD.values()}
    ids = {row[1] for row in desk.read("to-canvas/grades.csv")[2:]}
    if known:
        assert read == right
        assert ids == {str(user) for user, _ in ODD.values()}
    else:  # whose the 3 of student_3 is cannot be known, so nobody gets a grade for it
        assert right - read == {(3014, 7072), (3015, 7073)}
        assert ids == {"3012", "3013", "3016"}
        said = capsys.readouterr().err
        assert "may not take the page of leeann_7, student_3" in said
        assert "no grades for leeann_7, student_3" in said


def test_a_page_goes_to_the_newest_file_because_canvas_knows_no_other(tmp_path, desk):
    desk.grade(pack(tmp_path / "1", canvas_files(f"lovelaceada_501_70_{NB}"), "zip"), "--count", "best")
    worse = {f"lovelaceada_501_80_{NB}": json.dumps(c.document("exercises")).encode()}
    desk.grade(pack(tmp_path / "2", worse, "zip"))
    with desk.book() as book:
        (entry,) = book.entries()
    assert "_70_" in entry.file
    desk.give("canvas")
    assert list(map(as_canvas_reads, desk.unzip("to-canvas/04_feedback.zip"))) == [(501, 80)]


LEES = """\
Student,ID,SIS User ID,SIS Login ID,Section,Exercise 4 (9001)
    Points Possible,,,,,15
"Lee, Kim",601,,kim,A,7
"Lee, Kim",602,,kim2,A,12
"Lovelace, Ada",501,,al,A,EX
"B, Bob",502,,bob,A,EX
"""


def given_in(desk):
    """{ID: grade} of Canvas's table."""
    return {row[1] if row[1].isdigit() else row[2]: row[-1] for row in desk.read("to-canvas/grades.csv")[2:]}


def test_nobody_gets_the_grade_of_a_namesake_in_canvas(tmp_path, desk, capsys):
    """Both are called alike in Canvas, one is on the roster; and a login says more than a name."""
    c.hand_in(tmp_path / "in", "kim", c.document())
    c.hand_in(tmp_path / "in", "ann", c.document())
    roster = roster_with(tmp_path / "class.csv", "student,name,login", "kim,Kim Lee,", "ann,Ann X,bob")
    desk.grade(tmp_path / "in", "--roster", roster)
    (tmp_path / "e.csv").write_text(LEES)
    desk.give("canvas", "--sheet", tmp_path / "e.csv")
    assert given_in(desk) == {"502": "15"}
    said = capsys.readouterr().err
    assert "kim is not the only one of this name in Canvas: 601 and 602 got no grade" in said
    assert "no grades for kim" in said
    more = roster_with(tmp_path / "ids.csv", "student,canvas id", "kim,602")
    desk.give("canvas", "--sheet", tmp_path / "e.csv", "--roster", more)
    assert given_in(desk) == {"602": "15", "502": "15"}
    (tmp_path / "e.csv").write_text(LEES.replace('"Lee, Kim",602,,kim2,A,12\n', ""))  # who has left
    desk.give("canvas", "--sheet", tmp_path / "e.csv", "--roster", more)
    assert given_in(desk) == {"502": "15"}


def test_last_and_first_names_in_columns_of_their_own_are_one_name(tmp_path, desk):
    c.hand_in(tmp_path / "in", "ada", c.document())
    c.hand_in(tmp_path / "in", "lee", c.document())  # called like a last name
    roster = roster_with(tmp_path / "class.csv", "student,name", "ada,Ada Lovelace", "lee,Bo Berg")
    desk.grade(tmp_path / "in", "--roster", roster)
    sheet = "LastName,FirstName,ID,SIS Login ID,Section,Exercise 4 (9001)\nLovelace,Ada,501,al,A,\nLee,Kim,601,kim,A,\n"
    (tmp_path / "e.csv").write_text(sheet)
    desk.give("canvas", "--sheet", tmp_path / "e.csv")
    assert given_in(desk) == {"501": "15"}


def test_the_file_that_came_from_canvas_says_whose_row_it_is(tmp_path, desk):
    """She handed it in under another name than the roster has; her login there has nothing, and must not win."""
    desk.grade(
        pack(tmp_path / "in", canvas_files(f"lovelaceada_501_70_{NB}"), "zip"),
        *("--roster", roster_with(tmp_path / "class.csv", "student,name,login", "s1,A L,al")),
    )
    (tmp_path / "e.csv").write_text(LEES)
    desk.give("canvas", "--sheet", tmp_path / "e.csv")
    assert given_in(desk) == {"501": "15"}


def test_a_row_is_nobody_elses_though_its_owner_is_not_asked_for(tmp_path, desk):
    """Two namesakes of one on the roster handed in, of whom one has left Canvas."""
    files = canvas_files(f"leekim_602_70_{NB}", f"leekim_603_71_{NB}")
    roster = roster_with(tmp_path / "class.csv", "student,name", "kim,Kim Lee", "ada,Ada Lovelace")
    desk.grade(pack(tmp_path / "in", files, "zip"), "--roster", roster)
    (tmp_path / "e.csv").write_text(LEES.replace('"Lee, Kim",601,,kim,A,7\n', "").replace(",EX", ","))
    desk.give("canvas", "--sheet", tmp_path / "e.csv")
    assert given_in(desk) == {"602": "15", "501": "0"}
    desk.give("canvas", "--sheet", tmp_path / "e.csv", "--student", "kim", status=2)


def test_a_grade_that_is_not_given_now_stays_in_canvas(tmp_path, three):
    """A blank cell would take it away. Who handed in nothing and is excused stays so."""
    sheet = LEES.replace("Lee, Kim", "C, Cleo", 1).replace(",7\n", ",EX\n")
    (tmp_path / "e.csv").write_text(sheet)
    three.give("canvas", "--sheet", tmp_path / "e.csv")
    assert given_in(three) == {"501": "15", "502": "4", "601": "EX"}
    three.give("canvas", "--sheet", tmp_path / "e.csv", "--student", "ada")
    assert given_in(three) == {"501": "15"}


def test_who_was_not_graded_in_a_notebook_has_no_blank_cell(tmp_path, desk):
    c.hand_in(tmp_path / "in", "ada", c.document())
    c.hand_in(tmp_path / "in", "bob", c.document())
    c.hand_in(tmp_path / "next", "ada", c.document(name=c.OTHER), c.OTHER + ".ipynb")
    desk.grade(tmp_path / "in")
    desk.grade(tmp_path / "next", "--notebooks", "05")
    ids = roster_with(tmp_path / "ids.csv", "student,canvas id", "ada,501", "bob,502")
    desk.give("canvas", "--roster", ids)
    assert not (desk.place / "to-canvas" / "grades.csv").exists()
    assert [row[1] for row in desk.read("to-canvas/04_grades.csv")[2:]] == ["501", "502"]
    assert [row[1] for row in desk.read("to-canvas/05_grades.csv")[2:]] == ["501"]
    sheet = LEES.replace("Exercise 4 (9001)", "Exercise 4 (9001),Exercise 5 (9002)").replace(",EX", ",EX,9")
    (tmp_path / "e.csv").write_text(sheet)
    desk.give("canvas", "--roster", ids, "--sheet", tmp_path / "e.csv")
    assert [row[-2:] for row in desk.read("to-canvas/grades.csv")[3:]] == [["15", "9"]]
    same = ["--assignment", "05=Exercise 4"]
    desk.give("canvas", "--roster", ids, "--sheet", tmp_path / "e.csv", *same, status=2)


def test_namesakes_without_numbers_are_told_apart_for_canvas(tmp_path, desk):
    """Where it does not know a login, it goes by the name, and takes the first who has it."""
    for student in ("kim1", "kim2", "ada"):
        c.hand_in(tmp_path / "in", student, c.document())
    rows = ["kim1,Kim Lee,kl1", "kim2,Kim Lee,kl2", "ada,Ada L,al"]
    desk.grade(tmp_path / "in", "--roster", roster_with(tmp_path / "class.csv", "student,name,login", *rows))
    desk.give("canvas")
    assert [row[0] for row in desk.read("to-canvas/grades.csv")[2:]] == [
        "Ada L",
        "Kim Lee (kim1)",
        "Kim Lee (kim2)",
    ]


def worksheet(path, *people, names=True, grade="Grade"):
    """Moodle's, for (number, name) each."""
    head = ["Identifier", *["Full name"] * names, "Status", grade, "Maximum Grade", "Last modified (grade)"]
    rows = [[f"Participant {n}", *[name] * names, "Submitted", "", "15.00", "-"] for n, name in people]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def moodle_grades(desk, column):
    return {
        row[0].removeprefix("Participant "): row[column] for row in desk.read("to-moodle/04_grades.csv")[1:]
    }


TEAM = (("1003", "Dan Drew"), ("1004", "Eve Ely"), ("1005", "Ann Adams"))


@pytest.mark.parametrize("sheet", [True, False], ids=["worksheet", "no worksheet"])
def test_a_groups_number_in_moodle_is_no_students(tmp_path, desk, capsys, sheet):
    """A group's folder has the group's number, which may be that of a participant who is in another group; its members have no folders."""
    files = {f"Team 7_1003_assignsubmission_file/{NB}": json.dumps(c.document()).encode()}
    files |= {f"Ann Adams_1005_assignsubmission_file/{NB}": json.dumps(c.document()).encode()}
    rows = [f"{name.split()[0].lower()},{name}" for _, name in TEAM]
    desk.grade(
        pack(tmp_path / "in", files, "zip"),
        *("--roster", roster_with(tmp_path / "class.csv", "student,name", *rows)),
    )
    desk.give("moodle", *(["--sheet", worksheet(tmp_path / "w.csv", *TEAM)] if sheet else []))
    assert {key: cell for key, cell in moodle_grades(desk, 3 if sheet else 2).items() if cell} == {
        "1005": "15"
    }
    assert [as_moodle_reads(name) for name in desk.unzip("to-moodle/04_feedback.zip")] == [
        (1005, "feedback.html")
    ]
    said = capsys.readouterr().err
    assert "nothing for Team 7, who are no participants of these names" in said
    assert "nothing for dan, eve, who" in said
    assert ("or groups handed in" in said) != sheet


@pytest.mark.parametrize("numbers", [("", ""), ("1000", ""), ("1000", "1000")])
def test_two_students_do_not_share_a_participant_of_moodle(tmp_path, desk, capsys, numbers):
    """Two of one name on the roster, and one in Moodle, who handed in."""
    files = {f"Kim Lee_1000_assignsubmission_file/{NB}": json.dumps(c.document()).encode()}
    rows = f"k1,Kim Lee,{numbers[0]}", f"k2,Kim Lee,{numbers[1]}", "a,Ann A,"
    roster = roster_with(tmp_path / "class.csv", "student,name,moodle id", *rows)
    desk.grade(pack(tmp_path / "in", files, "zip"), "--roster", roster)
    sheet = worksheet(tmp_path / "w.csv", ("1000", "Kim Lee"), ("1001", "Ann A"))
    desk.give("moodle", "--sheet", sheet)
    assert moodle_grades(desk, 3) == {"1000": "15", "1001": "0"}
    (page,) = [text for name, text in desk.unzip("to-moodle/04_feedback.zip").items() if "_1000_" in name]
    assert f"<bdi>{'k1' if numbers[0] > numbers[1] else 'Kim Lee_1000'}</bdi>" in page
    left = "k2" if numbers[0] > numbers[1] else "k1, k2"
    assert f"nothing for {left}, who may be the same participant" in capsys.readouterr().err
    desk.give("moodle", "--sheet", sheet, "--student", "k2", status=2)  # though nobody else is asked for


def test_who_is_not_in_moodles_worksheet_is_named(tmp_path, three, capsys):
    sheet = worksheet(tmp_path / "w.csv", ("11", "Ada Lovelace"), ("12", "Bob B"), ("13", "Bob B"))
    three.give("moodle", "--sheet", sheet)
    assert (
        "nothing for bob, cleo, whom the worksheet does not name, or names twice" in capsys.readouterr().err
    )
    assert moodle_grades(three, 3) == {"11": "15", "12": "", "13": ""}


def test_two_notebooks_of_one_assignment_have_one_grade_in_moodle(tmp_path, desk, capsys):
    """A participant's number is of one assignment."""
    for place, name, short, number, told in (
        ("1", c.BOOK, "04", 11, False), ("2", c.OTHER, "05", 12, False), ("3", c.OTHER, "05", 11, True),
    ):  # fmt: skip
        data = json.dumps(c.document(name=name)).encode()
        files = {f"Ada L_{number}_assignsubmission_file/{name}.ipynb": data + b" " * number}
        desk.grade(pack(tmp_path / place, files, "zip"), "--notebooks", short)
        desk.give("moodle")
        said = capsys.readouterr().err
        assert (f"{c.BOOK} and {c.OTHER} were handed in for one assignment" in said) == told


def test_hidden_names_go_back_to_moodle_by_their_numbers(tmp_path, desk):
    files = {
        f"Participant_{n}_assignsubmission_file/{NB}": json.dumps(c.document()).encode() for n in (11, 12)
    }
    roster = roster_with(tmp_path / "class.csv", "student,name", "ada,Ada L")
    desk.grade(pack(tmp_path / "in", files, "zip"), "--roster", roster)
    desk.give("moodle")
    assert moodle_grades(desk, 2) == {"11": "15", "12": "15"}
    desk.give("moodle", "--student", "Participant_11")
    assert moodle_grades(desk, 2) == {"11": "15"}
    sheet = worksheet(tmp_path / "w.csv", ("11", ""), ("12", ""), names=False)
    desk.give("moodle", "--sheet", sheet)
    assert moodle_grades(desk, 2) == {"11": "15", "12": "15"}
    assert {as_moodle_reads(name)[0] for name in desk.unzip("to-moodle/04_feedback.zip")} == {11, 12}


def test_moodles_worksheet_may_be_in_a_language_that_is_not_known(tmp_path, three):
    sheet = worksheet(tmp_path / "w.csv", ("11", "Ada Lovelace"), ("12", "Bob B"), grade="成绩")
    three.give("moodle", "--sheet", sheet)
    assert [row[3] for row in three.read("to-moodle/04_grades.csv")] == ["成绩", "15", "4"]


def test_grades_go_to_moodle_before_the_pages(tmp_path, three, capsys):
    """The zip makes grades without points, of the time of the submission; a worksheet without such times is refused from then on."""
    three.give("moodle", "--sheet", worksheet(tmp_path / "w.csv", ("11", "Ada Lovelace")))
    said = capsys.readouterr().out
    assert said.index("Upload grading worksheet") < said.index("Upload multiple feedback files")
    assert "Allow updating records that have been modified more recently" in said


@pytest.mark.parametrize(
    ("way", "words", "says"),
    [
        ("canvas", [], "nothing to give back to Canvas"),
        ("moodle", [], "nothing to give back to Moodle"),
        ("canvas", ["--sheet", "w.csv"], "is no gradebook of Canvas"),
        ("moodle", ["--sheet", "e.csv"], "is no grading worksheet of Moodle"),
        ("canvas", ["--sheet", "two.csv"], "Which assignment is 04_backward_node_by_node?"),
        ("folder", ["--notebooks", "17"], "There is no notebook '17'"),
        ("folder", ["--student", "zed"], "There is no student 'zed'"),
    ],
)  # fmt: skip
def test_what_cannot_be_given_back_is_said(tmp_path, three, capsys, monkeypatch, way, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.csv").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "e.csv").write_text(EXPORT)
    (tmp_path / "two.csv").write_text(EXPORT.replace("Exercise 14", "Quiz 4"))
    three.give(way, *words, status=2)
    said = capsys.readouterr().err
    assert says in said
    assert "What to do" in said
    with three.book() as book:
        assert book.returned() == {}


def test_names_in_a_folder_cannot_be_guessed_and_stay(tmp_path, three):
    three.give("folder", "--url", "https://x.edu/f")
    folder = three.place / "to-folder"
    names = {path.name for path in folder.iterdir()} - {"index.html"}
    assert len(names) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}\.html", name) for name in names)
    assert "ada" not in (folder / "index.html").read_text()
    head, *rows = three.read("links.csv")
    assert head == ["student", "name", "email", "link"]
    links = {row[0]: row[3] for row in rows}
    assert {link.removeprefix("https://x.edu/f/") for link in links.values()} == names
    assert rows[0][1:3] == ["Ada Lovelace", "ada@x.edu"]
    assert (three.place / "links.csv").stat().st_mode & 0o077 == 0
    for student, link in links.items():
        assert f"<bdi>{student}</bdi>" in (folder / link.rpartition("/")[2]).read_text(encoding="utf-8")
    by_hand.main([str(three.place), "override", "bob", "04.2", "1", "--reason", "r"])
    three.give("folder")
    assert {path.name for path in folder.iterdir()} - {"index.html"} == names


# --- what has changed ---------------------------------------------------------------------------------


def changes(page):
    found = re.search(r'<section class="changed">.*?</section>', page, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[0])).strip() if found else ""


def test_a_page_says_what_has_changed_since_the_one_that_the_student_has(tmp_path, three):
    assert by_hand.main([str(three.place), "override", "bob", "04.4", "1", "--reason", "first"]) == 0
    three.give("folder", "--draft")  # nobody has it
    three.give("folder", "--dry-run")
    with three.book() as book:
        assert book.returned() == {}
    assert changes(three.page("bob")) == ""
    three.give("folder")
    assert changes(three.page("bob")) == ""

    by_hand.main([str(three.place), "override", "bob", "04.4", "2", "--reason", "you <b>explained</b> it"])
    by_hand.main([str(three.place), "override", "bob", "04.2", "3", "--reason", "r"])
    by_hand.main([str(three.place), "comment", "bob", "04.1", "Well done."])
    three.grade(tmp_path / "in")
    said = changes(three.page("bob"))
    assert "since your page of" in said
    assert "5 points before, 9 now" in said
    assert "1 of 5 2 of 5 graded by hand: you &lt;b&gt;explained" in said
    assert "0 of 3 3 of 3 graded by hand: r" in said
    assert "4 of 4 4 of 4 a new comment" in said
    assert "1 before," in three.page("bob")
    assert changes(three.page("ada")) == ""

    page = three.page("bob")
    three.give("folder")  # he has this one now, and its changes stay on it
    three.give("folder")
    three.grade(tmp_path / "in")
    assert three.page("bob") == page
    by_hand.main([str(three.place), "withdraw", "bob", "04.2", "--reason", "no"])
    three.grade(tmp_path / "in")
    assert "9 points before, 6 now" in changes(three.page("bob"))
    assert "3 of 3 0 of 3 no longer graded by hand" in changes(three.page("bob"))
    assert "explained" not in changes(three.page("bob"))


def test_the_reasons_of_a_change(tmp_path, three, monkeypatch):
    three.give("folder")
    c.hand_in(tmp_path / "in", "bob", c.document())
    three.grade(tmp_path / "in")
    assert "another file of yours counts" in changes(three.page("bob"))
    course = run.load_course()
    items = {
        n: [__import__("dataclasses").replace(i, points=8) if i.id == "04.1" else i for i in each]
        for n, each in course.items.items()
    }
    for module in (run, hand_back):
        monkeypatch.setattr(module, "load_course", lambda *_: run.Course(course.released, items))
    three.grade(tmp_path / "in")
    assert "it is worth 8 points now" in changes(three.page("ada"))
    three.grade(tmp_path / "in", "--due", "2001-01-01", "--late-penalty", "1")
    assert "lateness counts differently" in changes(three.page("ada"))


def test_only_those_whose_page_has_changed(tmp_path, three, capsys):
    three.give("folder")
    capsys.readouterr()
    three.give("folder", "--changed")
    assert "nothing to give back" in capsys.readouterr().out
    by_hand.main([str(three.place), "comment", "cleo", "04", "Where is it?"])
    three.give("folder", "--changed", "--out", tmp_path / "some")
    assert "1 of 1 students get their page" in capsys.readouterr().out
    assert len(list((tmp_path / "some").glob("*.html"))) == 2
    assert "Where is it?" in three.page("cleo")


def test_nothing_hidden_is_in_what_is_kept_of_a_page(three):
    """The version is compared, never shown whole; it holds points, states and what people wrote."""
    with three.book() as book:
        ((student, entry),) = [(e.student, e) for e in book.entries() if e.student == "bob"]
        text = json.dumps(feedback.version([entry]))
    assert set(re.findall(r'"(\w[\w ]*)":', text)) <= {
        "digest",
        "lateness",
        "comment",
        "items",
        "points",
        "of",
        "state",
        "by hand",
        c.BOOK,
    }
    assert student == "bob"


def test_the_page_shows_extension_comment_and_which_submission_counts(tmp_path, three):
    c.hand_in(tmp_path / "in", "bob", c.document(), c.BOOK + " (1).ipynb")
    (tmp_path / "x.csv").write_text("student,until\nbob,2099-01-01 12:00\n")
    three.grade(
        tmp_path / "in",
        "--count",
        "best",
        "--due",
        "2001-01-01",
        "--closes",
        "1d",
        "--extensions",
        tmp_path / "x.csv",
    )
    by_hand.main([str(three.place), "comment", "bob", "04", "See <me>."])
    three.grade(tmp_path / "in")
    text = three.page("bob")
    assert "due extended until 2099-01-01 12:00" in text
    assert "See &lt;me&gt;." in text
    assert "counts of your 2 submissions" in text
    assert "after closing: it counts nothing" in three.page("ada")


def test_a_comment_on_what_was_not_handed_in_is_shown(three):
    by_hand.main([str(three.place), "comment", "cleo", "04", "Where is it?"])
    with three.book() as book:
        absent = {entry.student: feedback._absent(entry) for entry in book.entries()}
        cleo = next(entry for entry in book.entries() if entry.student == "cleo")
    assert absent == {"ada": False, "bob": False, "cleo": False}
    cleo.comments.clear()
    assert feedback._absent(cleo)


def test_a_roster_given_later_helps(tmp_path, three, capsys):
    (tmp_path / "ids.csv").write_text("student,canvas id\nada,501\nbob,502\n")
    three.give("canvas", "--roster", tmp_path / "ids.csv")
    assert [row[1] for row in three.read("to-canvas/grades.csv")[2:]] == ["501", "502"]
    assert people.read_roster(tmp_path / "ids.csv").students == ["ada", "bob"]
    assert tables.file_name("ada") == "ada"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "There is no room left on the disk."),
        (PermissionError(errno.EACCES, "Permission denied", "page.html"), "could not be read or written"),
        (sqlite3.DatabaseError("file is not a database"), "SQLite says: file is not a database."),
    ],
    ids=["full", "refused", "damaged"],
)
def test_what_the_disk_and_sqlite_refuse_is_a_sentence(desk, monkeypatch, capsys, error, told):
    def fail(*_):
        raise error

    monkeypatch.setattr(hand_back, "_main", fail)
    desk.give("folder", status=2)
    said = capsys.readouterr().err
    assert said.startswith("autograd-lab: ")
    assert told in said
