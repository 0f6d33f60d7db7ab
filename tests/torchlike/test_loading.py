"""What is loaded late: that it stays away until it is asked for, and that who asks for it cannot tell.

Each program runs in a Python of its own, in which nothing has been asked for yet.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_lab import loading
from tests import fresh

FOLDER = Path(loading.__file__).parent


def printed(code, *arguments):
    """What a program prints, as JSON; `load_everything` in it asks for all there is, in an order of its own."""
    return fresh.printed(ASKS + code, *arguments)


ASKS = """
from autograd_lab.ops import rule

PLACES = ("amp autograd.functional distributions func library linalg nn nn.functional nn.init nn.utils nn.utils.prune optim special "
          "overrides utils.checkpoint utils.data compiler testing cuda backends.cudnn jit").split()
BOOKS = (rule.FUNCTIONS, rule.KERNELS, rule.METHODS, rule.RULES)


def questions():
    "What can be asked for: of which place, and under which name."
    modules = [place for place in PLACES if "." not in place]  # `dir` shows some only once they are imported, by whomever
    asked = [("", name) for name in {**dict.fromkeys(dir(torch)), **dict.fromkeys(modules)}] + [("Tensor", name) for name in dir(torch.Tensor)]
    for place in PLACES:
        asked.append((place, "__doc__"))
    asked += [("nn", name) for name in torch.nn.__all__] + [("optim", name) for name in torch.optim.__all__]
    return asked + [(book, name) for book in range(len(BOOKS)) for name in BOOKS[book].names()]


def answer(place, name):
    if isinstance(place, int):
        return BOOKS[place][name]
    where = torch.Tensor if place == "Tensor" else importlib.import_module(f"autograd_lab.{place}".rstrip("."))
    return getattr(where, name)


def load_everything(seed=0):
    asked = questions()
    random.Random(seed).shuffle(asked)
    return {question: answer(*question) for question in asked}

"""


# ----------------------------------------------------------------------
# the table
# ----------------------------------------------------------------------


def writer():
    spec = importlib.util.spec_from_file_location("writer", FOLDER / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_up_to_date():
    assert writer().main(["--check"]) == 0, "python -m autograd_lab.loading"


def test_a_table_out_of_date_is_noticed(tmp_path, monkeypatch, capsys):
    module = writer()
    monkeypatch.setattr(module, "TABLE", tmp_path / "table.py")
    text = (FOLDER / "table.py").read_text(encoding="utf-8")
    less, count = re.subn(r"\bcumsum\b", "", text, count=1)
    assert count == 1
    module.TABLE.write_text(less, encoding="utf-8")
    assert module.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().out
    assert module.main([]) == 0
    assert module.TABLE.read_text(encoding="utf-8") == text


# ----------------------------------------------------------------------
# what stays away
# ----------------------------------------------------------------------

LOADED = "print(json.dumps(sorted(name for name in sys.modules if name.startswith(('autograd_lab', 'numpy.random')))))"

SCALARS = """
w, x, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0))
(w * x + b).backward()
assert repr(w.grad) == "tensor(3.)"
"""


@pytest.mark.parametrize("program", ["", SCALARS], ids=["import", "scalars"])
def test_what_the_program_does_not_use_is_not_loaded(program):
    run = subprocess.run(
        [sys.executable, "-c", f"import json, sys, autograd_lab as torch\n{program}\n{LOADED}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(run.stdout)
    for unasked in (
        "nn",
        "optim",
        "distributions",
        "compiler",
        "func",
        "linalg",
        "special",
        "serialization",
        "machine",
    ):
        assert f"autograd_lab.{unasked}" not in loaded
    assert "numpy.random" not in loaded
    pages = [name for name in loaded if name.startswith("autograd_lab.ops.")]
    assert len(pages) <= 21, pages  # of 44: what the course uses, and what adds to the rules of the core


def test_what_a_notebook_does_not_use_is_not_loaded():
    """Recording and stepping need neither the compiler nor the explanations of `lab.why`, and importing `lab` no widgets."""
    program = f"""
from autograd_lab import lab
{SCALARS}
with lab.record() as trace:
    w * x
assert "Why" in dir(lab)
"""
    run = subprocess.run(
        [sys.executable, "-c", f"import json, sys, autograd_lab as torch\n{program}\n{LOADED}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = json.loads(run.stdout)
    for unasked in ("compiler", "tracing.why", "tracing.networks", "widgets", "grade", "site", "nn", "optim"):
        assert f"autograd_lab.{unasked}" not in loaded


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process for each page is made by os.fork")
def test_each_page_can_be_the_first_that_is_loaded():
    """Then no two need each other while they load, and threads that load them cannot wait for each other."""
    code = """
import os, traceback

