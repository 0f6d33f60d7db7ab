"""The observer protocol: one documented class, from which all watchers inherit, and no event that it does not know."""

import ast
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import pytest

import autograd_lab as torch
from autograd_lab.autograd import profiler
from autograd_lab.autograd.batch import Batch
from autograd_lab.autograd.modes import THREAD, WATCHERS, watcher
from autograd_lab.autograd.watch import NOBODY, Both, Watch
from autograd_lab.compiler.capture import Watcher
from autograd_lab.tracing import dropped
from autograd_lab.tracing.messages import OpenPass
from autograd_lab.tracing.recorder import Recorder

PACKAGE = Path(torch.__file__).parent
VERBS = {name: value for name, value in vars(Watch).items() if inspect.isfunction(value)}
KINDS = [Recorder, OpenPass, Watcher, Batch, Both, profiler._Watcher, dropped._Moments]


@cache
def told():
    """(file, line, verb, number of arguments) of every call on a watcher in the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "watch" in text else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr.startswith("_"):
                continue  # between parts of the recorder
            receiver = ast.unparse(node.func.value)
            if receiver in ("watcher()", "watch") or receiver.endswith(".watch"):
                found.append(
                    (path.relative_to(PACKAGE).as_posix(), node.lineno, node.func.attr, len(node.args))
                )
    return found


def test_every_event_that_is_told_is_a_method_with_these_arguments():
    assert len(told()) > 60
    for file, line, verb, count in told():
        assert verb in VERBS, f"{file}:{line}"
        needed = [p for p in list(inspect.signature(VERBS[verb]).parameters.values())[1:]]
        assert count <= len(needed), f"{file}:{line}: {verb}"
        assert count >= sum(p.default is p.empty for p in needed), f"{file}:{line}: {verb}"


def test_every_method_is_told_and_says_in_one_sentence_what_happened():
    verbs = {verb for _, _, verb, _ in told()}
    assert set(VERBS) - verbs <= {"mark", "restore"}, "told by nobody"
    for name, method in VERBS.items():
        text = inspect.getdoc(method)
        assert text, name
        assert text.endswith("."), name
        assert "\n\n" not in text, name


@pytest.mark.parametrize("kind", KINDS)
def test_watchers_override_events_only_with_their_arguments(kind):
    assert issubclass(kind, Watch)
    for name, method in VERBS.items():
        own = getattr(kind, name)
        if own is method or kind is Both:
            continue
        told = [(p.name, p.default) for p in inspect.signature(own).parameters.values()]
        assert [d for _, d in told] == [p.default for p in inspect.signature(method).parameters.values()], (
            name
        )
        assert len(told) == len(inspect.signature(method).parameters), name


def test_all_watchers_of_the_package_are_known_here():
    for module in pkgutil.walk_packages(torch.__path__, "autograd_lab."):
        if not module.name.endswith(("__main__", "torch_adapter", "torch_builder", "torch_pass")):
            importlib.import_module(module.name)
    assert set(Watch.__subclasses__()) >= set(KINDS)
    assert {kind for kind in Watch.__subclasses__() if kind.__module__.startswith("autograd_lab.")} == set(
        KINDS
    )


def test_both_may_name_others_for_a_pass():
    class Caller(Watch):
        def pass_started(self, run, roots, call):
            run.watch = self.stand_in = Watch()

    one, two, run = Caller(), Watch(), type("Run", (), {})()
    Both(one, two).pass_started(run, [], "backward")
    assert (run.watch._first, run.watch._second) == (one.stand_in, two)


def test_both_tell_each_of_two_in_order():
    heard = []

    class Ear(Watch):
        def __init__(self, name):
            self.name = name

        def looked(self, t, how):
            heard.append((self.name, t, how))

    Both(Ear("one"), Ear("two")).looked(1, how="item")
    assert heard == [("one", 1, "item"), ("two", 1, "item")]
    assert set(VERBS) <= set(vars(Both)), "an event that only the first of two hears"


def test_where_nobody_watches_nobody_hears():
    assert watcher() is NOBODY
    assert (THREAD.state.watch, WATCHERS) == (None, [])
    for name, method in VERBS.items():
        arguments = [None] * (len(inspect.signature(method).parameters) - 1)
        assert getattr(NOBODY, name)(*arguments) is None
