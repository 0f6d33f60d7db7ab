"""The samples that PyTorch keeps to test its own operators, run through both libraries: numbers, gradients, and all around them.

PyTorch describes each operator by an OpInfo, which makes inputs of every shape and setting the operator knows. Some are Python
functions over `torch`; these are run again with this library in its place. Needs PyTorch and expecttest, which its test tools import.
"""

import importlib.util
import random
import types
import warnings
from functools import cache
from unittest import mock

import numpy as np
import pytest
from graphs import nested
from recorded import PREFIX

import autograd_lab
from autograd_lab.autograd.batch import batches_of
from tests.each import each

torch = pytest.importorskip("torch", reason="PyTorch is not installed: its samples are not there")
NEEDED = "PyTorch's samples need it: pip install expecttest"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("expecttest") is None, reason=NEEDED)


@cache
def database():
    """PyTorch's operators. Read by the first test that wants them: parallel workers would spend seconds on it as they collect."""
    # Importing PyTorch's test tools would forbid the rest of this process to set flags of torch.backends, which other tests do.
    with warnings.catch_warnings(), mock.patch("torch.backends.disable_global_flags"):
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.opinfo import core

    def seed(number=common_utils.SEED):
        """What torch.manual_seed and its kind do, but for asking for the stack each time, once for each kind of device."""
        torch.default_generator.manual_seed(number)
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002 - the samples draw from it

    for tools in (common_utils, core):
        # For each sample it reads the whole stack, 40 ms, to find a unittest.TestCase, and there is none.
        tools.extract_test_fn = lambda: None
    common_utils.set_rng_seed = seed  # called before each of 15,000 samples
    return op_db


MANY = 12
"""So many samples of each operator are run, spread over all of them."""

# -- what is not compared -----------------------------------------------------------------------------

ABSENT = [
    "bfloat16",
    "cdouble",
    "cfloat",
    "chalf",
    "jiterator_2inputs_2outputs",
    "jiterator_4inputs_with_extra_args",
    "jiterator_binary",
    "jiterator_binary_return_by_ref",
    "jiterator_unary",
    "nn.functional.linear_cross_entropy chunked",
    "nn.functional.linear_cross_entropy chunked_none",
    "max_pool2d_with_indices_backward",
    "pca_lowrank",
    "polar",
    "stft",
    "svd_lowrank",
    "to_sparse",
]
"""Written in Python in PyTorch, over operators or types that are not here; so are all of `masked` and `signal`."""

