"""The students' pages: what they say, what they must not say, and that nothing a student wrote is more than text in them."""

import json
import re
from html.parser import HTMLParser

import pytest
from classroom import BOOK, HereRunner, course, hand_in, solved

from autograd_lab.course import items
from autograd_lab.grade import feedback, merge, pages, run, scoring
from autograd_lab.grade.engine import Engine
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Answer, Cell, CellRun, Job, Result, Run
from autograd_lab.grade.submissions import find
from autograd_lab.tracing import Trace
from autograd_lab.widgets.wire import decode

SHAPES = "08_shapes"
WRONG_SHAPES = '''\
def unbroadcast(g, shape):
    """The message, cut down."""
    while len(g.shape) > len(shape):
        g = g.mean(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.mean(dim, keepdim=True)
    return g
'''
LOUD = """\
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        if g.ndim == 3:
            raise ValueError("over" + f"heard {tuple(g.shape)} {g.tolist()} for {shape}")
        g = g.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.sum(dim, keepdim=True)
    return g
"""


def shapes(source):
    return exercise(SHAPES, "08-3-answer", source)


def exercise(name, cell_id, source):
    """The notebook with another answer."""
    data = json.loads((course_file(name)).read_text(encoding="utf-8"))
    (cell,) = [cell for cell in data["cells"] if cell["id"] == cell_id]
    cell["source"] = source
    return data


def course_file(name):
    from classroom import ROOT

    return ROOT / "exercises" / f"{name}.ipynb"


@pytest.fixture
def top(tmp_path):
    folder = tmp_path / "handed in"
    folder.mkdir()
    return folder


@pytest.fixture
def book(tmp_path):
    with Gradebook(tmp_path / NAME, create=True) as opened:
        yield opened


def grade(top, book, runner=HereRunner, wanted=None):
    found = find(top, merge.shelf(course().released.values()), wanted=wanted)
    run.grade(run.plan(found, book.known(), course()), book, course(), runner)


def write(book, folder, ran=None):
    def make(of):
        runner = HereRunner(items=of.items)
        if ran is not None:
            ran.append(runner)
        return runner

    return feedback.write(book, course(), folder, make)


def only(paths):
    (path,) = paths
    return path.read_text(encoding="utf-8")


def text_of(page):
    """What a reader sees."""
    body = re.sub(r"<script.*?</script>|<style.*?</style>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", body))


