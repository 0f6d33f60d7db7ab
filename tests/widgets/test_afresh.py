"""Programs that run one after the other in one process, as those of an editor do: each finds what it would find alone."""

import json

from fresh import printed

AFTER = """import torch, numpy as np, pickle, sys
import torch.nn.functional as F
x = torch.tensor([1.23456, -1.0], requires_grad=True)
m = torch.nn.Linear(2, 1)
F.relu(m(x)).sum().backward()
torch.optim.SGD(m.parameters(), 0.1).step()
print(x, x.grad, m.bias, torch.rand(1), torch.relu(x), np.array([1.23456]), torch.is_grad_enabled(), len(sys.path) > 0)
import warnings
warnings.warn("heard, not raised")
print(np.geterr(), sys.getrecursionlimit())
"""
BEFORE = (
    "import torch\ntorch.tensor = None",
    "import torch\ntorch.Tensor.backward = None",
    "import torch\ntorch.Tensor.sum = lambda self: self",
    "import torch\ntorch.relu = torch.Tensor.relu = lambda x: x",
    "import torch.nn.functional as F\nF.relu = lambda x: x",
    "import torch\ntorch.nn.Linear.forward = lambda self, x: x",
    "import torch\ntorch.optim.SGD.step = None",
    "import torch\nclass T(torch.Tensor): pass\ntorch.Tensor = T",
    "import builtins\nbuiltins.print = builtins.sum = None",
    "import numpy\nnumpy.array = None",
    "import sys\ndel sys.modules['torch'], sys.modules['numpy']",
    "import sys\nfor name in [*sys.modules]:\n    if 'torch' in name or 'autograd' in name: del sys.modules[name]",
    "import sys\nsys.setrecursionlimit(80); sys.path.clear(); sys.stdout = None",
    "import os\nos.chdir('/')",
    "import numpy as np\nnp.set_printoptions(precision=1)\nnp.seterr(all='raise')",
    "import warnings\nwarnings.simplefilter('error')",
    "import torch\ntorch.set_printoptions(precision=1, sci_mode=True)",
    "import torch\ntorch.manual_seed(5); torch.set_default_dtype(torch.float64)",
    "import torch\ntorch.no_grad().__enter__()",
    "import torch\ntorch.inference_mode().__enter__()",
    "import torch\ntorch.autograd.graph.saved_tensors_hooks(lambda x: 1 / 0, lambda x: x).__enter__()",
    "from torch.nn.modules.module import register_module_forward_hook as hook\nhook(lambda *given: print('a hook'))",
    "from torch.nn.modules.module import register_module_full_backward_hook as hook\nhook(lambda *given: print('a hook'))",
)
RUN = """
from autograd_lab.torchlike.world.standin import stand_in
stand_in()
from autograd_lab.widgets import afresh, program
import json as plain
before, after = plain.loads(sys.argv[1])
restore = afresh.Afresh().restore
out = print

def told(source):
    parts = []
    ran = program.run(source, parts.append)
    restore()
    return "".join(parts), ran.error and ran.error["message"], ran.trace and len(ran.trace)

alone = told(after)
differ = []
for source in before:
    told(source)
    now = told(after)
    if now != alone:
        differ.append([source, now])
out(plain.dumps([alone, differ]))
"""


def test_a_program_finds_what_it_finds_alone():
    (said, error, events), differ = printed(RUN, json.dumps([BEFORE, AFTER]))
    assert error is None
    assert "1.2346" in said
    assert events > 40
    assert differ == []
