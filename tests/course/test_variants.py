"""Items with other numbers for every student: each seed gives a question whose answers all differ, and today's numbers are none of them."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import author, bank, feedback, items, plain, scores, variants
from tests.each import each

ROOT = Path(__file__).parents[2]
VARYING = {item.id: item for item in items.shipped().values() if item.variant}
SEEDS = range(200)


@pytest.fixture(autouse=True)
def no_seed(monkeypatch):
    monkeypatch.setattr(items, "_seed", None)
    monkeypatch.setenv(scores.ENVIRONMENT, "off")


def test_at_least_ten_items_of_as_many_notebooks_vary():
    assert len({name.split(".")[0] for name in VARYING}) >= 10


def test_no_two_answers_agree_and_each_is_known():
    """Over 200 seeds: right ones are accepted, wrong ones refused with what belongs to them, and never equal to one another."""

    def check(item):
        assert list(variants.doubtful(item, SEEDS)) == []
        for seed in SEEDS:
            made = variants.drawn(item.id, item.variant, item.rtol, seed)
            assert variants.clash(made, item.rtol) == ""
            assert [wrong.id for wrong in made.wrong] == [wrong.id for wrong in item.wrong]
            assert len(made.hints) == 3

    each(VARYING.values(), check)


def test_what_a_mistake_gives_is_not_rounded():
    """Half of an odd number is no whole one: who halves it would not be told so."""
    for item in VARYING.values():
        for node in ast.walk(ast.parse(item.variant)):
            assert not isinstance(node, ast.FloorDiv), item.id
            assert not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("round", "int")
            ), item.id
    item = VARYING["03.1"]
    for seed in range(40):
        one = variants.of(item, seed)
        halved = [*one.expected[:4], one.expected[0] / 2, one.expected[5]]
        assert items.judge(one, halved).says.startswith("max halves the message only"), halved


def test_without_a_seed_all_is_as_the_course_has_it():
    def check(item):
        today = variants.of(item, None)
        assert plain.same(today.expected, item.expected)
        assert (today.hints, today.accept) == (item.hints, item.accept)
        assert [asdict(one) for one in today.wrong] == [asdict(one) for one in item.wrong]
        shown = "".join(
            "".join(cell["source"])
            for path in (ROOT / "exercises").glob(f"{item.id[:2]}_*.ipynb")
            for cell in json.loads(path.read_text("utf-8"))["cells"]
        )
        assert today.question in shown

    each(VARYING.values(), check)


def test_a_partly_right_answer_earns_its_share_with_all_numbers():
    """A known mistake that earns what its right elements are worth earns that whatever the numbers are."""

    def share(item, wrong):
        right = [plain.same(a, b, item.rtol) for a, b in zip(wrong.answer, item.expected, strict=False)]
        return round(item.points * sum(right) / len(item.expected), 2)

    def check(item):
        fair = [share(item, wrong) == round(wrong.score, 2) for wrong in item.wrong]
        for seed in SEEDS:
            one = variants.of(item, seed)
            given = [wrong.score for wrong, is_fair in zip(one.wrong, fair, strict=True) if is_fair]
            assert given == [share(one, w) for w, is_fair in zip(one.wrong, fair, strict=True) if is_fair], (
                seed
            )

    each([item for item in VARYING.values() if item.partial], check)


def test_seeds_give_different_numbers_and_never_todays():
    def check(item):
        shown = [variants.of(item, seed).question for seed in SEEDS]
        assert len(set(shown)) > 40
        answers = {plain.show(variants.of(item, seed).expected) for seed in range(100)}
        assert len(answers) > 60, "in a class, hardly two students have the same answer"
        assert variants.of(item, None).question not in shown
        assert variants.of(item, 7) == variants.of(item, 7)

    each(VARYING.values(), check)


def test_a_seed_means_the_same_numbers_everywhere():
    """What was handed out must come out the same after an update, and in another Python: this changes only on purpose."""
    one = variants.of(VARYING["05.2"], 1234567890)
    assert (one.question.splitlines()[0].split(".")[0], one.expected) == ("`x = 12`", [24, 41, 432])


# --- the right answer is what the engine computes -----------------------------------------------------


def code_of(question):
    return re.search(r"```python\n(.*?)```", question, re.DOTALL)[1]


def after(*lines, x):
    """x.grad after these lines."""
    x = torch.tensor(x, requires_grad=True)
    exec("\n".join(lines), {"torch": torch, "x": x})
    return None if x.grad is None else x.grad.item()


def numbered(question):
    """The lines of a numbered list, or of a table with numbers."""
    found = re.findall(r"^(?:\d\.|\| \d \|) (.*?)(?: \|)?$", question, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", line) for line in found]


def first(pattern, question):
    return [float(number) for number in re.search(pattern, question).groups()]


def nodes(question):
    m, a, b = first(r"message `(\d+)`.*`a = (\d+)` and `b = (\d+)`", question)
    found = []
    for (line,) in numbered(question):
        x = torch.tensor(a, requires_grad=True)
        y = torch.tensor(b, requires_grad=True)
        of = {"a": x, "b": y, "max": torch.maximum}
        eval(line, of).backward(torch.tensor(m))
        found.append(0.0 if x.grad is None else x.grad.item())
    return found


def graphs(question):
    (a,) = first(r"`a = (\d+)`", question)
    found = []
    for lines in numbered(question):
        x = torch.tensor(a, requires_grad=True)
        space = {"a": x}
        for line in lines[:-1]:
            exec(line, space)
        eval(lines[-1], space).backward()
        found.append(x.grad.item())
    return found


def halfway(question):
    space = {"torch": torch}
    exec(code_of(question), space)
    return [space["x"].grad.item(), space["w"].grad.item()]


def passes(question):
    x = torch.tensor(first(r"`x = (\d+)`", question)[0], requires_grad=True)
    held = []
    for line in code_of(question).splitlines():
        exec(line, {"x": x})
        held += [x.grad.item()] if "backward" in line else []
    return held


def kept(question):
    n, d, k = first(r"`\[(\d+), (\d+)\]`\).*`\[\d+, (\d+)\]`", question)
    x, w = torch.ones(int(n), int(d)), torch.ones(int(d), int(k), requires_grad=True)
    space = {"torch": torch, "x": x, "w": w}
    exec(code_of(question), space)
    saved = [space["p"].grad_fn._saved_self, space["t"].grad_fn._saved_result]
    assert space["p"].grad_fn._saved_mat2 is None
    return sum(one.numel() for one in saved)


def cut(question):
    (x,) = first(r"`x = (\d+)`", question)
    return [after(line, "y.backward()", x=x) for (line,) in numbered(question)]


def bias(question):
    space = {"torch": torch, "x": torch.ones(3, 2)}
    space |= {"b": torch.zeros(2, requires_grad=True), "c": torch.tensor(0.0, requires_grad=True)}
    exec(code_of(question), space)
    return [*space["b"].grad.tolist(), space["c"].grad.item()]


def message(question):
    x = torch.tensor(first(r"`x = \((\d+), (\d+), (\d+)\)`", question), requires_grad=True)
    outputs = [eval(line, {"x": x}) for line in re.findall(r"`y\[\d\] = ([^`]+)`", question)]
    call = re.search(r"`(y.backward[^`]+)`", question)[1]
    exec(call, {"torch": torch, "y": torch.stack(outputs)})
    return x.grad.tolist()


def counter(question):
    start, write = re.findall(r"`(x[ .][^`]+)`", question)[:2]
    found = []
    for (line,) in ([line[0]] for line in numbered(question)):
        space = {"torch": torch}
        exec("\n".join([start, line, write, "y.backward()"]), space)
        found.append(space["x"].grad.item())
    return found


def second(question):
    x, e = first(r"`x` is (\d+) .* `x\*\*(\d+)`", question)
    lines = code_of(question).splitlines()
    at = torch.tensor(x, requires_grad=True)
    (once,) = torch.autograd.grad(at ** int(e), at, create_graph=True)
    last = [*lines[1:-1], "torch.autograd.grad(g, x)"]
    return [
        torch.autograd.grad(once, at)[0].item(), after(*lines, x=x), after(*last, x=x) or "None",
        after(lines[1], "(g * g).backward()", x=x),
    ]  # fmt: skip


def six(question):
    found = []
    for part in re.split(r"^# \d: ", code_of(question), flags=re.MULTILINE)[1:]:
        head, _, code = part.partition("\n")
        values = json.loads(re.search(r"x = (\d+|\[.*?\])", head)[1])
        x = torch.tensor(np.array(values, "float64"), requires_grad=True)
        exec(code, {"torch": torch, "x": x})
        grad = None if x.grad is None else x.grad.reshape(-1)[0].item()
        found.append("None" if grad is None else "nan" if grad != grad else grad)
    return found


def differences(question):
    h, x = first(r"`h = ([\d.]+)`.*`x = (\d+)`", question)
    text = re.search(r"`f\(x\) = (.*?)`", question)[1]
    below, here, above = (eval(text, {"x": at}) for at in (x - h, x, x + h))
    return [(above - here) / h, (above - below) / (2 * h)]


def thousandth(question):
    return first(r"`(-\d+)`", question)[0] * 0.001


COMPUTED = {
    "00.3": thousandth, "01.2": differences, "02.5": halfway, "03.1": nodes, "04.1": graphs, "05.2": passes, "06.1": kept, "07.1": cut,
    "08.2": bias, "09.2": message, "10.2": counter, "12.2": second, "13.4": six,
}  # fmt: skip
"""{item: what its question comes to when it is run}."""


def test_the_right_answer_is_what_the_question_gives_when_it_is_run():
    assert COMPUTED.keys() == VARYING.keys(), "an item that varies needs its way to be run here"

    def check(item):
        for seed in (None, *range(8)):
            one = variants.of(item, seed)
            assert plain.same(plain.plain(COMPUTED[item.id](one.question)), one.expected, 1e-5), seed

    each(VARYING.values(), check)


@pytest.mark.parametrize("id", ["02.5", "03.1"])
def test_a_large_class_has_a_thousand_different_numbers(id):
    seen = {str(variants.of(VARYING[id], seed).expected) for seed in range(2500)}
    assert len(seen) >= 1000


# --- drawing ------------------------------------------------------------------------------------------

SOURCE = """@variant(a=range(2, 6), b=range(2, 6))
def sums(a=2, b=3):
    return varied(answer=a + b, hints=["1", "2", "3"], wrong=[wrong_answer(a * b, "M06", f"{a} times"), wrong_answer(0, "", "No."),
        wrong_answer(a, "", "Half.")])
