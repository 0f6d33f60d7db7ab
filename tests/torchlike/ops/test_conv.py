"""Convolution, pooling, padding, normalization, embedding: values, graphs, gradients and second derivatives."""

import itertools

import numpy as np
import pytest
from helpers import Op, array, check_differences, check_like_pytorch

import autograd_lab
from tests.each import each


def f(name, *shapes, low=-1.0, high=1.0, second=True, tolerance=1e-9, **settings):
    """One function of nn.functional, with settings."""
    title = f"{name} {' '.join(f'{k}={v}' for k, v in settings.items())} {shapes}"
    return Op(
        title,
        lambda torch, *ts: getattr(torch.nn.functional, name)(*ts, **settings),
        list(shapes),
        low,
        high,
        second,
        None,
        tolerance,
    )


SPREAD = [0, 2, 4, 7, 9, 11, 1, 3, 5, 6, 8, 10]
"""Places for unpooling, each named once."""


def fractional(torch, x, nd):
    """Fractional pooling at places that are always the same."""
    samples = torch.linspace(0.1, 0.9, x.shape[0] * x.shape[1] * nd, dtype=torch.float64)
    pool = getattr(torch.nn.functional, f"fractional_max_pool{nd}d")
    return pool(x, 2, 3, _random_samples=samples.view(x.shape[0], x.shape[1], nd))


CONVOLUTIONS = [
    f("conv1d", (2, 3, 7), (4, 3, 3), (4,)), f("conv1d", (2, 3, 7), (4, 3, 3), stride=2, padding=1), f("conv1d", (2, 4, 7), (6, 2, 3), (6,), groups=2, dilation=2),
    f("conv1d", (3, 7), (4, 3, 2)), f("conv2d", (2, 3, 5, 6), (4, 3, 3, 2), (4,)), f("conv2d", (2, 3, 5, 6), (4, 3, 3, 2), stride=(2, 3), padding=(1, 2)),
    f("conv2d", (2, 4, 6, 5), (6, 2, 2, 3), (6,), groups=2, dilation=(2, 1), padding=1), f("conv2d", (1, 4, 4, 4), (4, 1, 3, 3), groups=4),
    f("conv2d", (2, 3, 7, 6), (4, 3, 3, 5), padding="same"), f("conv2d", (2, 3, 5, 6), (4, 3, 3, 2), padding="valid"), f("conv2d", (3, 5, 6), (4, 3, 3, 2), (4,)),
    f("conv2d", (2, 3, 5, 6), (4, 3, 1, 1)), f("conv2d", (2, 3, 6, 6), (4, 3, 3, 3), stride=4), f("conv2d", (0, 3, 5, 6), (4, 3, 3, 2), second=False),
    f("conv3d", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (2,)), f("conv_transpose1d", (2, 3, 4), (3, 4, 3), (4,), stride=2, padding=1, output_padding=1),
    f("conv_transpose2d", (2, 3, 4, 3), (3, 4, 3, 2), (4,)), f("conv_transpose2d", (2, 4, 4, 3), (4, 3, 3, 2), stride=2, padding=1, groups=2),
]  # fmt: skip