def films(page):
    """The steppers of a page."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return [decode(json.loads(text)["_film"]) for text in found]


class Reader(HTMLParser):
    """The tags of a page, with their attributes; complains of what is not closed."""

    EMPTY = ("meta", "br", "img", "hr", "col", "input")

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.texts = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


# --- what they say --------------------------------------------------------------------------------


def test_a_page_says_what_was_asked_what_was_wrong_and_why(top, book, tmp_path):
    hand_in(top, "ada", shapes(WRONG_SHAPES), SHAPES + ".ipynb")
    grade(top, book)
    page = only(write(book, tmp_path / "pages"))
    seen = text_of(page)
    assert "sum g over every dimension that broadcasting added or stretched".lower() in seen.lower()
    assert re.search(
        r"as a message of shape \(\d, \d\), for a tensor of shape \(\d,\): you gave .*, it should be", seen
    )
    assert "mean and sum have the same gradient" in seen
    assert "Notebook 08 takes it apart" in seen
    assert "not attempted" in seen
    assert "g = g.mean(0)" in seen, "the student's own answer"
    Reader(page)


def test_what_was_wrong_is_said_once_whatever_the_order_of_a_dict(top, book, tmp_path):
    keeps = "deps = {}\ndef count(root):\n    deps[root.edges[0]] = 2\n    deps[root] = len(deps)\n    return deps"
    hand_in(top, "ada", exercise("03_one_node_one_rule", "03-4-answer", keeps), "03_one_node_one_rule.ipynb")
    grade(top, book)
    (result,) = [one for one in book.entries()[0].results if one.item == "03.4"]
    page = only(write(book, tmp_path / "pages"))
    assert page.count(" it should be {") == 1
    assert pages.said(result.says) in page
    assert "<code>deps</code> is made only once, outside of <code>count</code>" in page


def test_the_stepper_of_a_failed_case_runs_the_student_s_own_code(top, book, tmp_path):
    hand_in(top, "ada", shapes(WRONG_SHAPES), SHAPES + ".ipynb")
    grade(top, book)
    (film,) = films(only(write(book, tmp_path / "pages")))
    assert film["title"].startswith("08.3: The numbers 1, 2, 3, ... as a message of shape (")
    assert "g = g.mean(0)" in json.dumps(film)
    assert "mean" in json.dumps(film).replace("g.mean", "")


def test_where_no_case_can_be_shown_a_known_misconception_has_its_own_program(top, book, tmp_path):
    item = next(item for item in course().items[BOOK] if item.id == "04.1")
    wrong = next(wrong for wrong in item.wrong if wrong.id)
    hand_in(top, "ada", solved(a1=f"answer = {wrong.answer}"))
    grade(top, book)
    result = next(r for r in book.entries()[0].results if r.item == "04.1")
    assert result.misconception
    ran = []
    page = only(write(book, tmp_path / "pages", ran))
    assert not ran, "nothing of the student's has to run for it"
    (film,) = films(page)
    assert f"{result.misconception}: a program that shows it" in json.dumps(film)
    assert f"You answered {wrong.answer}." in text_of(page)
    assert "[12, 4, 12, 160]" not in page, "the right answer is for the student to find"


def test_missing_unreadable_late_and_by_hand(top, book, tmp_path):
    hand_in(top, "ada", solved(a1="answer = [12, 4, 12, 160]"))
    hand_in(top, "bob", b"no notebook")
    (top / "cleo").mkdir()
    book.set("due", {"": "2020-01-01T00:00:00+00:00"})
    book.set("late penalty", 0.5)
    grade(top, book, wanted=[BOOK])
    book.override("ada", "04.2", 3, "shown at the <blackboard>", "me")
    made = {path.stem: text_of(path.read_text(encoding="utf-8")) for path in write(book, tmp_path / "pages")}
    assert "100% taken off" in made["ada"] or "50% taken off" in made["ada"]
    assert "Graded by hand" in made["ada"]
    assert "shown at the &lt;blackboard&gt;" in made["ada"]
    assert "Nothing was handed in." in made["cleo"]
    assert "bob/04_backward_node_by_node.ipynb" in made["bob"]
    assert "hand it in again" in made["bob"]
    assert "04 \N{MIDDLE DOT} Backward, node by node" in made["bob"]
    assert "hand it in again" not in made["ada"] + made["cleo"]


def test_only_pages_that_would_differ_are_written(top, book, tmp_path):
    hand_in(top, "ada", solved(a1="answer = [12, 4, 12, 160]"))
    hand_in(top, "bob", solved())
    grade(top, book)
    assert len(write(book, tmp_path / "pages")) == 2
    assert write(book, tmp_path / "pages") == []
    book.override("ada", "04.2", 3, "shown at the blackboard", "me")
    assert [path.stem for path in write(book, tmp_path / "pages")] == ["ada"]
    (tmp_path / "pages" / "bob.html").write_bytes(b"\xff\x00")
    assert [path.stem for path in write(book, tmp_path / "pages")] == ["bob"]


# --- what they must not say -----------------------------------------------------------------------


def test_of_hidden_probes_a_page_has_the_category_alone(top, book, tmp_path):
    hand_in(top, "ada", shapes(LOUD), SHAPES + ".ipynb")
    grade(top, book)
    stored = book.stored_run("ada", SHAPES)[1].answers["08.3"]
    assert "overheard" in json.dumps(stored.outputs), "the code did raise during the hidden probe"
    page = only(write(book, tmp_path / "pages"))
    assert "A message with three dimensions" in text_of(page)
    assert "overheard" not in page
    item = next(item for item in course().items[SHAPES] if item.id == "08.3")
    shown = {str(want) for p in item.probes if not p.hidden for want in p.expected}
    for probe in (probe for probe in item.probes if probe.hidden):
        assert probe.name not in page
        for case, want in zip(probe.names(), probe.expected, strict=True):
            assert case == probe.name or case not in page
            if str(want) not in shown and not probe.look:
                numbers = want.get("data") if isinstance(want, dict) else want
                assert json.dumps(numbers)[1:-1] not in page
        for line in probe.source.splitlines()[1:]:
            assert len(line.strip()) < 12 or line.strip() not in page


def test_a_result_that_failed_on_a_hidden_case_shows_no_values_whatever_it_holds(tmp_path, book):
    result = Result("ada", SHAPES, "08.3", 1.0, 4.0, "wrong", "Other shapes: not right.", probe="deeper", case=0, hidden=True,
                    got="GOT-INSIDE", want="WANT-INSIDE")  # fmt: skip
    others = [
        Result("ada", SHAPES, item.id, 0, item.points, "not attempted") for item in course().items[SHAPES][:2]
    ]
    book.record("ada", SHAPES, [*others, result], {}, job=Job("ada", SHAPES, ()), run=Run("ok"))
    page = only(write(book, tmp_path / "pages"))
    assert "Other shapes: not right." in page
    assert "-INSIDE" not in page


def test_the_category_of_a_hidden_probe_has_no_values():
    probe = items.Probe("p", 1, "def p(f, a, b): ...", "Rows {0} of {1}.", [[17, "secret"]], [1], hidden=True)
    item = items.Item("08.3", "code", 1, probes=[probe])
    given = {"08.3": Answer("08.3", "given", outputs={name: 2 for name in probe.names()})}
    job = Job("ada", SHAPES, (Cell("a", "x", "answer", "08.3"), Cell("c", "y", "check", "08.3")))
    (result,) = scoring.score(job, Run("ok", given), {SHAPES: [item]})
    assert result.says == "Rows ... of ...: not right."


def test_hidden_probes_are_not_run_for_a_page(top, book):
    hand_in(top, "ada", shapes(LOUD.replace("ndim == 3", "ndim == 2")), SHAPES + ".ipynb")
    grade(top, book)
    (entry,) = book.entries()
    failed = feedback.failures(entry, course())
    assert [one.probe for one in failed] == ["a_row"]
    items, jobs, _ = feedback.recording_jobs([(failed[0], *book.stored_run("ada", SHAPES))], course())
    probes = [probe for item in items[jobs[0].notebook] for probe in item.probes]
    assert [probe.name for probe in probes] == ["a_row"]
    assert not any(probe.hidden or probe.expected != [None] for probe in probes)


# --- what students write is text ------------------------------------------------------------------

EVIL = "</code></pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u0000\x1b[31m&lt;"


@pytest.mark.parametrize("name", ["<script>alert(0)</script>", "../../etc/passwd", "a/b\\c:d", "\u202ereversed", "CON", "x" * 300,
                                  "مرحبا يا صف", "' onload='alert(3)", '"><svg onload=alert(4)>'])  # fmt: skip
def test_a_page_cannot_be_broken_by_what_a_student_wrote(book, tmp_path, name):
    long = "a_very_long_name_" * 5_000
    cells = tuple(
        cell
        for item in ("08.1", "08.2", "08.3", "08.4")
        for cell in [Cell(f"{item}-a", f"{EVIL}\n{long}" if item != "08.2" else "\ud800", "answer", item)]
    )
    results = [
        Result(name, SHAPES, "08.1", 0, 2, "error", f"Your cell raised {EVIL}{long}"),
        Result(name, SHAPES, "08.2", 0, 2, "wrong", EVIL, got=EVIL),
        Result(name, SHAPES, "08.3", 0, 4, "wrong", EVIL, misconception=EVIL, probe="a_row", case=0, got={"error": EVIL, "message": long}, want=1),
        Result(name, SHAPES, "08.4", 0, 3, "error", EVIL),
    ]  # fmt: skip
    book.record(
        name,
        SHAPES,
        results,
        {},
        file=EVIL,
        job=Job(name, SHAPES, cells),
        run=Run("ok", cells=[CellRun("x", "ok")]),
    )
    book.override(name, "08.4", 1, EVIL, EVIL)
    (path,) = write(book, tmp_path / "pages")
    assert path.parent == tmp_path / "pages"
    assert len(path.name) < 120
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', path.name)
    page = path.read_text(encoding="utf-8")
    read = Reader(page)
    assert [attrs for tag, attrs in read.tags if tag == "script"] == [{"type": "module"}]
    assert not [
        tag
        for tag, attrs in read.tags
        if any(key.startswith("on") for key in attrs) or tag in ("svg", "iframe", "img")
    ]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]", page)
    assert len(page) < 1_000_000
    assert "more characters)" in page


def test_only_the_page_s_own_script_may_run(top, book, tmp_path):
    import base64
    import hashlib

    hand_in(top, "ada", shapes(WRONG_SHAPES), SHAPES + ".ipynb")
    grade(top, book)
    page = only(write(book, tmp_path / "pages"))
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)|@import|https?://(?!www\.w3\.org/)""", page)


