"""Losses: values, graphs, gradients and second derivatives."""

import itertools
import warnings

import numpy as np
import pytest
from helpers import Op, array, check_differences, check_like_pytorch

import autograd_lab
from tests.each import each

REDUCTIONS = ("mean", "sum", "none")


# PyTorch cannot differentiate the gradient of these at all, nor do we.
FIRST_ORDER = {
    "multi_margin_loss",
    "multi_margin p2",
    "multi_margin 1d",
    "multilabel_margin_loss",
    "multilabel_margin 1d",
}


def loss(name, *shapes, fn=None, low=-1.0, high=1.0, **settings):
    """One loss of nn.functional in its three reductions."""

    def make(reduction):
        def call(torch, *ts):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if fn is not None:
                    return fn(torch.nn.functional, torch, reduction, *ts)
                return getattr(torch.nn.functional, name)(*ts, reduction=reduction, **settings)

        return call

    title = f"{name} {settings or ''} {shapes}"
    second = name not in FIRST_ORDER
    return [Op(f"{title} {r}", make(r), list(shapes), low, high, second=second) for r in REDUCTIONS]


def classes(torch, n, count, *rest):
    """Fixed class numbers in the shape (n, *rest)."""
    return torch.tensor((np.arange(n * int(np.prod(rest, dtype=int))) * 7 % count).reshape((n, *rest)))


def signs(torch, x):
    """A constant of -1 and 1 in the shape of x."""
    n = x.numel()
    return torch.tensor((np.arange(n) % 2 * 2.0 - 1).reshape(tuple(x.shape)), dtype=torch.float64)


def weights(torch, n):
    return torch.tensor(np.linspace(0.5, 2, n))


LABELS = [[0, 2, -1, 1], [3, -1, 0, 0], [1, 1, 2, -1]]  # a row ends at its first -1