POOLS = [
    f("max_pool1d", (2, 3, 7), kernel_size=2), f("max_pool2d", (2, 3, 7, 6), kernel_size=2), f("max_pool2d", (2, 3, 7, 6), kernel_size=(3, 2), stride=1, padding=1),
    f("max_pool2d", (2, 3, 7, 6), kernel_size=2, stride=2, ceil_mode=True), f("max_pool2d", (2, 3, 7, 6), kernel_size=2, dilation=2, stride=1), f("max_pool2d", (3, 7, 6), kernel_size=3),
    f("max_pool2d", (2, 3, 5, 5), kernel_size=3, stride=2, padding=1, ceil_mode=True), f("avg_pool1d", (2, 3, 7), kernel_size=2), f("avg_pool2d", (2, 3, 7, 6), kernel_size=2),
    f("avg_pool2d", (2, 3, 7, 6), kernel_size=(3, 2), stride=2, padding=1), f("avg_pool2d", (2, 3, 7, 6), kernel_size=3, stride=2, padding=1, count_include_pad=False),
    f("avg_pool2d", (2, 3, 7, 6), kernel_size=3, stride=2, padding=1, ceil_mode=True), f("avg_pool2d", (2, 3, 7, 6), kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    f("avg_pool2d", (3, 7, 6), kernel_size=2, divisor_override=3), f("adaptive_avg_pool2d", (2, 3, 7, 6), output_size=(2, 4)), f("adaptive_avg_pool2d", (2, 3, 7, 6), output_size=1),
    f("adaptive_avg_pool2d", (3, 7, 6), output_size=(3, None)), f("adaptive_avg_pool1d", (2, 3, 7), output_size=3), f("adaptive_max_pool2d", (2, 3, 7, 6), output_size=(2, 4)),
    f("adaptive_max_pool1d", (2, 3, 7), output_size=3), f("unfold", (2, 3, 5, 6), kernel_size=(3, 2), dilation=(1, 2), padding=1, stride=2), f("unfold", (2, 3, 5, 6), kernel_size=2),
    f("fold", (2, 12, 20), output_size=(5, 6), kernel_size=2), f("fold", (2, 12, 12), output_size=(5, 6), kernel_size=2, padding=1, stride=2),
    f("lp_pool1d", (2, 3, 4), norm_type=2, kernel_size=2, low=0.2), f("lp_pool3d", (1, 2, 4, 4, 4), norm_type=3, kernel_size=2, low=0.2),
    Op("fractional_max_pool2d", lambda torch, x: fractional(torch, x, 2), [(2, 3, 7, 6)]), Op("fractional_max_pool3d", lambda torch, x: fractional(torch, x, 3), [(1, 2, 5, 6, 5)]),
    Op("max_unpool2d", lambda torch, x: torch.nn.functional.max_unpool2d(x, torch.tensor(SPREAD).view(2, 1, 2, 3), (2, 1)), [(2, 1, 2, 3)]),
    Op("max_unpool1d", lambda torch, x: torch.nn.functional.max_unpool1d(x, torch.tensor(SPREAD).view(2, 1, 6), 2), [(2, 1, 6)]),
    Op("max_unpool3d", lambda torch, x: torch.nn.functional.max_unpool3d(x, torch.tensor(SPREAD).view(2, 1, 2, 3, 1), 2), [(2, 1, 2, 3, 1)]),
    Op("conv_tbc", lambda torch, x, w, b: torch.conv_tbc(x, w, b, 1), [(5, 2, 3), (2, 3, 4), (4,)], skip=("edges",)),
    *[
        Op(f"{mode} antialias", lambda torch, x, mode=mode: torch.nn.functional.interpolate(x, (3, 9), mode=mode, antialias=True), [(1, 2, 7, 6)], skip=("saved",))
        for mode in ("bilinear", "bicubic", "lanczos")
    ],
    f("lp_pool2d", (2, 3, 4, 4), norm_type=2, kernel_size=2, low=0.2), f("max_pool3d", (1, 2, 4, 4, 4), kernel_size=2), f("avg_pool3d", (1, 2, 4, 4, 5), kernel_size=2),
]  # fmt: skip

PADS = [
    f("pad", (2, 3), pad=(1, 2)), f("pad", (2, 3), pad=(1, 2, 0, 3), value=5.0), f("pad", (2, 3), pad=(-1, 2)), f("pad", (2, 3, 4), pad=(-1, -1, 2, -1)),
    f("pad", (2, 3, 7), pad=(1, 2), mode="reflect"), f("pad", (2, 3, 7), pad=(3, 2), mode="replicate"), f("pad", (2, 3, 4, 5), pad=(1, 2, 3, 1), mode="reflect"),
    f("pad", (2, 3, 4, 5), pad=(1, 2, 3, 1), mode="replicate"),
]  # fmt: skip

NORMS = [
    Op("CrossMapLRN2d", lambda torch, x: torch.nn.CrossMapLRN2d(3, 0.4, 0.6, 1.3)(x), [(2, 5, 2, 3)]),
    Op("layer_norm", lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    Op("layer_norm 2", lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (2, 3), w, b, 0.1), [(4, 2, 3), (2, 3), (2, 3)]),
    Op("layer_norm plain", lambda torch, x: torch.nn.functional.layer_norm(x, (4,)), [(2, 4)]),
    Op("layer_norm all", lambda torch, x, w: torch.nn.functional.layer_norm(x, (2, 3), w), [(2, 3), (2, 3)]),
    Op("rms_norm", lambda torch, x, w: torch.nn.functional.rms_norm(x, (3,), w, 0.1), [(2, 3), (3,)]),
    Op("batch_norm", lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True, eps=0.1), [(4, 3), (3,), (3,)]),
    Op("batch_norm 4", lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True, eps=0.1), [(2, 3, 2, 2), (3,), (3,)]),
    Op("batch_norm plain", lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True), [(4, 3, 2)]),
    Op("batch_norm eval", lambda torch, x, w, b: torch.nn.functional.batch_norm(x, torch.full((3,), 0.3, dtype=torch.float64), torch.full((3,), 1.7, dtype=torch.float64), w, b), [(4, 3), (3,), (3,)]),
    Op("group_norm", lambda torch, x, w, b: torch.nn.functional.group_norm(x, 3, w, b, 0.1), [(2, 6, 4), (6,), (6,)]),
    Op("group_norm plain", lambda torch, x: torch.nn.functional.group_norm(x, 2), [(2, 4, 3, 2)]),
    Op("instance_norm", lambda torch, x, w, b: torch.nn.functional.instance_norm(x, weight=w, bias=b, eps=0.1), [(2, 3, 4), (3,), (3,)]),
    f("instance_norm", (2, 3, 4)), f("local_response_norm", (2, 3, 4), size=2), f("local_response_norm", (2, 3, 4, 2), size=3),
]  # fmt: skip

