"""Reading solutions sources: gaps, wrong answers that are not caught, hidden probes that leak, mutants that survive."""

import ast
import textwrap

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab.course import author, bank, diagnoses, items, plain, probe

SOURCE = '''\
# ---
# jupyter:
#   autograd_lab:
#     id: "99"
#     minutes: 5
#     points: 5
# ---

# %% [markdown]
# ## 99.1 · Seven (2 points)

# %%
import autograd_lab as torch
from autograd_lab import lab

# %%
### BEGIN SOLUTION
answer = 7
### END SOLUTION

# %%
lab.check("99.1", answer)

# %% tags=["item"]
item("99.1", kind="number", points=2, hints=["a", "b", "c"], wrong=[
    wrong_answer(8, "M06", "One more."), wrong_answer(6, "M07", "One less."), wrong_answer(0, "", "Nothing.")])

# %% [markdown]
# ## 99.2 · Twice

# %%
def twice(x):
    """Two times x."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION


# %%
lab.check("99.2", twice)

# %% tags=["item"]
item(
    "99.2",
    kind="code",
    hints=["a", "b", "c"],
    equivalent={"1: the first answer for these objects, in all calls": "a number does not change"},
)

@shared
def numbers():
    return [1.0, 3.0]

@probe(points=1)
def on_numbers(f):
    "On 1 and 3"
    return [f(x) for x in numbers()]

@probe(points=2, hidden=True)
def on_a_secret(f):
    "On others"
    return [f(-4.25), f(3e-5)]

@wrong("M01", "Squared.")
def twice(x):
    return x ** 2

@wrong("M02", "Once.")
def twice(x):
    return x

@wrong("M03", "Thrice.")
def twice(x):
    return 3 * x

@wrong("M04", "Made for the numbers shown.", score=1)
def twice(x):
    return {1.0: 2.0, 3.0: 6.0}.get(x)

@wrong("M05", "A list.")
def twice(x):
    return [x, x]

@right
def twice(x):
    return x + x

@right
def twice(x):
    return 2.0 * x

@right
def twice(x):
    return -twice(-x) if x < 0 else x + x  # by its own name

@right
def twice(x):
    doubled_number = sum([x, x])
    return doubled_number

@right
def twice(x):
    import numpy as np

    return float(np.multiply(x, 2))

def _again(x, times):
    return 0.0 if times == 0 else x + _again(x, times - 1)

@right
def twice(x):
    return _again(x, 2)
'''


def sheet_of(tmp_path, text=SOURCE):
    source = tmp_path / "99_test.py"
    source.write_text(text, encoding="utf-8")
    return author.read(source)


def test_a_complete_source_owes_nothing(tmp_path):
    sheet = sheet_of(tmp_path)
    assert author.problems(sheet) == []
    number, code = sheet.items
    assert (number.title, number.expected, number.points) == ("Seven", 7, 2)
    assert (code.points, code.hidden_points) == (3, 2)
    assert code.probes[1].expected == [[-8.5, 6e-5]]
    assert [cell["role"] for cell in sheet.cells if cell["type"] == "code"] == [
        "",
        "answer",
        "check",
        "answer",
        "check",
    ]
    assert not any("wrong_answer" in cell["source"] for cell in sheet.cells)


def test_what_a_cell_prints_is_not_printed_while_its_source_is_read(tmp_path, capsys):
    sheet_of(tmp_path, SOURCE.replace("answer = 7", "answer = 7\nprint(answer)"))
    assert capsys.readouterr().out == ""


def test_what_is_hidden_is_not_shipped(tmp_path):
    public = sheet_of(tmp_path).public()
    from autograd_lab.course.items import from_json, judge, to_json

    text = to_json("99", public)
    assert "-4.25" not in text
    assert "-8.5" not in text
    assert "Made for the numbers shown" not in text  # only a hidden probe tells it from a right one
    code = from_json(text)[1]
    assert (code.points, code.hidden_points) == (3, 2)
    assert judge(code, outputs={"on_numbers": [2.0, 6.0]}).score == 1