def a_record():
    import autograd_lab as torch
    from autograd_lab import lab

    with lab.record() as trace:
        x = torch.tensor(3.0, requires_grad=True)
        (x * x).backward()
    return trace.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(nodes=[]),
        lambda d: d.update(events=[]),
        lambda d: d.update(version=99),
        lambda d: d["nodes"][0].update(edges=[[0, 0]]),
        lambda d: d["values"][0].update(data="<b>", shape=[10**12]),
        lambda d: d["values"][0].update(shape="x"),
        lambda d: d["tensors"][0].update(shape=None, dtype=7),
        lambda d: d["events"].extend(d["events"] * 1000),
        lambda d: d["nodes"][0].update(name=None),
        lambda d: d["nodes"][0].update(inputs=[10**30]),
    ],
)
def test_a_forged_record_is_refused_or_harmless(change):
    record = a_record()
    change(record)
    drawn = feedback.draw("title", json.dumps(record))
    assert drawn is None or not re.search(r"<(?:b|script)>", drawn.still)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": "autograd-lab-trace"}'])
def test_what_is_no_record_draws_nothing(text):
    assert feedback.draw("title", text) is None


def test_one_record_that_takes_too_long_costs_only_itself():
    text = json.dumps(a_record())
    with feedback.Artist(patience=0.0) as artist:
        assert artist.draw("too late", text) is None
        artist._patience = 60.0
        assert artist.draw("in time", text) == feedback.draw("in time", text)