INDEX = np.array([[0, 2, 0], [3, 2, 2]])

LOOKUPS = [
    Op("embedding", lambda torch, w: torch.nn.functional.embedding(torch.tensor(INDEX), w), [(4, 3)]),
    Op("embedding padding", lambda torch, w: torch.nn.functional.embedding(torch.tensor(INDEX), w, padding_idx=2), [(4, 3)]),
    Op("embedding frequency", lambda torch, w: torch.nn.functional.embedding(torch.tensor(INDEX), w, scale_grad_by_freq=True), [(4, 3)], second=False),
    Op("embedding one", lambda torch, w: torch.nn.functional.embedding(torch.tensor(1), w), [(4, 3)]),
    Op("bilinear", lambda torch, x, y, w, b: torch.nn.functional.bilinear(x, y, w, b), [(2, 3), (2, 4), (5, 3, 4), (5,)]),
]  # fmt: skip

SAMPLINGS = [
    *[
        f("grid_sample", (2, 3, 4, 5), (2, 3, 2, 2), low=-1.7, high=1.7, mode=mode, padding_mode=padding, align_corners=align)
        for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for align in (False, True)
    ],
    f("grid_sample", (1, 2, 3, 2, 4), (1, 2, 2, 1, 3), low=-1.3, high=1.3, align_corners=False),
    f("grid_sample", (1, 2, 3, 2, 4), (1, 2, 2, 1, 3), low=-1.3, high=1.3, padding_mode="reflection", align_corners=True),
    f("grid_sample", (1, 2, 3, 2, 4), (1, 2, 2, 1, 3), low=-1.3, high=1.3, mode="nearest", padding_mode="border", align_corners=True),
    f("affine_grid", (2, 2, 3), size=(2, 1, 3, 4), align_corners=False), f("affine_grid", (2, 2, 3), size=(2, 1, 3, 4), align_corners=True),
    f("affine_grid", (2, 3, 4), size=(2, 1, 3, 1, 4), align_corners=False),
    Op("grid_sample of affine_grid", lambda torch, x, theta: torch.nn.functional.grid_sample(
        x, torch.nn.functional.affine_grid(theta, (1, 2, 3, 4), False), align_corners=False), [(1, 2, 5, 4), (1, 2, 3)]),
]  # fmt: skip