@pytest.mark.parametrize(
    ("old", "new", "owed"),
    [
        ('wrong_answer(8, "M06", "One more.")', 'wrong_answer(7, "M06", "One more.")', "the wrong answer 7 is passed"),
        ('wrong_answer(0, "", "Nothing.")', 'wrong_answer(8, "", "Nothing.")', "the wrong answer 8 is wrong: One more."),
        (', wrong_answer(0, "", "Nothing.")', "", "2 wrong answers in the bank, 3 wanted"),
        ("    return x ** 2", "    return x + x", "wrong program 1 (M01) passes every probe"),
        ("    return 3 * x", "    return x", "wrong program 3 (M03) is taken for another: Once."),
        ("shown.\", score=1", "shown.\", score=3", "wrong program 4 (M04) earns 1 points; it says 3"),
        ("    return x + x", "    return x + 1", "right program 1 is refused"),
        (', hidden=True', "", "no hidden probe"),
        ("points: 5", "points: 6", "metadata points: 6, but the items are worth 5"),
        ('hints=["a", "b", "c"], wrong', 'hints=["a"], wrong', "99.1: 1 hints, 3 wanted"),
        ('kind="number"', 'kind="guess"', "kind 'guess' is none of"),
        ('lab.check("99.1", answer)', 'print(answer)', "99.1: no cell checks it"),
        ("    return x * 2\n    ### END", "    return x.twice\n    ### END", "the reference answer raises"),
        ('    "On 1 and 3"', '    "On 1"\n    "and 3"', "probe on_numbers: its docstring ends with the first line"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(tmp_path, old, new, owed):
    assert old in SOURCE
    found = author.problems(sheet_of(tmp_path, SOURCE.replace(old, new, 1)))
    assert any(owed in line for line in found), found


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("Leave out detach.", ["detach"]),
        ("You detached it, or its number was taken.", []),
        ("s = x - ... is another.", ["s", "s = x - "]),
        ("Write return 2 * s.sum().", ["s"]),
        ("The product of x and the sum h is a mean.", ["h"]),
        ("Call other.sum(dim=0) on x.", []),
        ("It was left under no_grad.", ["no_grad"]),
        ("The message has changed: `/=` writes into it, and `-=` as well.", ["/=", "-="]),
        ("The sum is written with +=, as in the question.", []),
        ("Name it as the question does: scale_.", []),
    ],
)
def test_a_diagnosis_speaks_of_no_code_that_need_not_be_there(says, code):
    answer = "def twice(x):\n    s = other.sum(x, dim=0)\n    return s * 2"
    programs = [
        "def twice(x):\n    with torch.no_grad():\n        return x.detach()",
        "lambda h: h.mean()]",
        "def twice(h):\n    return h",
    ]
    assert (
        diagnoses.other_code(says, answer, "def twice(x):\n    ...", "scale_ of `x`, with +=", programs)
        == code
    )


def test_a_diagnosis_of_the_bank_that_does_is_said(tmp_path):
    text = SOURCE.replace("    return x ** 2", "    q = x ** 2\n    return q").replace(
        "Squared.", "q is squared."
    )
    assert author.problems(sheet_of(tmp_path, text)) == [
        "99.2: not every program with these results has 'q', in 'q is squared.'"
    ]


def test_a_program_of_the_bank_may_use_its_own_name(tmp_path):
    own = "    return -twice(-x) if x < 0 else x + x  # by its own name"
    assert own in SOURCE
    assert "maximum recursion depth" in str(
        author.problems(sheet_of(tmp_path, SOURCE.replace(own, "    return twice(x)")))
    )


def test_what_notebook_and_grader_say_differently_is_said(tmp_path, monkeypatch):
    draft = sheet_of(tmp_path).drafts[1]
    assert bank.disagreement(draft.item, {"on_numbers": [1.0, 9.0], "on_a_secret": 5}) == ""
    monkeypatch.setattr(
        items, "recognize", lambda item, outputs: None if "on_a_secret" in outputs else draft.item.wrong[0]
    )
    assert "in the notebook M01 Squared. when graded" in bank.disagreement(
        draft.item, {"on_numbers": [1.0, 9.0], "on_a_secret": 5}
    )


LOOKING = SOURCE.replace(
    '@wrong("M01"',
    """@look("It looks the answer up.")
def looks_up(f):
    return hasattr(f, "table")

def made(x):
    return {1.0: 2.0, 3.0: 6.0, -4.25: -8.5, 3e-5: 6e-5}[x]

made.table = True
avoiding(made)

@wrong("M01\"""",
    1,
)


def test_an_answer_that_avoids_the_task_has_its_points_and_a_reason(tmp_path):
    sheet = sheet_of(tmp_path, LOOKING)
    assert author.problems(sheet) == []
    item, made = sheet.items[1], sheet.drafts[1].avoiding[0]
    outputs = probe.run(item.probes, made)
    assert items.judge(item, outputs=outputs).score == item.points == 3
    assert items.avoided(item, outputs) == ["It looks the answer up."]
    assert not any("looks_up" in wrong.outputs for wrong in item.wrong)
    told = items.to_json("99", sheet.public())
    assert "looks_up" not in told
    assert "It looks" not in told
    assert [p.name for p in sheet.public()[1].probes] == ["on_numbers", "hidden 1"]


@pytest.mark.parametrize(
    ("old", "new", "owed"),
    [
        ("made.table = True", "", "avoiding program 1 is not right, or nobody is told of it"),
        ("3e-5: 6e-5}[x]", "3e-5: 2.0}[x]", "avoiding program 1 is not right, or nobody is told of it"),
        ("avoiding(made)", "", "looks_up: no program in the bank avoids the task like this"),
        ('return hasattr(f, "table")', "return True", "right program 1 is said to avoid the task"),
        (
            'return hasattr(f, "table")',
            "return True",
            "looks_up: no program in the bank avoids the task like this, or the reference",
        ),
    ],
)
def test_a_look_that_sees_nothing_or_too_much_is_said(tmp_path, old, new, owed):
    assert old in LOOKING
    found = author.problems(sheet_of(tmp_path, LOOKING.replace(old, new)))
    assert any(owed in line for line in found), found


def test_a_cell_that_fails_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"99_test.py, cell 2: ModuleNotFoundError"):
        sheet_of(tmp_path, SOURCE.replace("import autograd_lab as torch", "import no_such_module"))