"""


def test_numbers_whose_answers_agree_are_drawn_again(monkeypatch):
    drawn = [variants.drawn("99.1", SOURCE, 1e-4, seed) for seed in range(100)]
    assert all((made.shown["a"], made.shown["b"]) not in ((2, 2), (2, 3)) for made in drawn)
    variants.drawn.cache_clear()
    monkeypatch.setattr(variants, "clash", lambda *_: "")
    agree = [variants.drawn("99.1", SOURCE, 1e-4, seed) for seed in range(100)]
    assert any(made.answer == made.wrong[0].answer for made in agree)
    variants.drawn.cache_clear()


def test_an_item_whose_answers_always_agree_says_so():
    never = SOURCE.replace("a * b", "a + b")
    with pytest.raises(ValueError, match=r"99.1: of 200 draws none has answers that all differ \(seed 5\)"):
        variants.drawn("99.1", never, 1e-4, 5)
    assert "none has answers" in next(variants.doubtful(items.Item("99.1", "number", 1, variant=never), [5]))


def test_choices_must_have_todays_numbers():
    with pytest.raises(
        TypeError,
        match="the choices are for a, b, and the arguments with today's values are c: name the same",
    ):
        exec(SOURCE.replace("b=3", "*, c=1"), dict(variants.WORDS))


SHEET = '''\
# ---
# jupyter:
#   autograd_lab:
#     id: "99"
#     points: 2
# ---

# %% [markdown]
# ## 99.1 · A sum (2 points)
#
# What is {a} + {b}?

# %%
from autograd_lab import lab

# %%
### BEGIN SOLUTION
answer = 5
### END SOLUTION

# %%
lab.check("99.1", answer)

# %% tags=["item"]
''' + SOURCE + '\nitem("99.1", kind="number", points=2, variant=sums)\n'  # fmt: skip


def test_a_source_with_a_variant(tmp_path):
    (tmp_path / "99_sums.py").write_text(SHEET, "utf-8")
    sheet = author.read(tmp_path / "99_sums.py")
    assert author.problems(sheet) == []
    assert sheet.cells[0]["source"] == "## 99.1 · A sum (2 points)\n\nWhat is 2 + 3?"
    (item,) = items.from_json(items.to_json("99", sheet.public()))
    assert (item.question, item.variant) == ("What is {a} + {b}?", SOURCE)
    assert [one.answer for one in item.wrong] == [6, 0, 2]
    assert variants.of(item, 1).question == "What is {a} + {b}?".format(
        **variants.drawn("99.1", SOURCE, 1e-4, 1).shown
    )


@pytest.mark.parametrize(
    ("old", "new", "owed"),
    [
        ("answer = 5", "answer = 6", "its variant gives 5 with today's numbers, and the reference answer 6"),
        ("{a} + {b}", "2 + 3", "its question shows none of the numbers of its variant"),
        ("wrong_answer(a * b", "wrong_answer(a + b", "none has answers that all differ"),
    ],
)
def test_a_variant_that_does_not_fit_its_item_is_said(tmp_path, old, new, owed):
    (tmp_path / "99_sums.py").write_text(SHEET.replace(old, new), "utf-8")
    assert any(owed in text for text in author.problems(author.read(tmp_path / "99_sums.py")))


def test_a_brace_that_no_number_fills_is_said(tmp_path):
    (tmp_path / "99_sums.py").write_text(SHEET.replace("{a} + {b}?", "{a} + {c}?"), "utf-8")
    with pytest.raises(
        ValueError, match="99.1: its question has something in braces that its variant does not give: 'c'"
    ):
        author.read(tmp_path / "99_sums.py")


def test_the_bank_proves_variants(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    source = str(next((ROOT / "solutions").glob("05_*.py")))
    assert bank.main([source, "--variants", "--seeds", "30"]) == 0
    assert re.search(
        r"05\.2 +30 +5 +\d\d\nevery right answer accepted, every wrong one named", capsys.readouterr().out
    )
    true = variants.drawn

    def slipped(item_id, variant, rtol, seed):
        made = true(item_id, variant, rtol, seed)
        return variants.replace(made, answer=made.wrong[1].answer) if seed == 7 else made

    monkeypatch.setattr(variants, "drawn", slipped)
    assert bank.main([source, "--variants", "--seeds", "30"]) == 1
    assert "05.2 seed 7: the wrong answer" in capsys.readouterr().out


# --- in a notebook ------------------------------------------------------------------------------------


def test_a_kernel_with_a_seed_asks_checks_and_helps_with_its_numbers():
    ours = variants.of(VARYING["05.2"], 99)
    today = VARYING["05.2"]
    assert lab.statement("05.2").text == variants.of(today, None).question
    assert lab.check("05.2", today.expected).passed
    lab.variant(99)
    shown = lab.statement("05.2")
    assert (repr(shown), shown._repr_markdown_()) == (ours.question, ours.question)
    assert lab.check("05.2", ours.expected).passed
    assert not lab.check("05.2", today.expected).passed
    slip = lab.check("05.2", ours.wrong[0].answer)
    assert (slip.misconception, slip.verdict.says) == ("M10", ours.wrong[0].says)
    assert [lab.hint("05.2", n).item.hints[n - 1] for n in (1, 2, 3)] == ours.hints
    assert lab.check("04.3", ["B", "D", "A", "E", "C", "F"]).passed  # the same for everybody


def test_what_cannot_be_shown_or_chosen_is_said():
    with pytest.raises(
        ValueError, match="04.3 has the same numbers for everybody: its question stands above its answer"
    ):
        lab.statement("04.3")
    with pytest.raises(LookupError, match="There is no item '05.9'; this notebook has 05.1"):
        lab.statement("05.9")
    for odd in (-1, True, 1.5, "12"):
        with pytest.raises(
            ValueError, match="lab.variant takes the number that your copy of the notebook came with"
        ):
            lab.variant(odd)


def test_variants_are_loaded_when_they_are_used():
    says = "import sys; from autograd_lab import lab; print('autograd_lab.course.variants' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def exercise(number):
    (path,) = (ROOT / "exercises").glob(f"{number}_*.ipynb")
    return json.loads(path.read_text("utf-8"))


def test_a_copy_shows_its_own_question_and_works(monkeypatch):
    """Run from top to bottom as handed out, then with the right answer in the gap."""
    ours = variants.of(VARYING["05.2"], 4711)
    book = exercise("05")
    assert variants.copy(book, 4711, items.shipped())
    assert book["metadata"]["autograd_lab"]["variant"] == 4711
    texts = ["".join(cell["source"]) for cell in book["cells"]]
    place = texts.index('lab.statement("05.2")')
    assert texts[place - 1] == "## 05.2 · Two passes (2 points)"
    assert "".join(book["cells"][place]["outputs"][0]["data"]["text/markdown"]) == ours.question
    assert variants.of(VARYING["05.2"], None).question not in "".join(texts)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    said = {}
    check = feedback.check
    monkeypatch.setattr(lab, "check", lambda item, answer=...: said.update({item: check(item, answer)}))
    space = {"__name__": "__main__"}
    for number, text in enumerate(texts):
        if book["cells"][number]["cell_type"] == "code":
            text = text.replace("held = [..., ..., ...]", f"held = {ours.expected}")
            author.execute(text, space, f"copy {number}")
    assert {item: one.state for item, one in said.items()} == {
        "05.1": "not attempted", "05.2": "passed", "05.3": "not attempted"
    } | {item: "not attempted" for item in said if item > "05.3"}  # fmt: skip


def test_a_notebook_in_which_nothing_varies_stays_as_it_is():
    book = exercise("14")
    assert not variants.copy(book, 4711, items.shipped())
    assert book == exercise("14")


def test_a_copy_can_be_told_from_its_release():
    """The grader reads both: the seed in the cells, and the cells as they were released."""
    book, released = exercise("07"), exercise("07")
    variants.copy(book, 4711, items.shipped())
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [seed for seed in map(variants.claims, code) if seed is not None] == [4711]
    bare = [text for text in map(variants.without, code) if text]
    assert bare == ["".join(cell["source"]) for cell in released["cells"] if cell["cell_type"] == "code"]
    assert variants.claims("x = 1\nlab.variant(1)\nlab.variant(2)") == 2
    assert variants.without("y = lab.variant(1)") == "y = lab.variant(1)"