ALL = CONVOLUTIONS + POOLS + PADS + NORMS + LOOKUPS + SAMPLINGS

# At equal numbers, PyTorch's graph differs where it uses a fused kernel; and it saves a mean and a spread of its own.
OTHER_EDGES = {
    "group_norm",
    "group_norm plain",
    "bilinear",
    "local_response_norm",
}


NO_DERIVATIVE = {"embedding padding", "embedding frequency"}
"""PyTorch's gradient is not the derivative here, on purpose."""

OTHER_GRADIENT = {"CrossMapLRN2d"}
"""PyTorch's gradient is not the derivative, and has none itself."""


def test_derivatives_agree_with_central_differences():
    each([op for op in ALL if op.name not in NO_DERIVATIVE], check_differences)


def test_live_pytorch_does_the_same():
    torch = pytest.importorskip("torch")
    others = [op for op in ALL if op.name.split(" size=")[0] in OTHER_EDGES]
    each(others, check_like_pytorch, torch, {"saved", "edges"})
    each([op for op in ALL if op not in others and op.name not in OTHER_GRADIENT], check_like_pytorch, torch)


def test_batch_norm_moves_its_running_statistics():
    torch = autograd_lab
    mean, var = torch.zeros(2), torch.ones(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    torch.nn.functional.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert mean.tolist() == [1.0, 2.0]
    assert var.tolist() == [1.5, 4.5]


def test_max_pool_tells_where_the_winners_stood():
    torch = autograd_lab
    x = torch.tensor([[[[1.0, 5.0], [3.0, 2.0]], [[0.0, 1.0], [2.0, 9.0]]]])
    y, where = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    assert (y.tolist(), where.tolist()) == ([[[[5.0]], [[9.0]]]], [[[[1]], [[3]]]])


def test_dropout_keeps_the_mean_and_lets_gradients_through_where_it_kept():
    torch = autograd_lab
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert set(np.unique(y.detach().numpy()).round(5)) == {0.0, np.float32(1 / 0.75).round(5)}
    assert abs(y.detach().numpy().mean() - 1) < 0.1
    assert (x.grad.numpy() == y.detach().numpy()).all()
    assert torch.nn.functional.dropout(x, 0.25, training=False) is x
    assert y.grad_fn.name() == "MulBackward0"


MESSAGES = {
    "F.conv2d(o(2, 3, 4, 4), o(2, 4, 3, 3))": "Given groups=1, weight of size [2, 4, 3, 3], expected input[2, 3, 4, 4] to have 4 channels",
    "F.conv2d(o(2, 3, 2, 2), o(2, 3, 3, 3))": "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3).",
    "F.conv2d(o(3, 4), o(2, 3, 3, 3))": "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3, 4]",
    "F.conv2d(o(2, 3, 4, 4), o(2, 3, 3, 3), padding='same', stride=2)": "padding='same' is not supported for strided convolutions",
    "F.max_pool2d(o(2, 3, 4, 4), 5)": "Given input size: (3x4x4). Calculated output size: (3x0x0). Output size is too small",
    "F.max_pool2d(o(2, 3, 4, 4), 2, padding=2)": "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2",
    "F.layer_norm(o(2, 3), (2,))": "Given normalized_shape=[2], expected input with shape [*, 2], but got input of size[2, 3]",
    "F.batch_norm(o(2, 3), None, None)": "running_mean must be defined in evaluation mode",
    "F.group_norm(o(2, 3), 2)": "Expected number of channels in input to be divisible by num_groups",
    "F.embedding(o(2), o(2, 3))": "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int;",
    "F.one_hot(z(2) + 3, 2)": "Class values must be smaller than num_classes.",
    "F.pad(o(2, 3), (1,))": "Padding length must be divisible by 2",
    "F.grid_sample(o(1, 1, 2, 2), o(2, 2, 2, 2), align_corners=True)": "grid_sampler(): expected grid and input to have same batch size, but got",
    "F.grid_sample(o(1, 1, 2, 2), o(1, 2, 2, 3), align_corners=True)": "grid_sampler(): expected grid to have size 2 in last dimension, but got",
    "F.grid_sample(o(1, 1, 2, 2), o(1, 2, 2), align_corners=True)": "grid_sampler(): expected 4D input and grid with same number of dimensions",
    "F.grid_sample(o(1, 1, 0, 2), o(1, 2, 2, 2), align_corners=True)": "grid_sampler(): expected input to have non-empty spatial dimensions",
    "F.grid_sample(o(1, 1, 2, 2), o(1, 2, 2, 2).double(), align_corners=True)": "expected scalar type Float but found Double",
    "F.grid_sample(z(1, 1, 2, 2), o(1, 2, 2, 2), align_corners=True)": "\"grid_sampler_2d_cpu_kernel_impl\" not implemented for 'Long'",
    "F.grid_sample(o(1, 1, 2, 2, 2), o(1, 2, 2, 2, 3), 'bicubic', align_corners=True)": "grid_sampler(): bicubic interpolation only supports 4D",
    "F.affine_grid(o(1, 2, 3), (2, 1, 2, 2), True)": "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [1, 3].",
    "F.affine_grid(o(1, 2, 3), (1, 1, 2), True)": "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms",
}  # fmt: skip


VALUE_ERRORS = {
    "F.grid_sample(o(1, 1, 2, 2), o(1, 2, 2, 2), 'x')": "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic'",
    "F.grid_sample(o(1, 1, 2, 2), o(1, 2, 2, 2), padding_mode='x')": "nn.functional.grid_sample(): expected padding_mode to be 'zeros',",
    "F.affine_grid(o(1, 2, 3).long(), (1, 1, 2, 2), True)": "Expected theta to have floating point type, but got torch.int64",
    "F.affine_grid(o(1, 3, 3), (1, 1, 2, 2), True)": "Expected a batch of 2D affine matrices of shape Nx2x3 for size (1, 1, 2, 2). Got",
    "F.affine_grid(o(1, 2, 3), (1, 1, 2, 2, 2), True)": "Expected a batch of 3D affine matrices of shape Nx3x4 for size (1, 1, 2, 2, 2). Got",
    "F.affine_grid(o(1, 2, 3), (1, 1, 2, 0), True)": "Expected non-zero, positive output size. Got (1, 1, 2, 0)",
}  # fmt: skip


@pytest.mark.parametrize("code", MESSAGES | VALUE_ERRORS)
def test_misuse_says_what_pytorch_says(code):
    torch = autograd_lab
    names = {"F": torch.nn.functional, "o": torch.ones, "z": lambda *s: torch.zeros(*s, dtype=torch.int64)}
    with pytest.raises(ValueError if code in VALUE_ERRORS else RuntimeError) as raised:
        eval(code, names)
    assert str(raised.value).startswith((MESSAGES | VALUE_ERRORS)[code])


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear", "nearest-exact"])
def test_interpolation_has_derivatives_of_any_order(mode):
    shape = {"linear": (2, 3, 5), "trilinear": (1, 2, 3, 2, 4)}.get(mode, (1, 2, 3, 4))
    size = (5, 2, 7)[: len(shape) - 2]
    x = autograd_lab.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)

    def enlarged(t):
        return autograd_lab.nn.functional.interpolate(t, size, mode=mode)

    assert autograd_lab.autograd.gradcheck(enlarged, (x,))
    assert autograd_lab.autograd.gradgradcheck(enlarged, (x,))
    with pytest.raises(ValueError, match="only one of size or scale_factor"):
        autograd_lab.nn.functional.interpolate(x, size, 2.0, mode)


