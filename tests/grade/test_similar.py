"""Similar submissions: names, layout and order do not hide them, and what a class shares does not make them."""

import ast
import random
import subprocess
import sys
import time

import corpus
import personal
import pytest
from classroom import ROOT

from autograd_lab.grade import merge, similar
from autograd_lab.grade.model import Cell, Job

LONG = ("03_one_node_one_rule", "11_write_your_own_op", "13_train_debug_build")
CODE = '''
def backward(root):
    """Fill in the gradients."""
    waiting = {}
    stack = [root]
    while stack:
        node = stack.pop()
        for source in node.inputs:
            waiting[source] = waiting.get(source, 0) + 1
            if waiting[source] == 1:
                stack.append(source)
    root.grad = 1.0
    ready = [root]
    while ready:
        node = ready.pop()
        for source, g in zip(node.inputs, node.rule(node.grad)):
            source.grad += 2.5 * g
            waiting[source] -= 1
'''
DRESSED = """
def backward( start ) :
    "What I found out"
    n = {}; todo = [ start ]       # how many
    while todo:
        x = todo.pop()
        for y in x.inputs:
            n[ y ] = n.get(y, 0) + 1
            if n[y] == 1: todo.append(y)
    start.grad = 1.0
    now = [start]
    while now:
        x = now.pop()
        for y, d in zip(x.inputs,
                        x.rule(x.grad)):
            y.grad += 2.50 * d
            n[y] -= 1
"""


def release(stem):
    return merge.released(ROOT / "exercises" / f"{stem}.ipynb")


def test_names_layout_and_comments_do_not_count():
    assert similar.signs(CODE) == similar.signs(DRESSED)
    assert similar.fingerprints(CODE) == similar.fingerprints(DRESSED)


@pytest.mark.parametrize(
    "change", [("2.5", "3.5"), ("node.rule", "node.value"), ("while ready", "if ready"), ("+=", "-=")]
)
def test_what_the_code_does_counts(change):
    assert similar.signs(CODE) != similar.signs(CODE.replace(*change))


@pytest.mark.parametrize("stem", LONG)
def test_copies_with_other_names_and_order_are_found_and_nobody_else(stem):
    found, pairs = personal.measure(stem, 7)
    assert found <= pairs
    assert len(found) >= 2
    assert len(pairs) == 3


@pytest.mark.parametrize("stem", personal.stems())
def test_those_who_work_alone_are_left_alone(stem):
    assert personal.measure(stem, 8, copies=0) == (set(), set())


def test_of_many_classes_that_work_alone_hardly_any_has_a_pair():
    """One class alone is luck; here are the 56 of the guide, with 2,240 students."""
    found = [
        (stem, seed, personal.measure(stem, seed, copies=0)[0])
        for stem in personal.stems()
        for seed in range(1100, 1104)
    ]
    assert sum(len(pairs) for _, _, pairs in found) <= 2, [one for one in found if one[2]]


def test_a_bank_that_grows_leaves_most_of_a_made_up_class_as_it_is(monkeypatch):
    """Else these tests would judge the draw, and not what is to be found in it."""
    stem, item = "13_train_debug_build", "13.3"
    before, _ = personal.classroom(stem, 7)
    more = [corpus.Program(f"class Value:\n    new = {i}", 0.0, right=i > 1) for i in range(3)]
    programs = {**corpus.programs(stem), item: [*more, *corpus.programs(stem)[item]]}
    banked = {**corpus.banked(stem), item: [*more[:2], *corpus.banked(stem)[item]]}
    monkeypatch.setattr(corpus, "programs", lambda stem: programs)
    monkeypatch.setattr(corpus, "banked", lambda stem: banked)
    after, _ = personal.classroom(stem, 7)
    changed = [one.student for one, other in zip(before, after, strict=True) if one.parts != other.parts]
    assert len(changed) <= 5


BROKEN = r'''
def told(x, y):
    # what it is
    text = f"{x!r:>{y}} and {x + y}" + rb"\"" 'no' 0x1F 1.5e-3 1_000
    x **= y if x != y else x // ...   ? it's not Python
    return """never
ends '''


def test_text_that_is_not_python_has_the_same_tokens_in_every_version_of_python():
    """`tokenize` splits f-strings from 3.12 on, and stops where 3.11 goes on."""
    assert " ".join(similar.signs(BROKEN)) == (
        "def name ( name , name ) : name = text + text text 0x1F 1.5e-3 1_000 "
        "name **= name if name != name else name // ... name text return text"
    )
    assert similar.signs("a = 0\n  b") == ["name", "=", "0", "name"]