def alone(module):
    child = os.fork()
    if not child:
        try:
            importlib.import_module(module)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]

print(json.dumps([module for module in sys.argv[1:] if alone(module)]))
"""
    pages = [*dict.fromkeys(page for page, books in loading.table.PAGES.items() if books)]
    assert len(pages) > 30
    others = [
        f"autograd_lab.{name}"
        for name in ("nn.functional", "nn.modules", "optim.further", "linalg", "special", "machine")
    ]
    assert printed(code, *pages, *others) == []


def test_a_book_is_a_dict_of_what_is_loaded_and_what_is_not():
    code = """
book = rule.FUNCTIONS
first = ["lu_solve" in book, "lu_solves" in book, book.get("lu_solves"), book.get("lu_solves", 1), len(book), len(book.entered) < len(book)]
assert "autograd_lab.ops.lu" not in sys.modules
try:
    book["lu_solves"]
except KeyError as error:
    first.append(str(error))
found = book["lu_solve"]
copies = [{**book}, dict(book), dict(book.items()), book | {}, dict(zip(book, book.values()))]
print(json.dumps([first, [len(copy) for copy in copies], [copy["lu_solve"] is found for copy in copies], len({*book.keys()} & {*book})]))
"""
    first, sizes, same, both = printed(code)
    assert first == [True, False, None, 1, both, True, "'lu_solves'"]
    assert sizes == [both] * 5
    assert same == [True] * 5


def test_all_can_be_loaded_beforehand():
    code = """
importlib.import_module("autograd_lab.loading").load_everything()
before = {*sys.modules}
for place in ("", "nn", "optim"):
    where = importlib.import_module(f"autograd_lab.{place}".rstrip("."))
    for name in dir(where):
        getattr(where, name)
names = [name for book in BOOKS for name in book]
later = [name for name, member in vars(torch.Tensor).items() if type(member).__name__.startswith("Later")]
print(json.dumps([sorted({*sys.modules} - before), later, len(names)]))
"""
    loaded, later, count = printed(code)
    assert (loaded, later) == ([], [])
    assert count > 1200


# ----------------------------------------------------------------------
# loading leaves no trace
# ----------------------------------------------------------------------

WATCHED = """
import numpy
from autograd_lab import lab
from autograd_lab.autograd import modes, node
from autograd_lab.dtypes import Defaults


def switches():
    state = modes.THREAD.state
    slots = {name: repr(getattr(state, name)) for name in type(state).__slots__ if hasattr(state, name)}
    return [slots, repr(modes.WATCHERS), str(Defaults.np), repr(numpy.geterr()), repr(torch.default_generator.rng.state), random.getstate()[1][:3]]


def ask():
    before = switches()
    if sys.argv.pop() == "load":  # once
        assert "autograd_lab.distributions" not in sys.modules
        load_everything()
        assert "autograd_lab.distributions" in sys.modules
    sys.argv.append("")
    assert switches() == before


class Asking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ask()
        return g * 2


def program(before_backward=lambda: None, hook=None, fn=lambda t: t * 3):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = fn(x)
    before_backward()
    if hook is not None and y.requires_grad:
        y.register_hook(hook)
    if y.requires_grad:
        (y * y).sum().backward()
    return [y.tolist(), None if x.grad is None else x.grad.tolist(), repr(y), torch.rand(2).tolist()]

torch.manual_seed(0)
torch.Tensor.sum, torch.Tensor.tolist, torch.rand  # so that these are there in both
"""

STATES = {
    "nothing": "out = program(ask)",
    "no_grad": "with torch.no_grad(): out = program(ask)",
    "inference": "with torch.inference_mode(): out = program(ask)",
    "anomaly": "with torch.autograd.detect_anomaly(): out = program(ask)",
    "hook": "out = program(hook=lambda g: ask())",
    "backward": "out = program(fn=Asking.apply)",
    "vmap": "out = torch.vmap(lambda t: (ask(), t * 2)[1])(torch.ones(1, 3)).tolist()",
    "jvp": "out = [t.tolist() for t in torch.func.jvp(lambda t: (ask(), t * 2)[1], (torch.ones(3),), (torch.ones(3),))]",
    "grad": "out = torch.func.grad(lambda t: (ask(), (t * t).sum())[1])(torch.ones(3)).tolist()",
    "saved hooks": "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): out = program(ask)",
    "other default": "torch.set_default_dtype(torch.float64); out = program(ask)",
    "strict numpy": "numpy.seterr(all='raise'); out = program(ask)",
    "compile": "f = torch.compile(lambda t: (ask(), t * 2)[1]); out = [program(fn=f), program(fn=f)]",
    "warnings": "import warnings; warnings.simplefilter('error'); out = program(ask)",
}


@pytest.mark.parametrize("state", STATES)
def test_loading_changes_nothing(state):
    code = f"{WATCHED}\n{STATES[state]}\nprint(json.dumps(out))"
    assert printed(code, "load") == printed(code, "")


@pytest.mark.parametrize("state", ["nothing", "no_grad", "anomaly", "hook", "backward"])
def test_loading_leaves_no_event(state):
    recorded = f"with lab.record() as trace:\n    {STATES[state]}"
    code = f"{WATCHED}\n{recorded}\nprint(trace.to_json())"
    told = printed(code, "load")
    assert told == printed(code, "")
    assert told["events"]


def test_subclasses_are_asked_by_functions_that_are_loaded_after_them():
    code = """
