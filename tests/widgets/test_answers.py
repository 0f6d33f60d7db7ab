"""Answers in the browser (autograd_lab/widgets/assets/answers.js), run in Node.js: judged as Python judges them."""

import json
import shutil
import subprocess

import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.answers import AnswerError, judge, read, read_shape
from autograd_lab.tracing.questions import STANDING, questions, standing
from autograd_lab.widgets import step
from autograd_lab.widgets.front import ASSETS

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")

TEXTS = [
    "24", " 24.0 ", "-2e-3", "1/3", "0.33", "0.3", ".5", "2*12", "2^3", "2 ** -1", "(1 + 2) * 8", "\u22125", "3 \u00d7 4", "-3 ** 2", "nan",
    "inf", "-inf", "None", "null", "[1, 2]", "1, 2", "1 2", "[1 -2]", "[3 - 2]", "tensor([1., 2.])", "[[1, 2], [3, 4]]", "[1/2, 2*3,]", "[24]",
    "", "abc", "1/0", "[1, 2", "(1", "1 +", "0 ** -1", "9e99 ** 99", "2,]", "yes", "N", "maybe", "2x3", "(2, 3)", "()", "scalar", "(4,)", "0,5", "\u22121,50 ", "+3,25", "1,5e3", "[0,5]", "0,5,",
]  # fmt: skip


def run(tmp_path, script, *documents):
    (tmp_path / "answers.mjs").write_text(
        (ASSETS / "answers.js").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "docs.json").write_text(json.dumps(documents), encoding="utf-8")
    (tmp_path / "test.mjs").write_text(
        'import * as a from "./answers.mjs"; import { readFileSync } from "node:fs";\n'
        'const docs = JSON.parse(readFileSync("docs.json", "utf8"));\n'
        f"console.log(JSON.stringify((() => {{ {script} }})()));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def programs():
    w, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    x, a = torch.tensor([3.0, 4.0]), torch.tensor(2.0, requires_grad=True)
    with lab.record() as vectors:
        (((w * x + b).relu() ** 2).mean() - w.sum() / 4).backward()
    with lab.record() as twice:
        y = a * a
        y.backward(retain_graph=True)
        y.backward()
    return [vectors, twice, samples.diamond(), samples.mlp()]


def test_every_answer_is_judged_alike(tmp_path):
    asked = [q for trace in programs() for q in questions(trace)]
    pairs = []
    for q in asked:
        if q["type"] == "node":
            pairs += [(q, option[0]) for option in q["options"]]
        else:
            wrong = [value if isinstance(value, str) else repr(value) for _, value, _ in q["wrong"]]
            pairs += [(q, text) for text in [q["shown"].split(":")[0], *wrong, *TEXTS]]
    expected = []
    for q, given in pairs:
        try:
            expected.append(judge(q, given))
        except AnswerError as error:
            expected.append(str(error))
    found = run(
        tmp_path,
        "return docs[0].map(([q, given]) => { try { return a.judge(q, given); }"
        " catch (e) { if (e instanceof a.AnswerError) return e.message; throw e; } });",
        pairs,
    )
    for pair, mine, theirs in zip(pairs, expected, found, strict=True):
        assert theirs == mine, (pair[0]["ask"], pair[1])
    assert {e["verdict"] for e in expected if isinstance(e, dict)} == {"right", "wrong", "ready"}
    assert len(pairs) > 2000


def test_texts_are_read_alike(tmp_path):
    def plain(value):
        if isinstance(value, list):
            return [plain(x) for x in value]
        return None if value is None else [repr(value.x), value.slack]

    def mine(text):
        try:
            return plain(read(text))
        except AnswerError as error:
            return str(error)

    texts = [
        *TEXTS,
        "3 -2",
        "[3 -2]",
        "3-2",
        "+5",
        "--5",
        "2*(3+4)/7",
        "1e400",
        "[[1 2] [3 4]]",
        "(1, 2)",
        "12.5e1",
    ]
    found = run(
        tmp_path,
        "const text = (x) => Number.isFinite(x) ? (Number.isInteger(x) ? x.toFixed(1) : String(x)) : String(x).toLowerCase()"
        ".replace('infinity', 'inf');"
        "const plain = (v) => Array.isArray(v) ? v.map(plain) : v && [text(v.x), v.slack];"
        "return docs[0].map((t) => { try { return plain(a.read(t)); } catch (e) { return e.message; } });",
        texts,
    )
    assert dict(zip(texts, found, strict=True)) == {text: mine(text) for text in texts}


def test_shapes_are_read_alike(tmp_path):
    def mine(text):
        try:
            return read_shape(text)
        except AnswerError as error:
            return str(error)

    found = run(
        tmp_path,
        "return docs[0].map((t) => { try { return a.readShape(t); } catch (e) { return e.message; } });",
        TEXTS,
    )
    assert found == [mine(text) for text in TEXTS]


def test_why_a_node_cannot_be_next(tmp_path):
    for status in ("waiting", "done", "made", "ghost"):
        misconception, note = standing("Mul", status, 1, 2)
        found = run(tmp_path, "return a.standing(...docs);", STANDING, "Mul", [status, 1, 2])
        assert found == {"verdict": "wrong", "misconception": misconception, "note": note}


def test_the_same_questions_are_open_and_the_score_is_the_same(tmp_path):
    for options in ({"predict": True}, {"predict": ["grad", "shape"]}, {"mode": "engine"}):
        s = step(samples.diamond(), **options)
        for answer in ("4", "5", "nothing", "12"):
            if s.mode == "predict":
                s.predict(answer)
            elif s.question.startswith("Which"):
                s.choose("#3" if answer == "4" else "#2")
            else:
                s.send(answer)
        s.show_me()
        state = [s._questions, s.mode, s._asks, s._log, s._run, s._seen]
        numbers, still_open, score = run(
            tmp_path,
            "const [qs, mode, kinds, log, run, seen] = docs, all = a.asked(qs, mode, kinds);"
            "return [all, a.unanswered(qs, all, log, run, seen), a.tally(log, run, all.length)];",
            *state,
        )
        assert numbers == [i for i, _ in s._asked()]
        assert still_open == [i for i, _ in s._open()]
        assert score == dict(s.score)