@pytest.mark.parametrize(
    ("inside", "gap"),
    [
        ("answer = 7", "answer = ..."),
        ("a, b = 1, 2\nc = 3", "a, b, c = ..., ..., ..."),
        ("x = 1\nx = x + 1", "x = ..."),
        ("    return x * 2", "    return ...  # your code here"),
        ("    for i in x:\n        if i:\n            return i", "    return ...  # your code here"),
        ("    g = x * 2", "    g = ...  # your code here"),
        ("    while x:\n        x.step()", "    ...  # your code here"),
    ],
)
def test_gaps_have_the_shape_of_what_was_there(inside, gap):
    text = f"before = 1\n{author.BEGIN}\n{inside}\n{author.END}\nafter = 2"
    if inside.startswith(" "):
        text = f"def f(x):\n    {author.BEGIN}\n{inside}\n    {author.END}"
    out = author.stub(text)
    assert gap in out.split("\n")
    assert "SOLUTION" not in out
    ast.parse(out)


def test_broken_code_can_stand_in_the_gap(tmp_path):
    """Debug items: the bug is handed out; handing it back untouched is no attempt."""
    broken = SOURCE.replace(
        '### END SOLUTION\n\n\n# %%\nlab.check("99.2"', '### END SOLUTION\n\n\n# %%\nlab.check("99.2"'
    ).replace(
        'def twice(x):\n    """Two times x."""\n    ### BEGIN SOLUTION\n    return x * 2\n    ### END SOLUTION\n',
        "### BEGIN SOLUTION\ndef twice(x):\n    return x * 2\n### END SOLUTION\n"
        "### BEGIN STUB\n# def twice(x):\n#     # a bug\n#     return x ** 2\n### END STUB\n",
    )
    sheet = sheet_of(tmp_path, broken)
    assert author.problems(sheet) == []
    cell = next(c["source"] for c in sheet.cells if "STUB" in c["source"])
    assert author.stub(cell) == "def twice(x):\n    # a bug\n    return x ** 2"
    assert author.solution(cell) == "### BEGIN SOLUTION\ndef twice(x):\n    return x * 2\n### END SOLUTION"
    from autograd_lab.course.feedback import verdict_on

    space = {}
    author.execute(author.stub(cell), space, "as handed out")
    assert verdict_on(sheet.items[1], space["twice"]).state == "not attempted"
    author.execute(author.stub(cell).replace("# a bug", '"""Twice."""  # a bug?'), space, "looked at")
    assert verdict_on(sheet.items[1], space["twice"]).state == "not attempted"
    author.execute(author.stub(cell).replace("x ** 2", "x * x"), space, "tried")
    assert verdict_on(sheet.items[1], space["twice"]).misconception == "M01"


