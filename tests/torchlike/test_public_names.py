"""The names of the library, as they were before anything was loaded late: what `dir`, `vars`, `type` and `__module__` say of them.

A name may be loaded when it is first asked for; who asks must not see that. recordings/public_names.json has the names of each place
(a module, a class, a table of operations), one a line: the type of what stands there, where it is from, and what it calls itself.
`python -m tests.record public_names` records them anew, when names were added on purpose.
"""

import json
import os
import subprocess
import sys

import recorded

MODULES = """
    amp autograd autograd.forward_ad autograd.functional autograd.graph compiler distributions func library linalg nn nn.functional
    nn.init nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn ops optim optim.lr_scheduler
    optim.swa_utils overrides random return_types special testing utils utils.checkpoint utils.data
    _C __config__ _dynamo accelerator backends backends.cuda backends.cudnn cpu cuda cuda.amp distributed jit mps onnx types
    utils.flop_counter version xpu
"""
CLASSES = "Tensor nn.Parameter nn.Module"
TABLES = "ops.rule.FUNCTIONS ops.rule.KERNELS ops.rule.METHODS ops.rule.RULES"
PLACES = ("", *f"{MODULES} {CLASSES} {TABLES}".split())

TELL = """
import importlib, json, sys
from types import ModuleType, UnionType
import autograd_lab

# What Python itself notes of annotations in a module and in a class; the names are not the same in each Python.
sample = {}
exec("a: int\\nif True: b: int\\nclass C: a: int\\nC.__annotations__", sample)
OF_ANNOTATIONS = {"__annotations__"} | {name for name in (*sample, *dir(sample["C"])) if "annot" in name}
OF_EVERY_MODULE = {*dir(type(sys)("m")), "__builtins__", "__cached__", "__file__", "__path__", "__getattr__", "__dir__"} | OF_ANNOTATIONS
OF_EVERY_CLASS = {*dir(object), "__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"} | OF_ANNOTATIONS


def place(path):
    parent, _, last = path.rpartition(".")
    if last in ("Tensor", "Parameter", "Module", "FUNCTIONS", "KERNELS", "METHODS", "RULES"):
        return getattr(place(parent), last)
    return importlib.import_module(f"autograd_lab.{path}".rstrip("."))


def told(value):
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, UnionType):
        return "UnionType"  # its own name has been Union since Python 3.14
    own = getattr(value, "__module__", None)
    if not isinstance(own, str) or own.partition(".")[0] != "autograd_lab":
        return type(value).__name__
    return " ".join(filter(None, (type(value).__name__, own, getattr(value, "__qualname__", ""))))


def names_of(where):
    if isinstance(where, dict):
        assert [*where] == [*where.keys()] and len(where) == len([*where.items()]) == len([*where.values()])
        return sorted(where)
    ours = OF_EVERY_CLASS if isinstance(where, type) else OF_EVERY_MODULE
    return sorted({*dir(where)} - ours)


def is_imported(value, where):
    # What a file has only because it uses it. A package has its names from its modules.
    if getattr(where, "__spec__", None) is None or isinstance(where, type):
        return False
    if isinstance(value, ModuleType):
        return not value.__name__.startswith("autograd_lab.")
    if not callable(value):
        return False
    own = getattr(value, "__module__", None) or ""
    return own != where.__name__ if not hasattr(where, "__path__") else not own.startswith("autograd_lab")


def told_of_all(path):
    where = place(path)
    read = where.__getitem__ if isinstance(where, dict) else lambda name: getattr(where, name)
    listed = getattr(where, "__all__", ())
    every = {name: read(name) for name in found[path]}
    return {name: told(value) for name, value in every.items() if name in listed or not is_imported(value, where)}


# First every list, then every value: reading a value may load what adds a name.
found, hidden = {}, {}
for path in sys.argv[1].split(","):
    where = place(path)
    found[path] = names_of(where)
    if not isinstance(where, (dict, type)):
        hidden[path] = sorted({*vars(where)} - {*dir(where)} - OF_EVERY_MODULE)
        missing = sorted({*dir(where)} - {*vars(where)} - OF_EVERY_MODULE)
        if missing:
            hidden[path] = {"only in dir": missing}
found[""] = [name for name in found[""] if name not in ("express", "_on")]  # as if the folder express/ were deleted
print(json.dumps({"names": {path: told_of_all(path) for path in found}, "only in vars": {k: v for k, v in hidden.items() if v}}))
"""


def names_now():
    """What is to be recorded, of a process that has asked for nothing else."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TELL, ",".join(PLACES)],
        env={**os.environ, "AUTOGRAD_LAB_EXPRESS": "0"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_the_names_are_those_that_were_recorded():
    assert recorded.differences(names_now(), recorded.stored(__file__)) == []