NOT_WRITTEN = "its numbers are whatever was in the memory"
SIGNS = "a vector and its opposite are both right"
REFUSED = "PyTorch has none"
TRANSPOSED = "the gradient of a weight is a convolution of transposed tensors there, and one step here"
FORMULA = "another formula for the second derivative, with the same numbers"
LAYOUT = "a result that lies otherwise in memory, so another step to reshape or multiply it"
DIFFERENT = {
    "as_strided_scatter": ("gradient", "PyTorch's keeps what was overwritten and drops the rest; see the derivative in ops/slicing.py"),
    "cdist": ("second", "PyTorch has none but by matrix products"),
    "cumprod": ("second-steps", "the sum of one column keeps its dim here until it is added"),
    "empty": ("numbers", NOT_WRITTEN),
    "empty_like": ("numbers", NOT_WRITTEN),
    "empty_permuted": ("numbers", NOT_WRITTEN),
    "empty_strided": ("numbers", NOT_WRITTEN),
    "grid_sampler_2d": ("second-steps", FORMULA),
    "grid_sampler_3d": ("second-steps", FORMULA),
    "linalg.eigh": ("numbers gradient second", SIGNS),
    "linalg.eigvalsh": ("second", "defined for symmetric matrices only, and the samples are not"),
    "linalg.householder_product": ("steps", "PyTorch multiplies by the inverses of reflections"),
    "linalg.lu_solve": ("second-steps", FORMULA),
    "linalg.solve_triangular": ("second-steps", LAYOUT),
    "linalg.svd": ("numbers gradient second", SIGNS),
    "nanquantile": ("second-steps", LAYOUT),
    "new_empty": ("numbers", NOT_WRITTEN),
    "new_empty_strided": ("numbers", NOT_WRITTEN),
    "nn.functional.batch_norm": ("second-steps", FORMULA),
    "nn.functional.conv1d": ("second-steps", TRANSPOSED),
    "nn.functional.conv2d": ("second-steps", TRANSPOSED),
    "nn.functional.conv3d": ("second-steps", TRANSPOSED),
    "nn.functional.conv_transpose1d": ("second-steps", TRANSPOSED),
    "nn.functional.conv_transpose2d": ("second-steps", TRANSPOSED),
    "nn.functional.conv_transpose3d": ("second-steps", TRANSPOSED),
    "nn.functional.ctc_loss": ("steps", "a node without a derivative has only the edges in use there"),
    "nn.functional.embedding_bag": ("second steps", "PyTorch has none for the weights of the samples"),
    "nn.functional.gelu": ("second-steps", FORMULA),
    "nn.functional.glu": ("second-steps", FORMULA),
    "nn.functional.grid_sample": ("second-steps", FORMULA),
    "nn.functional.group_norm": ("steps", "other steps in PyTorch, from the mean and the spread as results with a history"),
    "nn.functional.hardsigmoid": ("second steps", REFUSED),
    "nn.functional.instance_norm": ("second-steps", FORMULA),
    "nn.functional.layer_norm": ("second-steps", FORMULA),
    "nn.functional.linear_cross_entropy": ("second-steps", "the same gradients, added up in another order"),
    "nn.functional.mish": ("steps", "PyTorch's softplus is log1p(exp(x)), which overflows"),
    "nn.functional.multi_head_attention_forward": ("steps", "where key and value are one tensor, in another order"),
    "nn.functional.multi_margin_loss": ("second steps", REFUSED),
    "nn.functional.multilabel_margin_loss": ("second steps", REFUSED),
    "nn.functional.pdist": ("second", REFUSED),
    "nn.functional.scaled_dot_product_attention": ("second steps", "PyTorch's fused kernel has no second derivative"),
    "nn.functional.soft_margin_loss": ("second-steps", FORMULA),
    "quantile": ("second-steps", LAYOUT),
    "resize_": ("numbers", NOT_WRITTEN),
    "svd": ("numbers gradient second", SIGNS),
    "triangular_solve": ("second-steps", LAYOUT),
}  # fmt: skip
"""{operator: (which comparisons are left out, why)}."""

STRANGE = {
    "gather": "an empty index of uint8",
    "index_reduce": "rows of a 0-d tensor",
    "nn.functional.batch_norm": "a batch of no dims",
    "nn.functional.multi_margin_loss": "a score without dims",
    "nn.functional.multilabel_margin_loss": "a score without dims",
}
"""Operators with samples that this library refuses and PyTorch takes."""

# -- the same call in both libraries ------------------------------------------------------------------

DTYPES = {
    getattr(torch, name): getattr(autograd_lab, name)
    for name in ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
}


class UntranslatedError(Exception):
    """A sample holds something that is not here: a complex number, a sparse tensor."""


def memory_of(value):
    """A copy of all the memory that a tensor of PyTorch's is a part of."""
    count = value.untyped_storage().nbytes() // value.element_size()
    return value.detach().as_strided((count,), (1,), 0).clone()


def repeats_places(value):
    """Whether several elements of a tensor are one place in memory."""
    return (
        value.layout == torch.strided
        and value.numel() > value.untyped_storage().nbytes() // value.element_size()
    )


def translated(value, known):
    """The same arguments for this library; `known` gives each tensor its counterpart, so that shared ones stay shared."""
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            if value.layout != torch.strided or value.dtype not in DTYPES or value.is_meta:
                raise UntranslatedError
            if value.ndim > 64:  # more than NumPy has
                raise UntranslatedError
            if repeats_places(value):
                memory = autograd_lab.tensor(memory_of(value).numpy())
                t = memory.as_strided(tuple(value.shape), value.stride(), value.storage_offset())
                known[id(value)] = t, value
                return t
            t = autograd_lab.empty_strided(tuple(value.shape), value.stride(), dtype=DTYPES[value.dtype])
            t.copy_(autograd_lab.tensor(value.detach().contiguous().numpy().copy()))
            known[id(value)] = t.requires_grad_(value.requires_grad), value
        return known[id(value)][0]
    if isinstance(value, torch.dtype):
        if value not in DTYPES:
            raise UntranslatedError
        return DTYPES[value]
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(autograd_lab, str(value).partition(".")[2])
    if isinstance(value, torch.Size):
        return autograd_lab.Size(value)
    if isinstance(value, torch.device):
        return autograd_lab.device(str(value))
    if isinstance(value, complex):
        raise UntranslatedError
    if isinstance(value, slice):
        return slice(*[translated(v, known) for v in (value.start, value.stop, value.step)])
    if isinstance(value, (list, tuple)):
        return type(value)([translated(v, known) for v in value])
    if isinstance(value, dict):
        return {k: translated(v, known) for k, v in value.items()}
    if isinstance(value, torch.nn.Module):
        return translated_layer(value, known)
    return rewritten(value) if isinstance(value, types.FunctionType) else value


