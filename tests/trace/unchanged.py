"""What a program leaves behind, as plain data: compared, it says whether recording the program changed anything.

A program is a text that sees `torch` (the library under test), `nn`, `F`, `np`, `random`, `math`, `wave`, `fill` and `note`. All it
leaves in variables is described afterwards, when nobody records any more: tensors with their bits, versions, flags,
graphs and gradients, in the order in which they were made; what it noted; its warnings and its error; where the random generators stand.
"""

from __future__ import annotations

import contextlib
import functools
import io
import linecache
import math
import random
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from graphs import bits, listed, nodes_behind, tensors_in

FRAMES = re.compile(r'  File "(?!<).*\n(    .*\n)*')
"""What anomaly mode tells of files: there are more calls between the program and PyTorch while somebody watches."""


def outcome(
    name: str, source: str, torch: Any, recorder: Callable[[], Any] | None, **more: Any
) -> tuple[dict[str, Any], Any]:
    """What the program leaves, and its trace (None without a recorder); `more` is what it sees besides."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    code = compiled(source, file)
    seen: list[Any] = []
    space = tools(torch) | more | {"note": lambda *what: seen.append([described(x, torch) for x in what])}
    given = set(space)
    torch.default_generator.manual_seed(
        3
    )  # torch.manual_seed also asks for the stack, once for each kind of device
    np.random.seed(3)  # noqa: NPY002 - the global generator is what a program may use
    random.seed(3)
    error = trace = None
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            watched = recorder() if recorder is not None else contextlib.nullcontext()
            with contextlib.redirect_stdout(printed), watched as trace:
                exec(code, space)
        except Exception as raised:
            error = [type(raised).__name__, str(raised), lines_of(raised, file), described_cause(raised)]
    left = {
        "error": error,
        "warnings": [(w.category.__name__, FRAMES.sub("", str(w.message))) for w in caught],
        "generators": [bits(torch.get_rng_state()), np.random.get_state()[1].tobytes(), random.getstate()],  # noqa: NPY002
        "modes": [torch.is_grad_enabled(), torch.is_inference_mode_enabled()],
        "seen": seen,
        "printed": printed.getvalue().splitlines(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variables = {k: v for k, v in space.items() if k not in given and not k.startswith("__")}
        left["variables"] = {k: described(v, torch) for k, v in variables.items()}
        left["order"] = order(variables)
        left["nodes"] = Counter(n.name().rpartition("::")[2] for n in graph_behind(variables))
    return left, trace


compiled = functools.lru_cache(maxsize=4)(functools.partial(compile, mode="exec"))
"""The code of a program, which runs several times in a row."""


def tools(torch: Any) -> dict[str, Any]:
    """What a program finds."""

    def wave(*shape, start=0.3, grad=False, dtype=None):
        """Numbers between -1 and 1, no two alike."""
        t = torch.tensor([math.sin(start + 1.7 * i) for i in range(math.prod(shape))], dtype=dtype).reshape(
            shape
        )
        return t.requires_grad_() if grad else t

    def fill(model):
        """Give every parameter of a model numbers of its own."""
        with torch.no_grad():
            for i, p in enumerate(model.parameters()):
                p.copy_(wave(*p.shape, start=i + 0.1) / 2)
        return model

    return {
        "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "random": random, "math": math,
        "wave": wave, "fill": fill, "__name__": "a_program",
    }  # fmt: skip


def lines_of(error: BaseException, file: str) -> list[int]:
    """The lines of the program in the error's traceback."""
    found, here = [], error.__traceback__
    while here is not None:
        if here.tb_frame.f_code.co_filename == file:
            found.append(here.tb_lineno)
        here = here.tb_next
    return found


def described_cause(error: BaseException) -> list[str]:
    """What an error came from, and what has been added to it."""
    chain = [str(x) for x in getattr(error, "__notes__", ())]
    for other in (error.__cause__, error.__context__):
        if other is not None:
            chain.append(f"{type(other).__name__}: {other}")
    return chain


