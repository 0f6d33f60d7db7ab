"""What an answer keeps from one call to the next is said if it is certain, and by notebook and grader alike."""

import linecache
from textwrap import dedent

import pytest

from autograd_lab.course import kept
from autograd_lab.course.feedback import verdict_on
from autograd_lab.course.items import find

CHECKS = ("def from_a_node(count, root):\n    return count(root)",)

KEEPS = {
    "a default": "def count(root, deps={}):\n    deps[root] = 1\n    return deps",
    "a default made by a call": "def count(root, *, deps=collections.defaultdict(int)):\n    deps[root] += 1\n    return deps",
    "of a helper that is left to its default": """
        def walk(node, deps=[]):
            deps.append(node)
            for other in node.edges:
                walk(other, deps)
            return deps
        def count(root):
            return walk(root)
        """,
    "of a function that is called without it": "def walk(node, deps=[]):\n    deps.append(node)\n    return deps\nwalk(1)",
    "a name outside": "deps = {}\ndef count(root):\n    deps[root] = deps.get(root, 0) + 1\n    return deps",
    "in a function inside": """
        deps: set = set()
        def count(root):
            def visit(node):
                deps.add(node)
            visit(root)
            return deps
        """,
    "a queue": "deps = []\ndef count(root):\n    heapq.heappush(deps, root)\n    return deps",
    "of a class": """
        class Value:
            deps = []
            def __init__(self, data):
                self.data = data
                self.deps.append(data)
        """,
}
KEEPS_NOT = {
    "made inside": "def count(root):\n    deps = {}\n    deps[root] = 1\n    return deps",
    "made anew": "def count(root, deps={}):\n    deps = dict(deps)\n    deps[root] = 1\n    return deps",
    "made anew outside": "deps = {}\ndef count(root):\n    global deps\n    deps = {}\n    deps[root] = 1\n    return deps",
    "made anew by another": """
        deps = {}
        def start():
            global deps
            deps = {}
        def count(root):
            start()
            deps[root] = 1
            return deps
        """,
    "emptied": "deps = {}\ndef count(root):\n    deps.clear()\n    deps[root] = 1\n    return deps",
    "only read": "deps = {}\ndef count(root, known=[]):\n    return known + [deps.get(root)]",
    "another of that name": "deps = {}\ndef count(root, deps):\n    deps[root] = 1\n    return deps",
    "none": "def count(root, deps=None):\n    deps = {} if deps is None else deps\n    deps[root] = 1\n    return deps",
    "of a helper that is given one": """
        def walk(node, deps=[]):
            deps.append(node)
            return deps
        def count(root):
            return walk(root, [])
        """,
    "of a helper that is given some": """
        def walk(node, deps=[]):
            deps.append(node)
            return deps
        def count(root):
            return walk(*[root, []])
        """,
    "of a function that nothing in the cell calls": "def walk(node, deps=[]):\n    deps.append(node)\n    return deps",
    "of a function made at each call": """
        def count(root):
            def walk(node, deps=[]):
                deps.append(node)
                return deps
            return walk(root)
        """,
    "a parameter of a function inside": """
        deps = []
        def count(root):
            def walk(node, deps):
                deps.append(node)
                return deps
            return walk(root, [])
        """,
    "of an object": """
        class Value:
            deps = []
            def __init__(self, data):
                self.deps = []
                self.deps.append(data)
        """,
    "no Python": "def count(root, deps={}:",
}


@pytest.mark.parametrize("what", KEEPS)
def test_what_is_kept_is_named(what):
    assert kept.remark(dedent(KEEPS[what]), CHECKS).startswith("`deps` is made only once, ")


@pytest.mark.parametrize("what", KEEPS_NOT)
def test_nothing_else_is(what):
    assert kept.remark(dedent(KEEPS_NOT[what]), CHECKS) == ""


def test_a_default_for_what_the_check_gives_is_never_used():
    source = "def deliver(node, deps={}, buffers={}):\n    deps[node] = 1\n    buffers[node] = 1"
    assert kept.remark(source) == ""
    assert kept.remark(source, ("def sums(deliver):\n    deliver(1, {}, {})",)) == ""
    assert "`buffers`" in kept.remark(source, ("def sums(deliver):\n    deliver(1, deps={})",))


@pytest.mark.parametrize(
    "source",
    [
        "def f(): " + "g()" + "()" * 3_000,
        "def f(): x" + ".y" * 6_000 + ".append(1)",
        "def f(): return " + "-" * 9_000 + "1",
        "x = []\n" * 2_800,
        "\n".join(f"d{i} = []\ndef f{i}(): d{i}" for i in range(800)),
        "class V:\n" + "".join(f" d{i} = []\n def f{i}(self): 0\n" for i in range(500)),
        "x" * (kept.MOST + 1),
    ],
    ids=["calls", "attributes", "signs", "names", "functions", "methods", "length"],
)
def test_what_is_hard_to_read_raises_nothing(source):
    """Strangers' code is read by the grader itself."""
    assert kept.remark(source, CHECKS) == ""


COUNT = """
def count(root, deps={}):
    deps[root] = deps.get(root, 0) + 1
    stack, seen = [root], {root}
    while stack:
        for node in stack.pop().edges:
            if node is not None:
                deps[node] = deps.get(node, 0) + 1
                if node not in seen:
                    seen.add(node)
                    stack.append(node)
    return deps
"""


def verdict(source, name="<a cell>"):
    space = {}
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    return verdict_on(find("03.4"), space["count"])


def test_a_wrong_answer_hears_of_it():
    found = verdict(COUNT)
    assert found.says.endswith(f". {kept.remark(COUNT, CHECKS)}")
    assert found.says.startswith("From the node p.")


def test_a_right_answer_and_a_known_mistake_do_not():
    right = COUNT.replace("count(root, deps={})", "count(root, deps={}, spare=[])")
    right = right.replace("deps[root] = deps.get(root, 0) + 1", "deps = {root: 1}; spare.append(root)")
    assert kept.remark(right, CHECKS)
    assert verdict(right).state == "passed"
    rootless = right.replace("{root: 1}", "{root: 0}")
    assert (
        verdict(rootless).says
        == "The root gets a message as well, the one from outside with which everything begins. Its number is 1."
    )