ALL = [
    *loss("mse_loss", (2, 3), (2, 3)), *loss("mse_loss", (), ()), *loss("l1_loss", (2, 3), (2, 3)),
    *loss("smooth_l1_loss", (2, 3), (2, 3)), *loss("smooth_l1_loss", (2, 3), (2, 3), beta=0.3), *loss("smooth_l1_loss", (2, 3), (2, 3), beta=0.0),
    *loss("huber_loss", (2, 3), (2, 3)), *loss("huber_loss", (2, 3), (2, 3), delta=0.3),
    *loss("kl_div", (2, 3), (2, 3), low=0.1), *loss("kl_div", (2, 3), (2, 3), log_target=True),
    *loss("binary_cross_entropy", (2, 3), (2, 3), low=0.1, high=0.9),
    *loss("bce weight", (2, 3), (2, 3), low=0.1, high=0.9, fn=lambda F, torch, r, x, t: F.binary_cross_entropy(x, t, weights(torch, 3), reduction=r)),
    *loss("binary_cross_entropy_with_logits", (2, 3), (2, 3)),
    *loss("bcel pos_weight", (2, 3), (2, 3), fn=lambda F, torch, r, x, t: F.binary_cross_entropy_with_logits(x, t, weights(torch, 3), pos_weight=weights(torch, 3) * 2, reduction=r)),
    *loss("nll_loss", (4, 3), fn=lambda F, torch, r, x: F.nll_loss(x, classes(torch, 4, 3), reduction=r)),
    *loss("nll weight", (4, 3), fn=lambda F, torch, r, x: F.nll_loss(x, classes(torch, 4, 3), weights(torch, 3), reduction=r)),
    *loss("nll ignore", (4, 3), fn=lambda F, torch, r, x: F.nll_loss(x, classes(torch, 4, 3), ignore_index=1, reduction=r)),
    *loss("nll 1d", (3,), fn=lambda F, torch, r, x: F.nll_loss(x, torch.tensor(2), reduction=r)),
    *loss("nll 4d", (2, 3, 2, 4), fn=lambda F, torch, r, x: F.nll_loss(x, classes(torch, 2, 3, 2, 4), weights(torch, 3), reduction=r)),
    *loss("nll 3d", (2, 3, 4), fn=lambda F, torch, r, x: F.nll_loss(x, classes(torch, 2, 3, 4), reduction=r)),
    *loss("cross_entropy", (4, 3), fn=lambda F, torch, r, x: F.cross_entropy(x, classes(torch, 4, 3), reduction=r)),
    *loss("ce 1d", (3,), fn=lambda F, torch, r, x: F.cross_entropy(x, torch.tensor(1), reduction=r)),
    *loss("ce weight ignore", (4, 3), fn=lambda F, torch, r, x: F.cross_entropy(x, classes(torch, 4, 3), weights(torch, 3), ignore_index=0, reduction=r)),
    *loss("ce smooth", (4, 3), fn=lambda F, torch, r, x: F.cross_entropy(x, classes(torch, 4, 3), label_smoothing=0.2, reduction=r)),
    *loss("ce smooth weight", (4, 3), fn=lambda F, torch, r, x: F.cross_entropy(x, classes(torch, 4, 3), weights(torch, 3), ignore_index=1, label_smoothing=0.2, reduction=r)),
    *loss("ce images", (2, 3, 2, 4), fn=lambda F, torch, r, x: F.cross_entropy(x, classes(torch, 2, 3, 2, 4), reduction=r)),
    *loss("ce probabilities", (2, 3), (2, 3), low=0.1, fn=lambda F, torch, r, x, t: F.cross_entropy(x, t, reduction=r)),
    *loss("ce probabilities weight smooth", (2, 3), (2, 3), low=0.1, fn=lambda F, torch, r, x, t: F.cross_entropy(x, t, weights(torch, 3), label_smoothing=0.1, reduction=r)),
    *loss("ce probabilities images", (2, 3, 4), (2, 3, 4), low=0.1, fn=lambda F, torch, r, x, t: F.cross_entropy(x, t, reduction=r)),
    *loss("soft_margin_loss", (2, 3), fn=lambda F, torch, r, x: F.soft_margin_loss(x, signs(torch, x), reduction=r)),
    *loss("multi_margin_loss", (4, 3), fn=lambda F, torch, r, x: F.multi_margin_loss(x, classes(torch, 4, 3), reduction=r)),
    *loss("multi_margin p2", (4, 3), fn=lambda F, torch, r, x: F.multi_margin_loss(x, classes(torch, 4, 3), p=2, margin=0.7, weight=weights(torch, 3), reduction=r)),
    *loss("multi_margin 1d", (3,), fn=lambda F, torch, r, x: F.multi_margin_loss(x, torch.tensor([1]), reduction=r)),
    *loss("multilabel_margin_loss", (3, 4), fn=lambda F, torch, r, x: F.multilabel_margin_loss(x, torch.tensor(LABELS), reduction=r)),
    *loss("multilabel_margin 1d", (4,), fn=lambda F, torch, r, x: F.multilabel_margin_loss(x, torch.tensor(LABELS[0]), reduction=r)),
    *loss("hinge_embedding_loss", (2, 3), fn=lambda F, torch, r, x: F.hinge_embedding_loss(x, signs(torch, x), reduction=r)),
    *loss("margin_ranking_loss", (3,), (3,), fn=lambda F, torch, r, a, b: F.margin_ranking_loss(a, b, signs(torch, a), margin=0.3, reduction=r)),
    *loss("multilabel_soft_margin_loss", (2, 3), fn=lambda F, torch, r, x: F.multilabel_soft_margin_loss(x, (signs(torch, x) + 1) / 2, reduction=r)),
    *loss("cosine_embedding_loss", (2, 3), (2, 3), fn=lambda F, torch, r, a, b: F.cosine_embedding_loss(a, b, signs(torch, a[:, 0]), margin=0.1, reduction=r)),
    *loss("triplet_margin_loss", (2, 3), (2, 3), (2, 3)), *loss("triplet_margin_loss", (2, 3), (2, 3), (2, 3), swap=True, p=3),
    *loss("poisson_nll_loss", (2, 3), low=0.2, fn=lambda F, torch, r, x: F.poisson_nll_loss(x, torch.tensor([[0.0, 1, 3], [2, 5, 1]], dtype=torch.float64), full=True, reduction=r)),
    *loss("poisson counts", (2, 3), low=0.2, fn=lambda F, torch, r, x: F.poisson_nll_loss(x, torch.tensor([[0.0, 1, 3], [2, 5, 1]], dtype=torch.float64), log_input=False, reduction=r)),
    *loss("gaussian_nll_loss", (2, 3), (2, 3), (2, 3), low=0.2),
    *loss("gaussian one variance", (2, 3), (2, 3), (2, 1), low=0.2, fn=lambda F, torch, r, x, t, v: F.gaussian_nll_loss(x, t, v, full=True, reduction=r)),
    *loss("mse weight", (2, 3), (2, 3), (2, 3), low=0.2, fn=lambda F, torch, r, x, t, w: F.mse_loss(x, t, reduction=r, weight=w)),
    *loss("l1 weight", (2, 3), (2, 3), (2, 3), low=0.2, fn=lambda F, torch, r, x, t, w: F.l1_loss(x, t, reduction=r, weight=w)),
    *loss("mse broadcast", (2, 3), (3,), fn=lambda F, torch, r, x, t: F.mse_loss(x, t, reduction=r)),
    Op("cosine_similarity", lambda torch, a, b: torch.nn.functional.cosine_similarity(a, b), [(2, 3), (2, 3)]),
    Op("cosine_similarity dim", lambda torch, a, b: torch.nn.functional.cosine_similarity(a, b, dim=0), [(2, 3), (2, 1)]),
    Op("pairwise_distance", lambda torch, a, b: torch.nn.functional.pairwise_distance(a, b), [(2, 3), (2, 3)]),
    Op("pairwise_distance 1", lambda torch, a, b: torch.nn.functional.pairwise_distance(a, b, p=1.0, keepdim=True), [(2, 3), (2, 3)]),
    Op("normalize", lambda torch, a: torch.nn.functional.normalize(a), [(2, 3)]),
    Op("normalize 1", lambda torch, a: torch.nn.functional.normalize(a, p=1, dim=0), [(2, 3)]),
]  # fmt: skip

