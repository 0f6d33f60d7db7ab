"""Printing tensors as in PyTorch.

The format depends on all elements. Floats that are all integers print as "1."; others with four digits; in scientific notation if the
largest is over 1e8 or over 1000 times the smallest, or the smallest below 1e-4 (zeros, infinities and nan do not count). All have the same
width, and a tensor with more than 1000 elements only shows the first and last three along each dim.
"""

import math

import numpy as np

from .autograd.modes import THREAD
from .dtypes import ALL, Defaults

PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


class Options:
    """The options in force; see `set_printoptions`."""

    precision, threshold, edgeitems, linewidth, sci_mode = 4, 1000, 3, 80, None


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Set how tensors print (torch.set_printoptions).

    precision  digits after the point            threshold  more elements than this are summarized
    edgeitems  how many a summary shows at each end          linewidth  characters in a line
    profile    "default", "short" or "full"      sci_mode   True, False, or None to decide by the numbers
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in (PROFILES[profile] if profile else {}).items():
        setattr(Options, name, value)
    for name, value in given.items():
        if value is not None:
            setattr(Options, name, value)
    Options.sci_mode = sci_mode


def get_printoptions():
    """The options in force, as a dict for set_printoptions (torch.get_printoptions)."""
    return {
        name: getattr(Options, name)
        for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
    }


def formatter(values):
    """The function that writes one element of `values`, and the width it writes."""
    if values.dtype.kind != "f":
        width = max([len(str(v)) for v in values.tolist()], default=1)
        return lambda v: str(v).rjust(width), width
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    if not finite.size:
        return lambda v: f"{v:.0f}" + ("." if math.isfinite(v) else ""), 1
    sizes = np.abs(finite)
    low, high = sizes.min().item(), sizes.max().item()  # floats: NumPy warns where high / low is inf
    whole = bool((finite == np.ceil(finite)).all())
    if (
        Options.sci_mode
        if Options.sci_mode is not None
        else high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    ):
        text = lambda v: f"{v:.{Options.precision}e}"  # noqa: E731
    elif whole:
        text = lambda v: f"{v:.0f}" + ("." if math.isfinite(v) else "")  # noqa: E731
    else:
        text = lambda v: f"{v:.{Options.precision}f}"  # noqa: E731
    width = max([len(text(v)) for v in finite.tolist()])
    return lambda v: text(v).rjust(width), width


def shown(x):
    """The part of the array `x` that a summary shows."""
    edge = Options.edgeitems
    for d, n in enumerate(x.shape):
        if n > 2 * edge:
            x = np.take(x, [*range(edge), *range(n - edge, n)], axis=d)
    return x


def numbers_str(x, indent=0):
    """The elements of the array `x` in brackets; lines after the first are indented by `indent`."""
    if not x.size:
        return "[]"
    summarize = x.size > Options.threshold
    write, width = formatter((shown(x) if summarize else x).reshape(-1))
    return _rows(x, indent, summarize, write, width)


def _rows(x, indent, summarize, write, width):
    if not x.ndim:
        return write(x.item())
    edge, n = Options.edgeitems, len(x)
    cut = summarize and n > 2 * edge
    if x.ndim == 1:
        per_line = max(1, (Options.linewidth - indent) // (width + 2))
        if summarize and not edge:
            words = ["..."]
        elif cut:
            words = [*map(write, x[:edge].tolist()), " ...", *map(write, x[-edge:].tolist())]
        else:
            words = [write(v) for v in x.tolist()]
        lines = [", ".join(words[i : i + per_line]) for i in range(0, n if not cut else len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    picked = [*range(edge), *range(n - edge, n)] if cut else range(n)
    parts = [_rows(x[i], indent + 1, summarize, write, width) for i in picked]
    if cut:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (x.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def tensor_str(t, contents=None):
    """The text of `repr(t)`; `contents` replaces the numbers."""
    kind = type(t).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else f"{kind}("
    x = t._data if isinstance(t._data, np.ndarray) else np.asarray(t._data)
    suffixes = []
    if not x.size:
        if x.ndim != 1:
            suffixes.append(f"size={x.shape}")
        if x.dtype != Defaults.np:
            suffixes.append(f"dtype={ALL[x.dtype]!r}")
    else:
        if not Options.edgeitems:
            suffixes.append(f"size={x.shape}")
        if x.dtype not in (Defaults.np, np.int64, np.bool_):
            suffixes.append(f"dtype={ALL[x.dtype]!r}")
    try:
        fn = t.grad_fn
        name = fn and type(fn).__name__
        if name == "CppFunction":
            name = fn.name().rpartition("::")[2]
    except RuntimeError:  # a view made under no_grad whose base was written has no history to show
        name = "Invalid"
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    dual = THREAD.state.dual
    tangent = dual and dual.tangent(t)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = with_suffixes(
        prefix + (numbers_str(x, len(prefix)) if contents is None else contents), suffixes, len(prefix)
    )
    return f"Parameter({text})" if t.__dict__.get("_is_param") else text


def with_suffixes(text, suffixes, indent):
    """`text` followed by suffixes such as dtype=..., on a new line where the line would get too long."""
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > Options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