def test_rounding_does_not_change_what_is_stored(tmp_path):
    """Another processor adds up in another order; what is built there must be what is stored."""
    stored, fresh = sheet_of(tmp_path, SOURCE), sheet_of(tmp_path, SOURCE)
    [expected], [wrong, *_] = stored.items[1].probes[0].expected, stored.items[1].wrong
    assert expected == [2.0, 6.0]
    assert wrong.outputs["on_numbers"] == [1.0, 9.0]
    fresh.items[0].expected = 7.000000000000001
    stored.items[0].expected = 7.0
    fresh.items[1].probes[0].expected = [[2.0000000000000004, 6.0001]]
    fresh.items[1].wrong[0].outputs["on_numbers"] = [1.0000001, 9]
    author.remember(fresh, stored.items)
    assert fresh.items[0].expected == 7.0
    assert fresh.items[1].probes[0].expected == [[2.0, 6.0001]], "what is more than rounding is written"
    assert fresh.items[1].wrong[0].outputs["on_numbers"] == [1.0, 9]
    assert isinstance(fresh.items[1].wrong[0].outputs["on_numbers"][1], int)
    assert plain.settled([1.0000004, -1e-9], [1.0, 0.0], rtol=1e-6) == [1.0000004, 0.0]


def test_a_probe_that_has_become_exact_is_stored_exactly(tmp_path):
    """What was stored with fewer digits, when its probe asked for fewer, is no rounding any more: neither right nor wrong results keep it."""
    stored, fresh = sheet_of(tmp_path, SOURCE), sheet_of(tmp_path, SOURCE)
    fresh.items[1].probes[0].rtol = 1e-9
    stored.items[1].probes[0].expected = [[2.00000003, 6.0]]
    stored.items[1].wrong[0].outputs["on_numbers"] = [1.00000003, 9]
    author.remember(fresh, stored.items)
    assert fresh.items[1].probes[0].expected == [[2.0, 6.0]]
    assert fresh.items[1].wrong[0].outputs["on_numbers"] == [1.0, 9.0]