LABELED = [[1, 2, 2], [3, 1, 0]]  # the last 0 is behind the end of its target


def ctc(torch, x, *lengths, reduction="mean", targets=LABELED, **settings):
    """The loss of LABELED or another target, from logits."""
    log_p = torch.nn.functional.log_softmax(x, -1)
    return torch.nn.functional.ctc_loss(
        log_p, torch.tensor(targets), *lengths, reduction=reduction, **settings
    )


CTC = [
    *[Op(f"ctc_loss {r}", lambda torch, x, r=r: ctc(torch, x, (6, 5), (3, 2), reduction=r), [(6, 2, 4)], second=False, skip=("saved",)) for r in REDUCTIONS],
    Op("ctc_loss all saved", lambda torch, x: ctc(torch, x, (6, 6), (3, 3), targets=[[1, 2, 1], [3, 1, 2]], reduction="none"), [(6, 2, 4)], second=False),
    Op("ctc_loss tensors", lambda torch, x: ctc(torch, x, torch.tensor([4, 6]), torch.tensor([1, 0])), [(6, 2, 4)], second=False),
    Op("ctc_loss joined blank", lambda torch, x: ctc(torch, x, (6, 5), (3, 2), targets=[1, 2, 2, 0, 1], blank=3), [(6, 2, 4)], second=False),
    Op("ctc_loss impossible", lambda torch, x: ctc(torch, x, (6, 2), (3, 3), targets=[[1, 2, 1], [3, 1, 1]], zero_infinity=True), [(6, 2, 4)], second=False),
    Op("ctc_loss unbatched", lambda torch, x: ctc(torch, x, (6,), (3,), targets=[1, 2, 2], reduction="none"), [(6, 4)], second=False),
    Op("CTCLoss", lambda torch, x: torch.nn.CTCLoss(1, "sum", True)(x.log_softmax(-1), torch.tensor([[0, 2], [2, 3]]), (5, 6), (2, 2)), [(6, 2, 4)], second=False),
]  # fmt: skip

ALL += CTC


def test_derivatives_agree_with_central_differences():
    each(ALL, check_differences)


def test_live_pytorch_does_the_same():
    each(ALL, check_like_pytorch, pytest.importorskip("torch"))


def test_cross_entropy_shows_its_two_nodes():
    torch = autograd_lab
    y = torch.nn.functional.cross_entropy(torch.ones(2, 3, requires_grad=True), torch.tensor([0, 2]))
    assert (y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(), len(y.grad_fn.next_functions)) == (
        "NllLossBackward0",
        "LogSoftmaxBackward0",
        1,
    )


def test_a_target_overwritten_after_the_loss_is_noticed():
    torch = autograd_lab
    t = torch.tensor([0, 2])
    y = torch.nn.functional.cross_entropy(torch.ones(2, 3, requires_grad=True), t)
    t.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