def test_how_a_version_of_python_splits_an_f_string_does_not_count(monkeypatch):
    """From 3.12 on there are empty texts, and a function has type parameters."""
    sources = ['def f(x, w):\n    return f"{x!r:>{w}}" f"a{x}" ' + "#" * n for n in range(2)]
    before = similar.signs(sources[0]), similar.nameless(sources[0])
    tree = ast.parse(sources[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values.append(ast.Constant(""))
        if isinstance(node, ast.FunctionDef):
            node._fields, node.type_params = (*ast.FunctionDef._fields, "type_params"), []
    monkeypatch.setattr(similar, "parsed", lambda source: tree)
    assert (similar.signs(sources[1]), similar.nameless(sources[1])) == before


@pytest.mark.parametrize("start", ['"""', "'", "f'", '"""\\"', "'''\\\n", '"\\', "1e", "((", "\\"])
def test_no_text_that_is_not_python_is_read_twice(start):
    began = time.process_time()
    similar.signs("?" + start * (200_000 // len(start)))
    assert time.process_time() - began < 2


def test_a_class_that_shares_one_answer_has_no_similar_pairs():
    codes = [similar.Code(f"s{i}", {"04.4": CODE}) for i in range(20)]
    assert similar.similar("04", codes, release("04_backward_node_by_node")) == []


SHORT = "def backward(root):\n    root.grad = 1.0\n    for x, g in zip(root.inputs, root.rule(1.0)):\n        x.grad += g\n"


def groups(codes, solutions=None, stem="04_backward_node_by_node"):
    found = similar.same(stem, codes, release(stem), solutions or {})
    return [(one.item, one.students, one.of_the_course) for one in found]


def code(student, **parts):
    return similar.Code(student, {name.strip("i").replace("_", "."): part for name, part in parts.items()})


def test_the_same_long_answer_is_listed_however_alike_the_class_is():
    everybody = [code(f"s{i}", i04_4=(CODE, DRESSED)[i % 2]) for i in range(20)]
    assert groups(everybody) == [("04.4", tuple(sorted(f"s{i}" for i in range(20))), False)]
    assert groups(everybody[:2]) == [("04.4", ("s0", "s1"), False)]
    assert groups([code("a", i04_4=CODE), code("b", i04_4=CODE.replace("-= 1", "-= 2"))]) == []
    assert groups([code("a", i04_4=SHORT), code("b", i04_4=SHORT)]) == []
    both = [code(name, i04_4=CODE, i04_3=SHORT) for name in "ab"]
    assert groups([*both, code("c", i04_4=DRESSED)]) == [
        ("04.4", ("a", "b", "c"), False),
        (similar.ALL, ("a", "b"), False),
    ]
    assert groups(both) == [("04.4", ("a", "b"), False)]


def test_who_hands_in_the_course_s_own_solution_is_listed_alone_too():
    stem = "13_train_debug_build"
    own = {item: corpus.solutions(stem)[item] for item in ("13.2", "13.3")}
    engine, other = (one.source for one in corpus.programs(stem)["13.3"][-3:-1])
    renamed = personal.Renamed({"node": "n", "total": "sums", "slope": "k"}).visit(ast.parse(own["13.3"]))
    class_ = [code("ada", i13_3=ast.unparse(renamed)), code("bob", i13_3=engine), code("cem", i13_3=other)]
    assert groups(class_, own, stem) == [("13.3", ("ada",), True)]
    assert groups([code("ada", i13_3=own["13.3"] + "\nprint(1)")], own, stem) == [("13.3", ("ada",), True)]
    assert groups([code("ada", i13_3=own["13.3"] + "\nready = 1")], own, stem) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a = b", "c = d", True),
        ("a = b + b", "c = d + d", True),
        ("a = b + b", "c = d + e", False),
        ("x.mine = 1\ny = x.mine", "x.own = 1\nz = x.own", True),
        ("y = x.real", "y = x.imag", False),
        ("f(a, b)", "f(b, a)", True),
        (
            "def f(a):\n    return a\ndef g(b):\n    return b",
            "def f(x):\n    return x\ndef g(x):\n    return x",
            True,
        ),
        (
            "def f(a):\n    def g(b):\n        return a - b",
            "def f(a):\n    def g(b):\n        return b - a",
            False,
        ),
        ("def f(a):\n    return a.grad", "def f(a):\n    return b.grad", False),
        ("a, b = 1, 2\nf(a, b)", "a, b = 1, 2\nf(b, a)", False),
        ("def f(x):\n    'Says.'\n    return x  # yes", "def g(y): return y", True),
        ("f(x, k=1)", "f(x, l=1)", False),
        ("f(1)", "f(1.0)", False),
        ("a = print(1)", "b = 2", False),
        ("if a:\n    b = 1\nc = 2", "if a:\n    b = 1\n    c = 2", False),
        ("a = 'one'", "a = 'two'", False),
        ("def f(:", "def  f(:", True),
        (
            "def f(a: int, *b: str) -> float:\n    c: int = a\n    d: str\n    return c",
            "def f(x, *y):\n    z = x\n    return z",
            True,
        ),
        ("class A:\n    b: int = 1", "class A:\n    b = 1", True),
        ("def f(data):\n    x.data = data", "def f(number):\n    x.data = number", True),
        ("def f(data):\n    x.data = data", "def f(number):\n    x.data = data", False),
        (
            "def f(a):\n    return a\ndef g(b):\n    return -b",
            "def g(b):\n    return -b\ndef f(a):\n    return a",
            True,
        ),
        (
            "class A:\n    b = 1\n    def f(self):\n        return 1\n    def g(self):\n        return 2",
            "class A:\n    def g(self):\n        return 2\n    b = 1\n    def f(self):\n        return 1",
            True,
        ),
        ("a = 1\nb = c", "b = c\na = 1", False),
        ("f: int = 1", "f = 2", False),
    ],
)
def test_one_answer_is_another_with_other_names(one, other, alike):
    assert (similar.nameless(one) == similar.nameless(other)) == alike


def test_annotations_and_lines_that_print_are_nobody_s_work():
    dressed = CODE.replace("(root)", "(root: Node) -> None").replace(
        "stack = [root]", "stack: list[Node] = [root]"
    )
    dressed = dressed.replace(
        "    while ready:\n", "    print(ready)\n    while ready:\n        print('now', len(ready))\n"
    )
    assert similar.signs(CODE) == similar.signs(dressed)
    assert groups([code("ada", i04_4=CODE), code("bob", i04_4=dressed)]) == [("04.4", ("ada", "bob"), False)]


def test_what_the_notebook_gives_is_nobody_s_work():
    stem = "13_train_debug_build"
    given = "\n".join(cell.source for cell in release(stem).cells)
    alone, _ = personal.classroom(stem, 3, copies=0)
    for code in alone[:2]:
        code.parts = {"": given}
    assert not [
        pair for pair in similar.similar(stem, alone, release(stem)) if "s00" in (pair.one, pair.other)
    ]


def test_two_who_chose_alike_are_no_pair_without_something_of_their_own():
    """Of six habits each is that of half the class. Two have the same six, and nothing else that the others lack."""
    habits = [
        [
            f"    a{i} = b.real + {i} * sum(b)\n" * 4,
            f"    for c in b[{i}:]:\n        b[{i}] -= c.imag * {i}\n" * 3,
        ]
        for i in range(6)
    ]
    chosen = [[i >> k & 1 for k in range(6)] for i in range(0, 64, 3)]

    def class_(own=""):
        parts = ["def f(b):\n" + "".join(h[k] for h, k in zip(habits, one, strict=True)) for one in chosen]
        parts += [parts[5] + own]
        parts[5] += own
        return [similar.Code(f"s{i:02}", {"04.4": part}) for i, part in enumerate(parts)]

    book = release("04_backward_node_by_node")
    assert similar.similar("04", class_(), book) == []
    (pair,) = similar.similar("04", class_("    while b.pop() is not b:\n        yield from {*b}\n"), book)
    assert (pair.one, pair.other) == ("s05", f"s{len(chosen):02}")


def test_short_answers_and_small_classes_are_not_compared():
    short = [
        similar.Code(f"s{i}", {"a": f"def f(x):\n    return x * {i // 2} + x ** {i // 2 + 2}"})
        for i in range(12)
    ]
    assert similar.similar("04", short, release("04_backward_node_by_node")) == []
    few = [similar.Code(f"s{i}", {"a": CODE}) for i in range(similar.CLASS - 1)]
    assert similar.similar("04", few, release("04_backward_node_by_node")) == []


def test_a_pair_says_where_it_is_alike():
    stem = "11_write_your_own_op"
    codes, pairs = personal.classroom(stem, 7)
    for pair in similar.similar(stem, codes, release(stem)):
        assert (pair.one, pair.other) in pairs
        assert similar.ALIKE <= pair.similarity <= 1
        assert set(pair.items) <= {"11.2", "11.3", "11.4"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(:",
        "%%bash\nrm -rf",
        "'" * 99,
        "(" * 5_000,
        "x = " + "-" * 50_000 + "1",
        "\x00",
        "x = 1\n" * 50_000,
        "é = 'ü' ; ß",
        "f(" * 900,
    ],
)
def test_any_text_has_its_signs(source):
    assert len(similar.signs(source)) <= similar.MOST_SIGNS
    similar.fingerprints(source)


def test_untouched_answers_and_checks_are_not_a_student_s_code():
    cells = (Cell("a", "given", "given"), Cell("b", "stub", "answer", "1", untouched=True), Cell("c", "x = 1", "answer", "2"),
             Cell("d", "y = 2", "extra"), Cell("e", "z = 3", "extra"), Cell("f", "lab.check()", "check", "2"))  # fmt: skip
    assert similar.code_of(Job("ada", "04", cells)).parts == {"2": "x = 1", "": "y = 2\n\nz = 3"}


def test_the_same_everywhere():
    code = "from autograd_lab.grade.similar import fingerprints\nprint(sorted(fingerprints('a = b * c + d(e, f) - [g for g in h]')))"
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True)
        for seed in (1, 2)
    ]  # fmt: skip
    assert runs[0].stdout == runs[1].stdout != "[]\n"


def test_what_stands_for_copying_here_does_change_the_text():
    draw = random.Random(1)
    assert personal.copied(CODE, draw) != CODE
    assert personal.personal(CODE, draw) != personal.personal(CODE, draw)
