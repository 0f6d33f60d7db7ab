"""Programs written for PyTorch run without a changed line: autograd_lab under the name torch, and PyTorch's own paths."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab.torchlike.world.aliases import PLACES
from autograd_lab.torchlike.world.missing import NAMES

PROGRAM = """
import sys
import torch, torch.nn as nn
import torch.nn.functional as F
import torch.backends.cudnn as cudnn
import torch.utils.checkpoint
from torch import optim
from torch.autograd.function import Function
from torch.cuda.amp import GradScaler
from torch.nn.modules.loss import _WeightedLoss
from torch.nn.modules.utils import _pair
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import StepLR
from torch.utils.data.dataloader import DataLoader, default_collate

import torch_program_part

print(sys.argv[1:], torch.__version__.split("+")[0], torch.version.__version__.split("+")[0])
print(issubclass(nn.CrossEntropyLoss, _WeightedLoss), _pair(3), nn.modules.batchnorm._BatchNorm is torch.nn.modules.batchnorm._BatchNorm)
torch.manual_seed(0)
x = torch.randn(3, requires_grad=True)
torch_program_part.twice(x).sum().backward()
print(x.grad, isinstance(x, torch.Tensor), torch.is_tensor(x), nn.Linear(2, 1))
import torch.multiprocessing as mp
print(mp.get_start_method(allow_none=True) in (None, "fork", "spawn", "forkserver"), mp.cpu_count() > 0)
import torch.fft, torch.distributed.rpc as rpc
from torch.futures import Future
from torch.fx import GraphModule
from torch._higher_order_ops.associative_scan import associative_scan
from torch.quasirandom import SobolEngine
from torch.distributed._composable.fsdp import FSDPModule
from torch.utils import model_zoo
from torch.utils.tensorboard.writer import SummaryWriter
from torch._tensor_str import PRINT_OPTS
from torch.distributed.elastic.multiprocessing.errors import record
import functorch

def waits(x: Future[torch.Tensor] | None) -> rpc.RRef: ...

print(torch.profiler.kineto_available(), isinstance(nn.Linear(2, 1), GraphModule), torch.fft.rfft is torch.fft.rfft)
copied = torch.ops.aten.clone.default
print(functorch.make_functional.__name__, functorch is torch._functorch)
print(copied is torch.ops.aten.clone.default, copied, hasattr(rpc, "api"), vars(torch.nn.modules.activation)["Tanh"] is nn.Tanh)
for use in (lambda: torch.fft.rfft(x), Future, lambda: rpc.backend.gloo, lambda: SobolEngine(2), lambda: copied(x)):
    try:
        use()
    except NotImplementedError as error:
        print(error)
for name in ("lab", "widgets", "foo"):
    try:
        importlib = __import__(f"torch.{name}")
    except ImportError as error:
        print(error)
print(__name__, hasattr(torch, "foo"))
"""

PRINTED = """\
['--epochs', '3'] 2.13.0 2.13.0
True (3, 3) True
tensor([2., 2., 2.]) True True Linear(in_features=2, out_features=1, bias=True)
True True
False False True
make_functional True
True torch.ops.aten.clone.default False True
torch.fft.rfft: autograd_lab leaves torch.fft out
torch.futures.Future: autograd_lab leaves torch.futures out
torch.distributed.rpc.backend.gloo: autograd_lab leaves torch.distributed.rpc out
torch.quasirandom.SobolEngine: autograd_lab leaves torch.quasirandom out
torch.ops.aten.clone.default: autograd_lab leaves torch.ops.aten out
No module named 'torch.lab'
No module named 'torch.widgets'
No module named 'torch.foo'
__main__ False
"""


def ran(*arguments, cwd, python=("-m", "autograd_lab", "run")):
    """(exit status, standard output, standard error) of a new Python."""
    run = subprocess.run(
        [sys.executable, *python, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )
    return run.returncode, run.stdout, run.stderr


@pytest.fixture
def program(tmp_path):
    folder = tmp_path / "a program"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    (folder / "torch_program_part.py").write_text(
        "import torch\n\n\ndef twice(x):\n    return torch.mul(x, 2)\n"
    )
    return folder


def test_a_program_and_what_it_imports_get_autograd_lab_for_torch(program, tmp_path):
    assert ran(str(program / "train.py"), "--epochs", "3", cwd=tmp_path) == (0, PRINTED, "")
    assert ran("-m", "train", "--epochs", "3", cwd=program) == (0, PRINTED, "")


def test_its_exit_status_and_its_errors_are_its_own(tmp_path):
    (tmp_path / "stops.py").write_text("import sys; sys.exit(7)")
    (tmp_path / "fails.py").write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    assert ran("stops.py", cwd=tmp_path)[0] == 7
    status, _, error = ran("fails.py", cwd=tmp_path)
    assert status == 1
    assert "fails.py" in error
    assert "RuntimeError: inconsistent tensor size" in error


def test_a_file_that_is_not_there_is_said(tmp_path):
    status, out, error = ran("nothing.py", cwd=tmp_path)
    assert (status, out) == (2, "")
    assert "there is no file nothing.py; for a module of that name: autograd-lab run -m NAME" in error


def test_it_does_not_take_the_name_from_pytorch(tmp_path):
    (tmp_path / "torch.py").write_text("")  # any module of that name
    code = "import torch\nfrom autograd_lab import lab\ntry:\n    lab.stand_in()\nexcept ImportError as error:\n    print(error)"
    status, out, error = ran("-c", code, cwd=tmp_path, python=())
    assert (status, error) == (0, "")
    assert "PyTorch itself has been imported in this process. Restart the kernel" in out


def test_in_a_notebook_it_is_one_call(tmp_path):
    code = (
        "from autograd_lab import lab\na = lab.stand_in()\nb = lab.stand_in()\nimport torch, autograd_lab\n"
        "print(a is b is torch, torch.Tensor is autograd_lab.Tensor, torch.nn is autograd_lab.nn, 'nn' in dir(torch))"
    )
    assert ran("-c", code, cwd=tmp_path, python=()) == (0, "True True True True\n", "")


def test_a_counter_of_flops_can_be_made_and_says_that_it_does_not_count():
    """Lightning's Trainer makes one for its summary of the model, and enters it if it has an example of the input."""
    from autograd_lab.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    assert not counter.get_flop_counts()
    assert not counter.flop_counts
    with pytest.warns(UserWarning, match="counts no FLOPs"), counter:
        autograd_lab.ones(2, 2) @ autograd_lab.ones(2, 2)
    assert counter.get_total_flops() == 0