def test_stubs_of_earlier_deliveries_are_remembered(tmp_path):
    """A student who has changed something else in the notebook keeps the old stub when a new one comes."""

    def built(*lines):
        sheet = sheet_of(tmp_path, SOURCE)
        sheet.items[1].stub = "\n    ".join(("def twice(x):", *lines))
        return sheet

    first = built("return x ** 2")
    second = built("return x + 2")
    author.remember(second, first.items)
    assert second.items[1].earlier == ["def twice(x):\n    return x ** 2"]
    third = built('"""Two times x."""', "return x + 2  # hm")
    author.remember(third, second.items)
    assert third.items[1].earlier == second.items[1].earlier, "only the code makes another stub"
    back = built("return x**2")
    author.remember(back, third.items)
    assert [stub.splitlines()[-1].strip() for stub in back.items[1].earlier] == ["return x + 2  # hm"]
    assert author.public(back.items[1]).earlier == back.items[1].earlier

    from autograd_lab.course.feedback import verdict_on

    space = {}
    for text, state in (
        ("x + 2", "not attempted"),
        ("x ** 2", "not attempted"),
        ("x * 2", "passed"),
        ("x - 2", "wrong"),
    ):
        author.execute(f"def twice(x):\n    return {text}\n", space, text)
        assert verdict_on(back.items[1], space["twice"]).state == state, text


def test_mutants_change_one_thing_inside_the_solution():
    cell = textwrap.dedent(f"""
        scale = 3
        def f(a, w):
            "A docstring with 1 + 1."
            {author.BEGIN}
            s = a @ w.T
            s += 1
            return s.sum(dim=0, keepdim=True) if s > 0 else -s
            {author.END}
        """)
    names = [name for name, _ in bank.mutants(cell)]
    wanted = [
        "6: a @ w.T -> a * w.T", "6: a @ w.T -> w.T @ a", "6: w.T -> w", "7: s += 1 -> s = 1", "7: s += 1 -> s -= 1",
        "8: s > 0 -> s >= 0", "8: -s -> s", "8: s.sum(dim=0, keepdim=True) -> s.sum(dim=0)", "8: True -> False",
    ]  # fmt: skip
    assert not set(wanted) - set(names), names
    assert not any(name.startswith(("2:", "4:")) for name in names)
    for _, text in bank.mutants(cell):
        ast.parse(text)


KINDS = """
def f(nodes, k, torch):
    out = []
    with torch.no_grad():
        for node in nodes:
            if node.grad is not None:
                for edge, g in zip(node.edges, node.rule(k)):
                    size = g * 2
                    out.append(size)
    out = [one for one in out]
    return out
"""


def test_mutants_are_right_but_for_some_values_or_leave_something_behind():
    made = dict(bank.mutants(KINDS))
    wanted = {
        "7: passed over where g is 0": "if 0 <= g <= 0:",
        "7: passed over where size is negative": "if size < 0:",
        "7: two turns at most": "in list(zip(node.edges, node.rule(k)))[:2]:",
        "7: node.edges without its None": "zip([one for one in node.edges if one is not None], node.rule(k))",
        "8: size = g * 2, the first element alone": "size = (g * 2)[:1]",
        "6: node.grad is not None -> node.grad is not None and node.grad.any()": "and node.grad.any():",
        "4: no_grad is never left": "torch.set_grad_enabled(False)\n    for",
        "5: while nodes: node = nodes.pop(0)": "node = nodes.pop(0)",
        "5: node.edges grows by 1 in each turn": "node.edges = node.edges + 1",
        "2: k of the first call, in all calls": "k = kept.setdefault(0, k)",
        "10: [one for one in out] only once": "out = (one for one in out)",
        "10: out = [one for one in out], only where not (node.grad is not None)": "    if not node.grad is not None:\n        out =",
        "7: node.edges -> node.grad": "zip(node.grad, node.rule(k))",
        "7: node.rule(k) -> node.rule(k, True)": "node.rule(k, True)",
    }
    missing = {name: made.get(name) for name, text in wanted.items() if text not in made.get(name, "")}
    assert not missing, list(made)
    assert not any("range" in name for name in made)
    for text in made.values():
        ast.parse(text)