def attempt(read: Callable[[], Any]) -> Any:
    """What a property gives, or the error that reading it raises."""
    try:
        return read()
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def described(value: Any, torch: Any, depth: int = 0) -> Any:
    """Anything that a program keeps, as plain data."""
    if isinstance(value, torch.Tensor):
        return described_tensor(value, torch, depth)
    if depth > 6:
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        return [described(x, torch, depth + 1) for x in value]
    if isinstance(value, dict):
        return {str(k): described(x, torch, depth + 1) for k, x in value.items()}
    if isinstance(value, torch.nn.Module):
        parts = [*value.named_parameters(), *value.named_buffers()]
        return {k: described(x, torch, depth + 1) for k, x in parts}
    if isinstance(value, torch.optim.Optimizer):
        return described(value.state_dict(), torch, depth + 1)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, str) and value.startswith(tempfile.gettempdir()):
        return "a temporary file"
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    return type(value).__name__


def described_tensor(t: Any, torch: Any, depth: int) -> dict[str, Any]:
    """A tensor with all that autograd knows of it."""
    found = {
        "type": type(t).__name__, "dtype": str(t.dtype), "requires_grad": t.requires_grad,
        "leaf": attempt(lambda: t.is_leaf), "version": attempt(lambda: t._version), "graph": attempt(lambda: listed(t.grad_fn)),
        "retains": t.retains_grad, "output_nr": t.output_nr, "hooks": len(getattr(t, "_backward_hooks", None) or ()),
    }  # fmt: skip
    if str(getattr(t, "layout", "torch.strided")) == "torch.strided" and not getattr(t, "is_nested", False):
        found["shape"], found["stride"] = tuple(t.shape), t.stride()
    functorch = getattr(getattr(torch, "_C", None), "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(t):
        return found  # it has numbers only while its transform runs
    if str(t.device) != "meta" and type(t).__name__ not in NO_NUMBERS:
        found["bits"] = bits(t)
    if (found["leaf"] is True or t.retains_grad) and t.grad is not None and depth < 9:
        found["grad"] = described(t.grad, torch, depth + 1)
    return found


NO_NUMBERS = {"FakeTensor", "FunctionalTensor"}


def graph_behind(variables: dict[str, Any]) -> list[Any]:
    """Every node that the program's tensors lead back to, but accumulators."""
    starts = []
    for t in tensors_in(list(variables.values())):
        with contextlib.suppress(RuntimeError):  # a view whose history may not be asked for
            starts.append(t.grad_fn)
    return [node for node in nodes_behind(*starts) if type(node).__name__ != "AccumulateGrad"]


def order(variables: dict[str, Any]) -> list[str]:
    """The names of those nodes, in the order in which they were made."""
    nodes = sorted(graph_behind(variables), key=lambda node: node._sequence_nr())
    return [type(node).__name__ for node in nodes]


def differences(plain: Any, recorded: Any, path: str = "") -> list[str]:
    """Where two outcomes differ."""
    if isinstance(plain, dict) and isinstance(recorded, dict) and plain.keys() == recorded.keys():
        return [d for k in plain for d in differences(plain[k], recorded[k], f"{path}.{k}")]
    if isinstance(plain, list) and isinstance(recorded, list) and len(plain) == len(recorded):
        pairs = enumerate(zip(plain, recorded, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}[{i}]")]
    if type(plain) is type(recorded) and plain == recorded:
        return []
    return [f"{path.lstrip('.')}: {str(plain)[:900]} became {str(recorded)[:900]}"]


def lost(trace: Any) -> list[str]:
    """What the recorder failed to write down."""
    return [f"{e['op']}: {e['type']}: {e['message']}" for e in trace.events if e["k"] == "unrecorded"]


def missing(left: dict[str, Any], trace: Any) -> Counter[str]:
    """The nodes that the program made and that the trace does not tell of."""
    told = Counter(node["name"] for node in trace.nodes)
    return Counter({name: n - told[name] for name, n in left["nodes"].items() if n > told[name]})