@pytest.mark.parametrize("path", PLACES)
def test_a_path_of_pytorchs_leads_to_the_names(path):
    place = importlib.import_module(f"autograd_lab.{path}")
    holder = importlib.import_module(f"autograd_lab.{PLACES[path]}".rstrip("."))
    assert place is not holder
    names = [name for name in getattr(holder, "__all__", vars(holder)) if not name.startswith("_")]
    assert all(getattr(place, name) is getattr(holder, name) for name in names)
    parent, _, last = path.rpartition(".")
    parent = importlib.import_module(f"autograd_lab.{parent}".rstrip("."))
    assert getattr(parent, last) is place
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        place.nothing  # noqa: B018


@pytest.mark.parametrize("path", PLACES)
def test_it_is_a_path_of_pytorchs_and_has_its_names(path):
    pytest.importorskip("torch", reason="PyTorch is not installed: its paths are not compared")
    theirs = importlib.import_module(f"torch.{path}")
    place = importlib.import_module(f"autograd_lab.{path}")
    public = [name for name in getattr(theirs, "__all__", []) if not name.startswith("_")]
    missing = [name for name in public if not hasattr(place, name)]
    assert set(missing) <= KNOWN.union(*NAMES.values()), missing


KNOWN = {
    "Container", "OneHotCategoricalStraightThrough", "enforce_grad_layout_policy", "register_kl", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
}  # fmt: skip
"""Names of PyTorch's that are left out beside those in missing.py."""


def test_a_prefix_is_taken_off_a_saved_state():
    from autograd_lab.nn.modules.utils import consume_prefix_in_state_dict_if_present

    nn = autograd_lab.nn
    wrapped = nn.Sequential()
    wrapped.add_module("module", nn.Sequential(nn.BatchNorm1d(2)))
    state = wrapped.state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    plain = nn.Sequential(nn.BatchNorm1d(2)).state_dict()
    assert list(state) == list(plain)
    assert state._metadata == plain._metadata
    other = nn.Sequential(nn.BatchNorm1d(2))
    other.load_state_dict(state)
    assert list(state) == list(plain)


def test_all_of_nn_is_in_nn_modules_too():
    nn = autograd_lab.nn
    assert nn.modules.LSTM is nn.LSTM
    assert nn.modules.rnn.LSTM is nn.LSTM
    assert nn.modules.Module is nn.Module


def test_the_folder_of_the_program_is_searched_first(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "part.py").write_text("WHERE = 'outer'")
    (inner / "part.py").write_text("WHERE = 'inner'")
    (inner / "train.py").write_text("import part; print(part.WHERE, __file__)")
    path = Path("inner") / "train.py"
    assert ran(str(path), cwd=tmp_path) == (0, f"inner {path}\n", "")


def test_the_meta_device_is_for_programs_of_others():
    """Here a device that is not there is an error; see test_around.py for a program that builds its model there."""
    with pytest.raises(RuntimeError, match="meta"), autograd_lab.device("meta"):
        pass