def test_a_mutant_that_counts_its_turns_is_no_mistake_about_values():
    names = [name for name, _ in bank.mutants("def f(x):\n    for i in range(x):\n        print(i)\n")]
    assert not any("passed over" in name for name in names), names


def test_mutants_compare_by_letters_and_use_up_what_they_are_given():
    """Words in words, keys that tell less apart, formulas of the textbook, and lists that are empty afterwards."""
    cell = textwrap.dedent("""
        def share(steps, k, inner):
            seen, out = {}, []
            for name, what in steps:
                for one in what:
                    if name != "rand" and (name, one) not in seen:
                        seen[name, one] = math.tanh(k ** (k - 1))
                out.append(inner)
            for one in out:
                inner(one)
            return seen
        """)
    made = {name.partition(" ")[2]: text for name, text in bank.mutants(cell)}
    for name, part in {
        "name != 'rand' -> 'rand' not in name": "if 'rand' not in name and",
        "name != 'rand' -> name not in 'rand'": "if name not in 'rand' and",
        "k ** (k - 1) -> k ** k / k": "math.tanh(k ** k / k)",
        "k ** (k - 1) -> abs(k) ** (k - 1)": "math.tanh(abs(k) ** (k - 1))",
        "the key (name, one) -> first two": "seen[(name, one)[:-1] + ((name, one)[-1][:2],)] = ",
        "the key (name, one) -> in one word": "''.join((c for c in str((name, one)) if c.isalnum())) not in seen:",
        "while steps: name, what = steps.pop(0)": "while steps:\n        name, what = steps.pop(0)",
    }.items():
        assert part in made[name], (name, made[name])
    assert any("math.exp(-k ** (k - 1))" in text for text in made.values())


def test_mutants_write_in_place_and_remember():
    """Operations in place, on what was given and saved too, a result put into an argument, a write undone, a hook, a memory by shape."""
    cell = textwrap.dedent("""
        class Op(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                m = x.max()
                y = y + m
                m = x * m
                ctx.save_for_backward(x.exp())
                return (x - m).sum()

            @staticmethod
            def backward(ctx, g):
                (p,) = ctx.saved_tensors
                return g * p, p.T

        def answer(a, s):
            if a is not None:
                s = s[:]
            return a, s
        """)
    made = {name.partition(" ")[2]: text for name, text in bank.mutants(cell)}
    for name, part in {
        "x - m -> x.sub_(m)": "return x.sub_(m).sum()",
        "y = y + m -> y += m": "y += m",
        "m = x * m -> m *= x": "m *= x",
        "a in 32 bits": "return (a.float(), s)",
        "s in 32 bits": "return (a, s.float())",
        "s in 64 bits": "return (a, s.double())",
        "a is not None -> a is not None and a.grad is None": "if a is not None and a.grad is None:",
        "x.exp() -> x.exp_()": "ctx.save_for_backward(x.exp_())",
        "g * p -> p.mul_(g)": "return (p.mul_(g), p.T)",
        "p.T -> p.t_()": "return (g * p, p.t_())",
        "(x - m).sum() -> x.copy_((x - m).sum())": "return x.copy_((x - m).sum())",
        "x is changed for a while": "def forward(ctx, x, y):\n        x.add_(1).sub_(1)\n        m = x.max()",
        "p is changed for a while": "p, = ctx.saved_tensors\n        p.add_(1).sub_(1)",
        "a hook is left on a": "def answer(a, s):\n    a.register_hook(",
    }.items():
        assert part in made.get(name, ""), (name, list(made))
    space = {}
    exec(
        made["the first answer for these shapes, in all calls"]
        .partition("\n\ndef answer")[2]
        .join(("def answer", "")),
        space,
    )
    asked = [(np.ones(2), "b"), (np.zeros(2), "b"), (np.zeros(2), "c"), (np.zeros(3), "b")]
    assert [space["answer"](*given)[0].tolist() for given in asked] == [[1, 1], [1, 1], [0, 0], [0, 0, 0]]