class Told(torch.Tensor):
    names = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Told.names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)

if sys.argv[1] == "load":
    load_everything()
t = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(Told)
Told.names.clear()
made = [torch.logsumexp(t, 0), torch.stack([t, t]), torch.linalg.det(t), torch.nn.functional.gelu(t), t.cumsum(0), torch.kron(t, t), t.mT]
print(json.dumps([Told.names, [type(x).__name__ for x in made]]))
"""
    names, kinds = printed(code, "")
    assert [names, kinds] == printed(code, "load")
    assert {"logsumexp", "stack", "det", "gelu", "cumsum", "kron"} <= {*names}
    assert set(kinds) == {"Told"}


# ----------------------------------------------------------------------
# who asks cannot tell
# ----------------------------------------------------------------------


HELPED = [
    "torch",
    "torch.nn",
    "torch.optim",
    "torch.linalg",
    "torch.Tensor",
    "torch.nn.functional",
    "torch.cuda",
]


def helped(whats, before=""):
    """What `help` says of each, without what depends on where things lie, or on the order in which they were loaded."""
    made = ", ".join(f"pydoc.plain(pydoc.render_doc({what}))" for what in whats)
    texts = printed(f"{before}\nprint(json.dumps([{made}]))")
    return [re.sub(r"(FUNCTIONS|METHODS) = .*", r"\1", re.sub(r"0x[0-9a-f]+", "0x", text)) for text in texts]


@pytest.fixture(scope="module")
def helped_when_all_is_loaded():
    return dict(zip(HELPED, helped(HELPED, "load_everything()"), strict=True))


@pytest.mark.parametrize("what", HELPED)
def test_help_says_the_same(what, helped_when_all_is_loaded):
    (text,) = helped([what])
    assert len(text) > 150
    assert text == helped_when_all_is_loaded[what]


def test_star_takes_all_names():
    code = "space = {}\nexec('from autograd_lab import *', space)\nprint(json.dumps(sorted(space)))"
    names = printed(f"del torch\n{code}")
    assert {"cumsum", "nn", "load", "conv2d", "float32", "Tensor", "zeros"} <= {*names}
    listed = printed("print(json.dumps([name for name in dir(torch) if name[0] != '_']))")
    assert sorted({*names} - {"__builtins__"}) == sorted(listed)


def test_what_was_pickled_by_name_is_found():
    code = "print(json.dumps(pickle.dumps([torch.cumsum, torch.nn.LSTM, torch.nn.functional.gelu, torch.optim.Adam, torch.Size]).hex()))"
    pickled = printed(code)
    found = printed(
        "print(json.dumps([[x.__module__, x.__qualname__] for x in pickle.loads(bytes.fromhex(sys.argv[1]))]))",
        pickled,
    )
    assert found == [
        ["autograd_lab", "cumsum"],
        ["autograd_lab.nn.recurrent", "LSTM"],
        ["autograd_lab.nn.functional", "gelu"],
        ["autograd_lab.optim.optimizers", "Adam"],
        ["autograd_lab.dtypes", "Size"],
    ]


def test_attributes_of_a_tensor_say_what_may_be_done_with_them():
    code = """