MESSAGES = {
    "F.nll_loss(o(2, 3), z(3))": (ValueError, "Expected input batch_size (2) to match target batch_size (3)."),
    "F.nll_loss(o(2, 3), z(2) + 3)": (IndexError, "Target 3 is out of bounds."),
    "F.nll_loss(o(2, 3), z(2) - 1)": (IndexError, "Target -1 is out of bounds."),
    "F.nll_loss(o(2, 3), o(2))": (RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    "F.nll_loss(o(2, 3), z(2), weight=o(2))": (RuntimeError, "weight tensor should be defined either for all 3 classes or no classes"),
    "F.cross_entropy(o(2, 3), z(2, 3))": (RuntimeError, "Expected floating point type for target with class probabilities, got Long"),
    "F.cross_entropy(o(2, 3), o(2, 4))": (RuntimeError, "0D or 1D target tensor expected, multi-target not supported"),
    "F.cross_entropy(o(2, 3), z(2), reduction='x')": (ValueError, "x is not a valid value for reduction"),
    "F.cross_entropy(o(2, 3), z(2), label_smoothing=2.0)": (RuntimeError, "label_smoothing must be between 0.0 and 1.0. Got: 2"),
    "F.mse_loss(z(2), z(2))": (NotImplementedError, "\"mse_cpu\" not implemented for 'Long'"),
    "F.smooth_l1_loss(o(2), o(2), beta=-1.0)": (RuntimeError, "smooth_l1_loss does not support negative values for beta."),
    "F.huber_loss(o(2), o(2), delta=0.0)": (RuntimeError, "huber_loss does not support non-positive values for delta."),
    "F.multilabel_margin_loss(o(2, 3), z(2, 4))": (RuntimeError, "inconsistent target size: [2, 4] for input of size: [2, 3]"),
    "F.multilabel_margin_loss(o(2, 3), z(2, 3) + 3)": (RuntimeError, "argument #2 'target' is out of range"),
    "F.multilabel_margin_loss(o(2, 3), o(2, 3))": (RuntimeError, "expected scalar type Long but found Float"),
    "F.binary_cross_entropy(o(2) * 2, o(2))": (RuntimeError, "all elements of input should be between 0 and 1"),
    "F.binary_cross_entropy(o(2), o(3))": (ValueError, "Using a target size (torch.Size([3])) that is different to the input size"),
    "F.ctc_loss(p, z(2, 2) + 1, (6, 5), (2, 2))": (RuntimeError, "Expected input_lengths to have value at most 5, but got value 6"),
    "F.ctc_loss(p, z(2, 2) + 1, (-1, 5), (2, 2))": (RuntimeError, "Expected input_lengths to have value at least 0, but got value -1"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), (2, -2))": (RuntimeError, "Expected target_lengths to have value at least 0, but got value -2"),
    "F.ctc_loss(p, z(2, 2) + 1, (5,), (2, 2))": (RuntimeError, "input_lengths must be of size batch_size"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), (2,))": (RuntimeError, "target_lengths must be of size batch_size"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), (3, 2))": (RuntimeError, "Expected tensor to have size at least 3 at dimension 1, but got size 2"),
    "F.ctc_loss(p, z(4) + 1, (5, 5), (3, 2))": (RuntimeError, "Expected tensor to have size 5 at dimension 0, but got size 4"),
    "F.ctc_loss(p, z(1, 2) + 1, (5, 5), (2, 2))": (RuntimeError, "Expected tensor to have size 2 at dimension 0, but got size 1"),
    "F.ctc_loss(p, z(1, 2, 2) + 1, (5, 5), (2, 2))": (RuntimeError, "Expected 1 to 2 dimensions, but got 3-dimensional tensor"),
    "F.ctc_loss(p[0, 0], z(2, 2) + 1, (5, 5), (2, 2))": (RuntimeError, "Expected 3-dimensional tensor, but got 2-dimensional tensor"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), (2, 2), blank=4)": (RuntimeError, "blank must be in label range"),
    "F.ctc_loss(p, z(2, 2) + 1, o(2), z(2))": (RuntimeError, "input_lengths must be integral"),
    "F.ctc_loss(p[:0], z(2, 2), (0, 0), (0, 0))": (RuntimeError, "log_probs tensor must not be empty"),
    "F.ctc_loss(p.long(), z(2, 2) + 1, (5, 5), (2, 2))": (NotImplementedError, "\"ctc_loss_cpu\" not implemented for 'Long'"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), z(2))": (TypeError, "ctc_loss() received an invalid combination of arguments - got"),
    "F.ctc_loss(p, z(2, 2) + 1, (5, 5), (2, 2), reduction='x')": (ValueError, "x is not a valid value for reduction"),
    "F.binary_cross_entropy_with_logits(o(2), o(3))": (ValueError, "Target size (torch.Size([3])) must be the same as input size (torch.Size([2]))"),
}  # fmt: skip