def test_corners_left_unsaid_and_grids_of_one_place_are_warned_of():
    F = autograd_lab.nn.functional
    theta = autograd_lab.ones(1, 2, 3)
    with pytest.warns(
        UserWarning, match="Default grid_sample and affine_grid behavior has changed to align_corners=False"
    ):
        unsaid = F.affine_grid(theta, (1, 1, 2, 3))
    assert unsaid.tolist() == F.affine_grid(theta, (1, 1, 2, 3), False).tolist()
    with pytest.warns(
        UserWarning, match="Default grid_sample and affine_grid behavior has changed to align_corners=False"
    ):
        F.grid_sample(autograd_lab.ones(1, 1, 2, 2), unsaid)
    with pytest.warns(
        UserWarning, match="affine_grid behavior has changed for unit-size grids when align_corners=True"
    ):
        F.affine_grid(theta, (1, 1, 2, 1), True)


def test_a_grid_far_away_or_not_a_number_is_no_error():
    x = autograd_lab.arange(12.0).reshape(1, 1, 3, 4)
    grid = autograd_lab.tensor([[[[float("nan"), 0.3], [float("inf"), 0.3], [-1e30, 0.3], [1e30, 0.3]]]])

    def sampled(*modes):
        return autograd_lab.nn.functional.grid_sample(x, grid, *modes, align_corners=True).flatten().tolist()

    assert np.isnan(sampled("bilinear", "zeros")[:2]).all()
    assert sampled("bilinear", "zeros")[2:] == [0, 0]
    assert sampled("nearest", "border") == [4, 7, 4, 7]
    assert np.isfinite(sampled("bilinear", "reflection")).all()


