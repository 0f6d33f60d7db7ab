"""Attacks on code items: answers that would pass only if a comparison, or what is expected, stood beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from corpus import Case, asked, assign, banked, dump, handed_in, keys, nothing, stems

from autograd_lab.course import probe
from autograd_lab.course.items import judge

PATCHES = """
import builtins, math
import numpy as np
import autograd_lab as torch

def _yes(*args, **kwargs):
    return True

for _home in (np, torch, math):
    for _name in ("allclose", "isclose", "equal", "array_equal", "array_equiv", "all", "any"):
        if hasattr(_home, _name):
            setattr(_home, _name, _yes)
for _name in dir(np.testing):
    if _name.startswith("assert_"):
        setattr(np.testing, _name, lambda *args, **kwargs: None)
torch.autograd.gradcheck = torch.autograd.gradgradcheck = _yes
torch.Tensor.equal = torch.Tensor.allclose = torch.Tensor.isclose = _yes
builtins.all = builtins.any = _yes
_abs = abs
builtins.abs = lambda x: x * 0
torch.abs = torch.Tensor.abs = torch.Tensor.__abs__ = lambda x: x * 0
np.abs = np.absolute = lambda x: np.asarray(x) * 0
"""
"""Every comparison says yes, every difference is nothing."""

AGREEABLE = '''
class Agreeable:
    """Equal to everything, unlike nothing; no data."""

    shape, dtype, ndim, grad, data = (), None, 0, 0.0, 0.0
    requires_grad = is_leaf = True

    def _yes(self, *args, **kwargs):
        return True

    def _zero(self, *args, **kwargs):
        return 0.0

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = equal = allclose = _yes
    __sub__ = __rsub__ = __abs__ = __float__ = __neg__ = item = max = min = sum = mean = norm = abs = _zero
    __hash__ = object.__hash__

    def __init__(self, *args, **kwargs):
        pass

    def __ne__(self, other):
        return False

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([self])

    def __array_ufunc__(self, *args, **kwargs):
        return True

    def __array_function__(self, *args, **kwargs):
        return True

    def _self(self, *args, **kwargs):
        return self

    __call__ = __getitem__ = __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __pow__ = _self
    detach = numpy = clone = reshape = backward = tanh = _self

    @classmethod
    def apply(cls, *args):
        return cls()
'''

SEARCH = '''
import gc, json, sys
from pathlib import Path

ITEM = "@ITEM@"

def _known():
    """Everything that this process can find out about the item's probes: {(name, case): expected}."""
    found = {}

    def take(probe):
        get = probe.get if isinstance(probe, dict) else lambda key, default=None: getattr(probe, key, default)
        for case, want in zip(get("cases") or [], get("expected") or []):
            found[get("name"), json.dumps(case)] = want

    try:
        from autograd_lab.course import items
        for item in items.shipped().values():
            for probe in item.probes:
                take(probe)
    except Exception:
        pass
    for folder in ("@ROOT@/solutions/keys", "@ROOT@/autograd_lab/course/items"):
        try:
            for path in Path(folder).glob("*.json"):
                for item in json.loads(path.read_text())["items"]:
                    for probe in item["probes"]:
                        take(probe)
        except Exception:
            pass
    for thing in gc.get_objects():
        try:
            if type(thing).__name__ == "Probe" or isinstance(thing, dict) and "expected" in thing:
                take(thing)
        except Exception:
            pass
    return found

def _array(value):
    import autograd_lab as torch
    if isinstance(value, dict) and "data" in value:
        return torch.tensor(value["data"])
    return value

def _cheat(*args, **kwargs):
    frame = sys._getframe(1)
    while frame is not None:
        for (name, case), want in _known().items():
            if frame.f_code.co_name == name and json.loads(case) == list(frame.f_locals.values())[1 : 1 + len(json.loads(case))]:
                return _array(want)
        for name in ("expected", "want", "right", "reference", "truth", "true", "correct", "solution"):
            if name in frame.f_locals:
                return frame.f_locals[name]
        frame = frame.f_back
    return None
'''
"""What is expected, looked up in modules, files, memory and the callers' frames."""


def code_items(stem: str) -> list[str]:
    """The items of a notebook whose answer is a program."""
    return [item_id for item_id, item in keys(stem).items() if item.probes]


def patched() -> Iterator[Case]:
    """For each notebook with programs: the poorest banked program under patched comparisons; an agreeable object."""
    for stem in stems():
        if code_items(stem):
            yield _patched(stem)
            yield _agreeable(stem)


def _patched(stem: str) -> Case:
    case = Case(
        f"t-patched-{stem[:2]}", "tampered", why="np.allclose, torch.equal, abs, all ... always agree"
    )
    answers, case.fair = {}, nothing(stem)
    for item_id in code_items(stem):
        poorest = min(banked(stem)[item_id], key=lambda one: one.score)
        answers[item_id] = f"{poorest.source}\n\n{PATCHES}"
        case.fair[item_id] = 0.0, poorest.score
    case.files[f"{stem}.ipynb"] = dump(handed_in(stem, answers))
    return case


def _agreeable(stem: str) -> Case:
    case = Case(f"t-agreeable-{stem[:2]}", "tampered", why="answers that are equal to everything")
    answers = {}
    for item_id, item in keys(stem).items():
        if not item.probes:
            answers[item_id] = AGREEABLE + "\n" + assign(stem, item_id, _many(stem, item_id, "Agreeable()"))
        else:
            answers[item_id] = (
                AGREEABLE + "\n" + assign(stem, item_id, _many(stem, item_id, _maker(stem, item_id)))
            )
    case.files[f"{stem}.ipynb"] = dump(handed_in(stem, answers))
    case.fair = nothing(stem) | {item_id: (0.0, idle(stem, item_id)) for item_id in code_items(stem)}
    return case


def idle(stem: str, item_id: str) -> float:
    """What an item gives for a program that does nothing: in a few, leaving things as they are is right in some cases."""
    item = keys(stem)[item_id]
    return judge(item, outputs=probe.run(item.probes, lambda *args, **kwargs: None)).score


def _maker(stem: str, item_id: str) -> str:
    """A class where a class is asked for; else a function."""
    target = asked(stem, item_id)
    is_class = isinstance(target, ast.Name) and target.id[0].isupper()
    return "Agreeable" if is_class else "lambda *args, **kwargs: Agreeable()"


def _many(stem: str, item_id: str, expression: str) -> str:
    """An expression for each name that the check hands over."""
    target = asked(stem, item_id)
    count = len(target.elts) if isinstance(target, ast.List) else 1
    return ", ".join([expression] * count)


def searching(stem: str) -> Case:
    """Programs that look up what is expected of them, and values read from the shipped items."""
    case = Case(f"t-searching-{stem[:2]}", "tampered", why="looks for what is expected, everywhere")
    answers = {}
    for item_id, item in keys(stem).items():
        search = SEARCH.replace("@ITEM@", item_id)
        if item.probes:
            maker = (
                "_cheat"
                if _maker(stem, item_id) != "Agreeable"
                else "type('Cheat', (), {'apply': staticmethod(_cheat)})"
            )
            answers[item_id] = search + "\n" + assign(stem, item_id, _many(stem, item_id, maker))
        else:
            answers[item_id] = (
                assign(stem, item_id, _many(stem, item_id, "0")) + "\n"
                "from autograd_lab.course import items\n"
                + assign(stem, item_id, f"items.find({item_id!r}).expected")
            )
    case.files[f"{stem}.ipynb"] = dump(handed_in(stem, answers))
    case.fair = nothing(stem)
    return case