@pytest.mark.parametrize("code", MESSAGES)
def test_misuse_says_what_pytorch_says(code):
    torch = autograd_lab
    names = {"F": torch.nn.functional, "o": torch.ones, "z": lambda *s: torch.zeros(*s, dtype=torch.int64)}
    names["p"] = torch.ones(5, 2, 4).log_softmax(-1)
    kind, text = MESSAGES[code]
    with pytest.raises(kind) as raised:
        eval(code, names)
    assert str(raised.value).startswith(text)


def test_a_target_of_another_size_is_broadcast_with_a_warning():
    torch = autograd_lab
    with pytest.warns(UserWarning, match="Using a target size"):
        torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2, 2))


def test_a_label_that_is_no_class_is_an_error_where_pytorch_reads_any_memory():
    with pytest.raises(IndexError, match="Target 9 is out of bounds"):
        ctc(autograd_lab, autograd_lab.ones(6, 1, 4), (6,), (2,), targets=[[1, 9]])


def test_the_gradient_of_ctc_loss_has_no_derivative():
    x = autograd_lab.zeros(6, 2, 4, requires_grad=True)
    (g,) = autograd_lab.autograd.grad(ctc(autograd_lab, x, (6, 5), (3, 2)), x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        g.sum().backward()


def test_ctc_loss_adds_up_every_alignment():
    """Against the definition: the paths that give the target when repeats are merged and blanks then dropped."""
    torch, target = autograd_lab, [1, 1, 2]
    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 5))
    total = 0.0
    for path in itertools.product(range(3), repeat=5):
        if [c for c, _ in itertools.groupby(path) if c != 0] == target:
            total += np.exp(log_p[np.arange(5), path].sum())
    loss = torch.nn.functional.ctc_loss(
        torch.tensor(log_p), torch.tensor(target), (5,), (3,), reduction="none"
    )
    np.testing.assert_allclose(loss.item(), -np.log(total), rtol=1e-12)


def ctc_cases():
    """Random lengths (none at all and too long ones too), blanks, reductions, kinds of targets and of lengths."""
    rng = np.random.default_rng(0)
    for k in range(96):
        n, steps, classes, most = (
            rng.integers(1, 5),
            rng.integers(1, 9),
            rng.integers(2, 6),
            rng.integers(0, 5),
        )
        blank = int(rng.integers(0, classes))
        lengths, inputs = rng.integers(0, most + 1, n), rng.integers(0 if k % 4 == 0 else 1, steps + 1, n)
        targets = (blank + 1 + rng.integers(0, classes - 1, (n, most))) % classes
        if k % 5 < 2:
            targets = np.concatenate([row[:length] for row, length in zip(targets, lengths, strict=True)])
        x = rng.normal(size=(steps, n, classes)).astype((np.float32, np.float64)[k % 2])
        settings = {"blank": blank, "reduction": REDUCTIONS[k % 3], "zero_infinity": k % 8 < 4}
        yield x, targets, inputs, lengths, k % 7 < 3, settings


def test_live_pytorch_has_the_same_ctc_loss_and_gradients():
    torch = pytest.importorskip("torch")
    impossible = 0
    for x, targets, inputs, lengths, as_tensors, settings in ctc_cases():
        results = []
        for lib in (autograd_lab, torch):
            logits = lib.tensor(x, requires_grad=True)
            log_p = lib.log_softmax(logits, -1)
            both = [lib.tensor(v) if as_tensors else tuple(v.tolist()) for v in (inputs, lengths)]
            loss = lib.nn.functional.ctc_loss(log_p, lib.tensor(targets), *both, **settings)
            g = lib.tensor(np.linspace(0.5, 1.5, loss.numel()).reshape(tuple(loss.shape)), dtype=loss.dtype)
            results.append([array(t) for t in (loss, *lib.autograd.grad(loss, (log_p, logits), g))])
        impossible += np.isinf(results[1][0]).any()
        for mine, wanted in zip(*results, strict=True):
            assert mine.dtype == wanted.dtype
            tolerance = 1e-12 if x.dtype == np.float64 else 2e-5
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance, err_msg=str(settings))
    assert impossible