def translated_layer(layer, known):
    """The layer of this library that has everything in it that PyTorch's has."""
    own = object.__new__(getattr(autograd_lab.nn.modules, type(layer).__name__))
    for name, value in vars(layer).items():
        if name == "_parameters":
            value = {
                k: p
                if p is None
                else autograd_lab.nn.Parameter(translated(p, known).detach(), p.requires_grad)
                for k, p in value.items()
            }
        elif name == "_modules":
            value = {k: m if m is None else translated_layer(m, known) for k, m in value.items()}
        else:
            value = counterpart(value) if callable(value) else translated(value, known)
        vars(own)[name] = value
    return own


def copied(value, known):
    """The arguments with tensors of their own, so that what one sample writes is not seen in another."""
    if isinstance(value, torch.Tensor):
        if value.is_meta:
            return value
        if id(value) not in known and repeats_places(value):
            known[id(value)] = memory_of(value).as_strided(
                value.shape, value.stride(), value.storage_offset()
            )
        if id(value) not in known:
            t = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
            known[id(value)] = t.copy_(value.detach()).requires_grad_(value.requires_grad)
        return known[id(value)]
    if isinstance(value, dict):
        return {k: copied(v, known) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)([copied(v, known) for v in value])
    return value


class Call:
    """The arguments of a call, once for each library, and the tensors among them that want derivatives.

    Both draw the same random numbers from here on. Raises UntranslatedError.
    """

    def __init__(self, args, kwargs):
        known, copies = {}, {}
        self.args, self.kwargs = copied(tuple(args), copies), copied(dict(kwargs), copies)
        self.own_args, self.own_kwargs = translated(self.args, known), translated(self.kwargs, known)
        self.moving = [t for t in copies.values() if t.requires_grad]
        self.own_moving = [known[id(t)][0] for t in self.moving]
        torch.default_generator.manual_seed(0)
        autograd_lab.manual_seed(0)

    def outcomes(self, theirs, ours):
        """What the functions of the two libraries return, or raise: ((value, error), (value, error))."""
        return outcome(theirs, *self.args, **self.kwargs), outcome(ours, *self.own_args, **self.own_kwargs)


def calls(samples):
    """The calls that samples of an operator stand for, one at least."""
    untranslated = 0
    for sample in samples:
        try:
            call = Call((sample.input, *sample.args), sample.kwargs)
        except UntranslatedError:
            untranslated += 1
        else:
            yield call
    assert untranslated < len(samples), "nothing is compared"


def seeded(fn, *args, **kwargs):
    """What PyTorch's samples of random operators are wrapped in."""
    autograd_lab.manual_seed(42)
    return fn(*args, **kwargs)


def rewritten(fn, outer=()):
    """The same Python function with this library where it says torch; `outer` are the functions whose closures it stands in."""
    names = {"torch": autograd_lab, "F": autograd_lab.nn.functional, "wrapper_set_seed": seeded}
    space = {**fn.__globals__, **{k: v for k, v in names.items() if k in fn.__globals__}}
    cells = None
    if fn.__closure__:
        inside = [cell.cell_contents for cell in fn.__closure__]
        around = (*outer, fn)
        cells = tuple(
            [types.CellType(counterpart(v, around) if callable(v) and v not in around else v) for v in inside]
        )
    copy = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, cells)
    copy.__kwdefaults__ = fn.__kwdefaults__
    return copy


def found(holder, path):
    for name in path.split("."):
        holder = getattr(holder, name, None)
    return holder