PAIR = """
def pair(x):
    twice = x * 2
    return [one.item() for one in x], {"first": x[0].item()}, twice
"""


def test_mutants_give_one_result_for_all_calls_or_round_it():
    made = {name.partition(" ")[2]: text for name, text in bank.mutants(PAIR)}
    space = {"torch": torch}
    exec(made["the answers of one shape, in one memory"], space)
    earlier = space["pair"](torch.tensor([1.0, 2.0]))
    space["pair"](torch.tensor([5.0, 7.0]))
    assert (*earlier[:2], earlier[2].tolist()) == ([5.0, 7.0], {"first": 5.0}, [10.0, 14.0])
    x = torch.tensor([1.00002, 2.0], requires_grad=True)
    exec(made["twice to four digits"], space)
    *_, twice = space["pair"](x)
    twice.sum().backward()
    assert twice.tolist() == [2.0, 4.0]
    assert x.grad.tolist() == [2.0, 2.0]  # the history goes on as if nothing were rounded
    exec(made["[one.item() for one in x] to four digits"], space)
    assert space["pair"](x)[0] == [1.0, 2.0]


def test_a_gap_in_the_probes_shows_as_a_survivor(tmp_path):
    rows = bank.report(sheet_of(tmp_path))
    assert rows[1].survivors == []
    assert rows[1].mutants >= 3
    blind = SOURCE.replace("return [f(x) for x in numbers()]", "return [f(0.0)]").replace(
        "[f(-4.25), f(3e-5)]", "[f(0.0)]"
    )
    rows = bank.report(sheet_of(tmp_path, blind))
    assert "4: x * 2 -> x / 2" in rows[1].survivors
    assert "survivor" in bank.table(rows)


def test_a_mutant_that_never_ends_is_caught(tmp_path, monkeypatch):
    loop = SOURCE.replace(
        "    return x * 2\n", "    n = 0\n    while n < 1:\n        n += 1\n    return x * 2\n"
    )
    row = bank.report(sheet_of(tmp_path, loop))[1]
    assert row.mutants > 5
    assert not any("-=" in name for name in row.survivors)


def test_a_program_that_does_nothing_must_not_earn(tmp_path, capsys):
    rows = bank.report(sheet_of(tmp_path))
    assert [row.idle for row in rows] == [[], []]
    known = [(name, text) for name, text in bank.idle("def twice(x):\n    return ...  # your code here\n")]
    assert [name for name, _ in known] == [
        "as handed out", "pass", "return 0", "return 1", "return True", "return []", "raise NotImplementedError", "return argument 1",
        "None in the gaps", "0 in the gaps",
    ]  # fmt: skip
    assert known[7][1] == "def twice(x):\n    return x"
    lazy = SOURCE.replace(
        "return [f(x) for x in numbers()]", "return [bool(f(x)) for x in numbers()]"
    ).replace(", score=1)", ", score=2)")
    assert bank.report(sheet_of(tmp_path, lazy))[1].idle == [
        "as handed out: 1", "return 1: 1", "return True: 1", "return argument 1: 1",
    ]  # fmt: skip
    source = tmp_path / "99_test.py"
    assert bank.main([str(source)]) == 1
    assert "99.2 earns points for nothing  return 1: 1" in capsys.readouterr().out


def test_what_a_class_or_several_functions_do_nothing_with():
    several = "class A:\n    def f(self, x):\n        ...\n\n\ndef g(a, b, c):\n    y = ...\n    return y\n"
    known = dict(bank.idle(several))
    assert known["return argument 2"] == (
        "class A:\n\n    def f(self, x):\n        return x\n\ndef g(a, b, c):\n    return b"
    )
    assert "return argument 3" in known
    assert known["0 in the gaps"].count("0") == 2
    ast.parse(known["raise NotImplementedError"])