def test_long_records_come_back_as_their_length(top, book, tmp_path, monkeypatch):
    monkeypatch.setattr(feedback, "MOST_RECORD", 500)
    hand_in(top, "ada", shapes(WRONG_SHAPES), SHAPES + ".ipynb")
    grade(top, book)
    assert films(only(write(book, tmp_path / "pages")))[0] == films(feedback.Ballots()["M19"].live)[0]


# --- with the engine ------------------------------------------------------------------------------


def test_records_come_out_of_the_engine_whole_and_always_the_same(top, book, tmp_path):
    hand_in(top, "ada", shapes(WRONG_SHAPES), SHAPES + ".ipynb")
    grade(top, book)

    def make(of):
        return Engine(of.items, workers=1, require_sandbox=False)

    (entry,) = book.entries()
    found = [(one, *book.stored_run("ada", SHAPES)) for one in feedback.failures(entry, course())]
    first, second = (feedback.record_all(found, course(), make) for _ in range(2))
    assert first == second
    trace = Trace.from_json(first["ada", SHAPES, "08.3"])
    assert any(event.get("op") == "mean" for event in trace.events)
    assert "g = g.mean(0)" in json.dumps(trace.sources)
    assert feedback.draw("it", first["ada", SHAPES, "08.3"])


# --- Markdown -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one *two* **three `four`**", "<p>one <em>two</em> <strong>three <code>four</code></strong></p>"),
        ("2 * 3 * 4 and `a * b * c`", "<p>2 * 3 * 4 and <code>a * b * c</code></p>"),
        ("- a\n  b\n- c", "<ul><li>a b</li><li>c</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        (
            "a\n\n```python\n<b>\n```\nc",
            '<p>a</p>\n<pre dir="ltr" tabindex="0"><code>&lt;b&gt;</code></pre>\n<p>c</p>',
        ),
        ("``a`b``", "<p><code>a`b</code></p>"),
    ],
)
def test_markdown(text, html):
    assert pages.markdown(text) == html


def test_every_prompt_of_the_course_is_read(top):
    asked = feedback.Prompts(course()).asked
    for name, each in course().items.items():
        for item in each:
            heading, body = asked[item.id]
            assert heading.startswith(item.id), name
            assert len(body) > 40
            prose = text_of(re.sub(r"<pre.*?</pre>|<code>.*?</code>", "", body, flags=re.DOTALL))
            assert not re.search(r"`|^\||\*\*|\ue000", prose), item.id
            Reader(body)