def counterpart(fn, outer=()):
    """What this library has for a function of PyTorch's; the function itself if it is of neither."""
    name = getattr(fn, "__name__", "")
    for place in ("", "nn.functional", "linalg", "special", "Tensor"):
        theirs, mine = ((found(library, place) if place else library) for library in (torch, autograd_lab))
        if name and getattr(theirs, name, None) == fn and hasattr(mine, name):
            return getattr(mine, name)
    return rewritten(fn, outer) if isinstance(fn, types.FunctionType) else fn


def label(op):
    """The name of an operator and of its variant."""
    return f"{op.name} {op.variant_test_name}".strip()


def mine(op):
    """What this library has for an operator, None if it has nothing."""
    if {op.name, label(op)} & {*ABSENT} or op.name.startswith(("masked.", "signal.")):
        return None
    own = found(autograd_lab, op.name) or getattr(autograd_lab.Tensor, op.name, None)
    if found(torch, op.name) is op.op:
        return own
    fn = counterpart(op.op)
    return fn if fn is not op.op else own


@cache
def operators():
    """{name: operator} of those that are here."""
    return {label(op): op for op in database() if torch.float64 in op.dtypes and mine(op) is not None}


def test_most_of_pytorchs_operators_are_among_them():
    assert len(operators()) > 480


# -- the comparison -----------------------------------------------------------------------------------