def sampled_with_gradients(torch, x, grid, *settings):
    """A sampling, its gradients, and the gradients of their squares."""
    x, grid = (torch.tensor(a, requires_grad=True) for a in (x, grid))
    y = torch.nn.functional.grid_sample(x, grid, *settings)
    g = torch.tensor(
        np.linspace(0.5, 1.5, y.numel()).reshape(tuple(y.shape)), dtype=x.dtype, requires_grad=True
    )
    first = torch.autograd.grad(y, (x, grid), g, create_graph=True)
    squares = sum((t**2).sum() for t in first)
    second = torch.autograd.grad(squares, (x, grid, g), allow_unused=True)
    return [array(t.detach()) if t is not None else None for t in (y, *first, *second)]


def sampling_cases():
    """All modes, paddings and corners, in two and three dims, at random places and right on edges and middles."""
    rng = np.random.default_rng(0)
    modes = itertools.product(
        (2, 3), ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
    for nd, *settings in modes:
        if nd == 3 and settings[0] == "bicubic":
            continue
        for dtype, exact in itertools.product((np.float32, np.float64), (False, True)):
            size, out = rng.integers(1, 6, nd), rng.integers(1, 5, nd)
            x = rng.normal(size=(2, 3, *size)).astype(dtype)
            grid = rng.uniform(-2.3, 2.3, (2, *out, nd))
            if exact:
                grid = rng.choice([-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3], grid.shape)
            yield x, grid.astype(dtype), *settings


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_live_pytorch_samples_alike_inside_outside_and_on_edges(mode):
    torch = pytest.importorskip("torch")
    count = 0
    for x, grid, *settings in sampling_cases():
        if settings[0] != mode:
            continue
        ours, theirs = (sampled_with_gradients(lib, x, grid, *settings) for lib in (autograd_lab, torch))
        tolerance = 1e-12 if x.dtype == np.float64 else 2e-5
        for mine, wanted in zip(ours, theirs, strict=True):
            assert (mine is None) == (wanted is None)
            if mine is not None:
                assert mine.dtype == wanted.dtype
                scale = max(1, np.abs(wanted).max(initial=0))
                np.testing.assert_allclose(
                    mine, wanted, rtol=0, atol=tolerance * scale, err_msg=str((x.shape, settings))
                )
        count += 1
    assert count == {"bilinear": 48, "nearest": 48, "bicubic": 24}[mode]