def said(fn):
    try:
        return fn()
    except (AttributeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"

sys.argv[1] and load_everything()
x = torch.ones(2, 3)
print(json.dumps([said(lambda: setattr(x, "mT", 1)), said(lambda: delattr(x, "T")), said(lambda: x.imag), x.nbytes, said(lambda: x.sine),
                  hasattr(x, "cumsum"), hasattr(torch.Tensor, "cumsumm"), said(lambda: torch.cumsumm), said(lambda: torch.nn.Linearr)]))
"""
    said = printed(code, "")
    assert said == printed(code, "load")
    assert said[0] == "AttributeError: attribute 'mT' of 'torch._C.TensorBase' objects is not writable"


def test_a_method_of_ones_own_stays():
    code = """
torch.Tensor.cumsum = lambda self, dim: "mine"
torch.cumprod = "mine"
load_everything()
print(json.dumps([torch.ones(2).cumsum(0), torch.cumprod, torch.cumsum(torch.ones(2), 0).tolist()]))
"""
    assert printed(code) == ["mine", "mine", [1.0, 2.0]]


def test_what_others_put_around_a_method_may_be_taken_off_again():
    code = """
asked = []

class Around:
    def __init__(self, inner):
        self.inner = inner

    def __get__(self, instance, owner):
        asked.append(type(instance).__name__)
        return self.inner.__get__(instance, owner)

inner = vars(torch.Tensor)["cumsum"]
torch.Tensor.cumsum = Around(inner)
during = [torch.ones(2).cumsum(0).tolist(), torch.ones(2).cumsum(0).tolist()]
first = torch.Tensor.cumsum
torch.Tensor.cumsum = inner
print(json.dumps([during, asked, torch.ones(2).cumsum(0).tolist(), torch.Tensor.cumsum is first, vars(torch.Tensor)["cumsum"] is first]))
"""
    assert printed(code) == [[[1.0, 2.0]] * 2, ["Tensor", "Tensor", "NoneType"], [1.0, 2.0], True, True]


# ----------------------------------------------------------------------
# threads
# ----------------------------------------------------------------------


def test_no_thread_gets_what_another_has_not_finished_loading():
    code = """
from autograd_lab.ops import words

reached, go_on, found = threading.Event(), threading.Event(), []


def slowly(page, take=words.take_numpy_words):
    rule.FUNCTIONS["median"]  # a page may read what it has not finished itself
    reached.set()
    go_on.wait(30)
    take(page)


words.take_numpy_words = slowly
first = threading.Thread(target=lambda: torch.kthvalue, daemon=True)
first.start()
assert reached.wait(30)
second = threading.Thread(target=lambda: found.append(rule.FUNCTIONS["median"]), daemon=True)
second.start()
second.join(0.2)
early = list(found)
go_on.set()
second.join(30)
print(json.dumps([len(early), found == [rule.FUNCTIONS["median"]]]))
"""
    assert printed(code) == [0, True]


def test_a_name_that_comes_while_a_folder_gets_its_public_names_is_no_error():
    """Another thread that imports a page of the folder adds one: here a member does, when it is looked at."""
    code = """
from importlib.machinery import ModuleSpec
from types import ModuleType

from autograd_lab.loading import paths

page = "class Page:\\n    @property\\n    def __module__(self):\\n        globals()['another'] = self\\n\\npage = Page()\\n\\ndef after(): pass\\n"


class Loader:
    def get_code(self, name):
        return compile(page, name, "exec")


module = ModuleType("autograd_lab.torchlike.folder")
module.__spec__ = ModuleSpec(module.__name__, Loader(), is_package=True)
paths._Named(Loader()).exec_module(module)
print(json.dumps([hasattr(module, "another"), module.after.__module__]))
"""
    assert printed(code) == [True, "autograd_lab.folder"]


def test_threads_that_draw_the_first_numbers_get_different_ones():
    code = """
sys.setswitchinterval(1e-6)
torch.manual_seed(0)
begin, drawn = threading.Barrier(8), []


def work():
    begin.wait()
    drawn.append(torch.rand(1).item())


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
torch.manual_seed(0)
print(json.dumps([sorted(drawn), sorted(torch.rand(8).tolist())]))
"""
    drawn, expected = printed(code)
    assert drawn == expected


@pytest.mark.parametrize("round", range(4))
def test_threads_that_ask_at_once_get_the_same(round):
    """Eight threads ask for everything, each in another order, from the first name on."""
    code = """
sys.setswitchinterval(1e-6)
begin, found, errors = threading.Barrier(8), [None] * 8, []


def work(i):
    begin.wait()
    try:
        found[i] = load_everything(seed=8 * int(sys.argv[1]) + i)
    except BaseException as error:
        errors.append(f"{type(error).__name__}: {error}")
        raise


threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
different = [] if errors else [str(q) for q in found[0] if len({id(answers[q]) for answers in found}) > 1]
print(json.dumps([errors, sum(thread.is_alive() for thread in threads), len(found[0] or ()), different]))
"""
    errors, waiting, count, different = printed(code, str(round))
    assert errors == []
    assert waiting == 0
    assert count > 1500
    assert [
        question for question in different if "__" not in question
    ] == []  # __subclasshook__ is bound anew each time


def test_a_module_that_was_looked_into_costs_no_more_than_any():
    """Guards of compiled functions look into the dict of `torch` at every call."""
    code = """
import types

assert type(torch) is not types.ModuleType
assert "logsumexp" in vars(torch)
print(json.dumps([type(torch) is types.ModuleType, "logsumexp" in dir(torch)]))
"""
    assert printed(code) == [True, True]