def tensors(value):
    """The tensors in a result, in order."""
    if isinstance(value, (torch.Tensor, autograd_lab.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [t for part in value for t in tensors(part)]


def assert_close(a, b, what):
    x, y = a.detach().numpy(force=True), b.detach().numpy()
    assert x.shape == y.shape, what
    assert str(a.dtype) == str(b.dtype), what
    if x.dtype.kind != "f":
        assert np.array_equal(x, y), what
        return
    if np.array_equal(x, y):  # as most are; NumPy's own comparison takes twenty times as long to see it
        return
    tolerance = {"float64": 1e-7, "float32": 2e-3, "float16": 3e-2}[x.dtype.name]
    size = np.abs(x[np.isfinite(x)]).max(initial=1)
    np.testing.assert_allclose(y, x, rtol=tolerance, atol=tolerance / 10 * min(size, 1e6), err_msg=what)


def derivatives(library, outputs, inputs, again):
    """The gradients of weighted outputs by the inputs; None where there is no way. If wanted `again`, the weights can be moved too.

    Of a rule that is linear in g alone the steps would not show otherwise.
    """
    weights = np.random.default_rng(1)
    sent = []
    for y in outputs:
        numbers = weights.standard_normal(tuple(y.shape)).astype(str(y.dtype).partition(".")[2])
        sent.append(library.tensor(numbers, dtype=y.dtype, requires_grad=again))
    return library.autograd.grad(outputs, inputs, sent, allow_unused=True, create_graph=again)


def compare_derivatives(theirs, ours, their_inputs, our_inputs, left_out):
    pairs = [(a, b) for a, b in zip(theirs, ours, strict=True) if a.requires_grad]
    if not pairs or not their_inputs or "gradient" in left_out:
        return
    a = derivatives(torch, [a for a, _ in pairs], their_inputs, True)
    b = derivatives(autograd_lab, [b for _, b in pairs], our_inputs, True)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        assert (x is None) == (y is None), f"gradient {i}"
        if x is not None:
            assert_close(x, y, f"gradient {i}")
            if "steps" not in left_out:
                assert x.requires_grad == y.requires_grad, f"gradient {i}"
                assert nested(x.grad_fn) == nested(y.grad_fn), f"gradient {i}"
    pairs = [
        (x, y)
        for x, y in zip(a, b, strict=True)
        if x is not None and x.requires_grad and y.requires_grad and x.numel() < 5000
    ]
    if not pairs or "second" in left_out:
        return
    a = derivatives(torch, [x for x, _ in pairs], their_inputs, True)
    b = derivatives(autograd_lab, [y for _, y in pairs], our_inputs, True)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None:
            assert_close(x, y, f"second derivative {i}")
            if not {"steps", "second-steps"} & left_out:
                assert x.requires_grad == y.requires_grad, f"second derivative {i}"
                assert nested(x.grad_fn) == nested(y.grad_fn), f"second derivative {i}"
        else:  # no way, and a way that gives zeros, are the same
            assert not (x if y is None else y).any() if (x is None) != (y is None) else True, (
                f"second derivative {i}"
            )


def outcome(fn, *args, **kwargs):
    try:
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error


def compare(op, fn, call, left_out):
    (theirs, refused), (ours, error) = call.outcomes(op.op, fn)
    if refused is not None:
        assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
        return
    if error is not None:
        if op.name in STRANGE:
            return
        raise error
    theirs, ours = tensors(theirs), tensors(ours)
    assert len(theirs) == len(ours)
    for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if "shape" not in left_out:
            assert tuple(a.shape) == tuple(b.shape)
            assert str(a.dtype) == str(b.dtype)
            assert a.requires_grad == b.requires_grad
        assert nested(a.grad_fn) == nested(b.grad_fn)
        if not left_out & {"numbers", "shape"}:
            assert_close(a, b, f"result {i}")
    if not left_out & {"numbers", "shape"}:
        compare_derivatives(theirs, ours, call.moving, call.own_moving, left_out)


@pytest.mark.filterwarnings("ignore")
def test_samples():
    each(operators(), check_samples)


def check_samples(name):
    op = operators()[name]
    samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd))
    left_out = set(DIFFERENT.get(op.name, ("", ""))[0].split())
    for call in calls(samples[:: -(-len(samples) // MANY)]):
        compare(op, mine(op), call, left_out)


# -- forward mode -------------------------------------------------------------------------------------

OTHER_TANGENTS = {
    "cholesky_inverse": "PyTorch's is not the derivative",
    "nn.functional.max_unpool2d": "of places that repeat another element stays",
    "normal": "PyTorch fails over the shape of a mean that broadcasts",
    "triangular_solve": "PyTorch's forgets the transposition, and takes tangents outside of the triangle",
    "scatter_reduce": "PyTorch has none for products without the first operand",
}


def forward():
    """The operators of which tangents are compared."""
    return [
        n
        for n, op in operators().items()
        if op.supports_autograd
        and op.name not in {*OTHER_TANGENTS, *STRANGE}
        and "numbers" not in DIFFERENT.get(op.name, [""])[0]
    ]


def with_tangents(library, fn, args, kwargs, moving):
    """[(result, its tangent)] of a call in which the tensors `moving` have tangents."""
    numbers, ad = np.random.default_rng(1), library.autograd.forward_ad
    with ad.dual_level():
        duals = {}
        for t in moving:
            tangent = library.tensor(numbers.standard_normal(tuple(t.shape)), dtype=t.dtype)
            duals[id(t)] = ad.make_dual(t.detach(), tangent)

        def replaced(value):
            if type(value) in (list, tuple):
                return type(value)([replaced(v) for v in value])
            return (
                {k: replaced(v) for k, v in value.items()}
                if isinstance(value, dict)
                else duals.get(id(value), value)
            )

        return [ad.unpack_dual(t) for t in tensors(fn(*replaced(args), **replaced(kwargs)))]


@pytest.mark.filterwarnings("ignore")
def test_tangents():
    each(forward(), check_tangents)


def check_tangents(name):
    op = operators()[name]
    samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
    for call in calls(samples[:: -(-len(samples) // 6)]):
        theirs, refused = outcome(with_tangents, torch, op.op, call.args, call.kwargs, call.moving)
        ours, error = outcome(
            with_tangents, autograd_lab, mine(op), call.own_args, call.own_kwargs, call.own_moving
        )
        if refused is not None:
            assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
            assert first_words(error) == first_words(refused)
            continue
        if error is not None:
            raise error
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            if a.tangent is not None and b.tangent is not None:
                assert_close(a.tangent, b.tangent, f"tangent {i}")
            else:
                assert (
                    a.tangent is b.tangent is None
                    or not (a.tangent if b.tangent is None else b.tangent).any()
                )


# -- for each entry of a batch ------------------------------------------------------------------------

UNLIKE = {
    "addr": "a factor of 0",
    "as_strided partial_views": "PyTorch looks at the memory of the whole batch",
    "as_strided_scatter": "PyTorch has no rule for it",
    "column_stack": "PyTorch has no rule for it",
    "linalg.eigh": SIGNS,
    "linalg.lstsq grad_oriented": "what of the results is not asked for",
    "linalg.lstsq": "what of the results is not asked for",
    "linalg.matrix_rank": "PyTorch has no rule for its sum",
    "linalg.matrix_rank hermitian": "PyTorch has no rule for its sum",
    "linalg.norm": "of order 0 of nothing",
    "linalg.pinv": "of an empty batch of limits",
    "linalg.svd": SIGNS,
    "lu_unpack": "what of the results depends on which operand",
    "nn.functional.embedding": "the words of a weight that is shortened",
    "nn.functional.gaussian_nll_loss": "PyTorch branches on the variance, which is looked at here without a branch",
    "nn.functional.rrelu": "PyTorch has no rule for it",
    "resize_as_": "PyTorch takes the shape for a value",
    "svd": SIGNS,
    "tensor_split": "PyTorch has no rule for pieces that a tensor tells",
}
"""Operators whose batches are not compared, and why."""

NOT_ALIKE = ("required rank 4 tensor to use channels_last", "Vmap does not currently support same randomness")
"""What PyTorch says of a batch as a whole, or of draws that are the same for all entries, where a loop has no trouble."""


def for_each(library, fn, args, kwargs, given, dims):
    """(the results of vmap, whether each depends on the entry): of the tensors `given` those with a dim are two of a kind."""
    depends = []

    def one(*entries):
        put = dict(zip(map(id, given), entries, strict=True))

        def replaced(value):
            if isinstance(value, dict):
                return {k: replaced(v) for k, v in value.items()}
            if type(value) in (list, tuple):
                return type(value)([replaced(v) for v in value])
            return put.get(id(value), value)

        results = tuple(tensors(fn(*replaced(args), **replaced(kwargs))))
        if library is torch:
            depends[:] = map(torch._C._functorch.is_batchedtensor, results)
        else:
            depends[:] = [bool(batches_of((t,))) for t in results]
        return results

    inputs = [
        t.detach() if d is None else library.stack([t.detach(), t.detach()])
        for t, d in zip(given, dims, strict=True)
    ]
    return library.vmap(one, tuple(dims), randomness="same")(*inputs), depends


@pytest.mark.filterwarnings("ignore")
def test_batches():
    """Each operand as a batch, and all of them: the same results, of which the same depend on the entry; or the same refusal."""
    batched = [
        n
        for n, op in operators().items()
        if n not in UNLIKE and "numbers" not in DIFFERENT.get(op.name, [""])[0]
    ]
    each(batched, check_batches)


def check_batches(name):
    op = operators()[name]
    samples = list(op.sample_inputs("cpu", torch.float64))
    for call in calls(samples[:: -(-len(samples) // 3)]):
        given, own = tensors([call.args, call.kwargs]), tensors([call.own_args, call.own_kwargs])
        if len(given) != len(own) or len({*map(id, given)}) < len(given):
            continue
        alone = [[0 if k == i else None for k in range(len(given))] for i in range(min(2, len(given)))]
        for dims in [*alone, [0] * len(given)] if len(given) > 1 else alone:
            torch.default_generator.manual_seed(0)
            autograd_lab.manual_seed(0)
            theirs, refused = outcome(for_each, torch, op.op, call.args, call.kwargs, given, dims)
            ours, error = outcome(for_each, autograd_lab, mine(op), call.own_args, call.own_kwargs, own, dims)
            if refused is not None:
                if not str(refused).startswith(NOT_ALIKE):
                    assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
                continue
            if error is not None:
                raise error
            for i, (a, b) in enumerate(zip(theirs[0], ours[0], strict=True)):
                assert_close(a, b, f"result {i} of {dims}")
            if all(t.numel() for t in given):
                assert ours[1] == theirs[1], dims


NOT_EXACT = {
    "as_strided partial_views": "PyTorch looks at the memory of the whole batch",
    "as_strided_scatter": "PyTorch has no rule for it",
    "cov": "PyTorch looks whether the weights are all zero",
    "float": "it is added up in single precision",
    "logcumsumexp": "PyTorch's tangents are right to seven digits",
    "logit": "PyTorch gives nan at the ends",
    "nn.functional.gaussian_nll_loss": "PyTorch branches on the variance, which is looked at here without a branch",
    "nn.functional.max_unpool3d": OTHER_TANGENTS["nn.functional.max_unpool2d"],
    "nn.functional.rrelu": "PyTorch has no rule for it",
    "tensor_split": "PyTorch has no rule for pieces that a tensor tells",
}
"""Operators whose derivatives are not compared in batches, beside those of which the tangents differ, and why."""

NO_WAY = ("Trying to use forward AD", "derivative for", "vmap: It looks like you're either (1)")
"""What PyTorch says where it has no derivative that a batch can go through."""


def derived_for_each(library, kind, fn, args, kwargs, given, moving):
    """What vmap makes of a derivative of a weighted sum of the results, by the tensors `moving`; all the others are batches too."""
    places = [i for i, t in enumerate(given) if any(t is m for m in moving)]

    def total(inputs, entries):
        put = dict(zip(map(id, given), entries, strict=True))
        put.update((id(given[i]), x) for i, x in zip(places, inputs, strict=True))

        def replaced(value):
            if isinstance(value, dict):
                return {k: replaced(v) for k, v in value.items()}
            if type(value) in (list, tuple):
                return type(value)([replaced(v) for v in value])
            return put.get(id(value), value)

        numbers, result = np.random.default_rng(1), library.zeros((), dtype=library.float64)
        for y in tensors(fn(*replaced(args), **replaced(kwargs))):
            if y.is_floating_point():
                result = (
                    result
                    + (y * library.tensor(numbers.standard_normal(tuple(y.shape)), dtype=y.dtype)).sum()
                )
        return result

    def one(*entries):
        inputs = tuple([entries[i] for i in places])
        if kind == "jvp":
            return library.func.jvp(
                lambda *xs: total(xs, entries), inputs, tuple([x * 0 + 1 for x in inputs])
            )
        return library.func.grad(total)(inputs, entries)

    batches = [library.stack([t.detach(), t.detach() * 1.01 if t.is_floating_point() else t]) for t in given]
    return tensors(library.vmap(one, randomness="same")(*batches))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["grad", "jvp"])
def test_derivatives_of_batches(kind):
    each([n for n in forward() if n not in NOT_EXACT], check_derivatives_of_batches, kind)


def check_derivatives_of_batches(name, kind):
    op = operators()[name]
    samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
    for call in calls(samples[:: -(-len(samples) // 2)]):
        given, own = tensors([call.args, call.kwargs]), tensors([call.own_args, call.own_kwargs])
        if not call.moving or len(given) != len(own) or len({*map(id, given)}) < len(given):
            continue
        theirs, refused = outcome(
            derived_for_each, torch, kind, op.op, call.args, call.kwargs, given, call.moving
        )
        ours, error = outcome(
            derived_for_each,
            autograd_lab,
            kind,
            mine(op),
            call.own_args,
            call.own_kwargs,
            own,
            call.own_moving,
        )
        if refused is not None:
            if not str(refused).startswith((*NOT_ALIKE, *NO_WAY)):
                assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
            continue
        if error is not None:
            raise error
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            assert_close(a, b, f"derivative {i}")


# -- what PyTorch refuses -----------------------------------------------------------------------------


@cache
def refusing():
    """{name: operator} for which PyTorch keeps inputs that they must refuse; of Python's operators the words are Python's."""
    return {
        label(op): op
        for op in database()
        if op.error_inputs_func is not None and mine(op) is not None and not op.name.startswith("__")
        if [*op.error_inputs("cpu")]  # some must be refused on other devices only
    }


OTHER_REASONS = ("Trying to resize storage that is not resizable", "multinomial expects Long tensor out")
"""What is said of memory that belongs to NumPy, which here all memory does; and of a sample whose numbers, looked at first here, are
whatever was in the memory (the message is compared in test_misfits.py)."""


def test_many_operators_have_inputs_to_refuse():
    assert len(refusing()) > 100


@pytest.mark.filterwarnings("ignore")
def test_errors():
    each(refusing(), check_errors)


def check_errors(name):
    op = refusing()[name]
    for call in calls([case.sample_input for case in op.error_inputs("cpu")]):
        (_, refused), (_, error) = call.outcomes(op.op, mine(op))
        if refused is None or str(refused).startswith(OTHER_REASONS):
            continue
        assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
        assert first_words(error) == first_words(refused)


def first_words(error):
    return str(error).partition("\n")[0][:PREFIX]
