"""The table of sample calls is complete, and each call does what PyTorch does: same values, gradients and nodes."""

import importlib
import pkgutil
import warnings

import numpy as np
import operations
import pytest
from graphs import nodes_behind

import autograd_lab
from autograd_lab.ops.rule import RULES
from tests.each import each

for _module in pkgutil.walk_packages(autograd_lab.__path__, "autograd_lab."):
    # torch_adapter and its like define no rule, and cannot be imported where PyTorch is not installed
    if not _module.name.endswith("__main__") and ".torch_" not in _module.name:
        importlib.import_module(_module.name)

BASES = {
    "Adjoint", "DrawRule", "Flat", "Gate", "GeneralRule", "Ordering", "Reduction", "Selection", "ShapeRule", "TwoMatrices", "UpsampleLinearBackward0",
    "UpsampleLinearBackwardBackward0", "UpsampleNearestBackward0", "_ByPlace", "_Factored", "_Gradient", "_NearestGradient", "_Pointwise",
    "_Resized", "_Unpadded", "_Winners",
}  # fmt: skip
"""What several rules have in common: no node has this name."""

WITHOUT_GRADIENT = {name for name, rule in RULES.items() if rule.operands == 0}
"""Operations on bits and truth values: none of their operands can want a gradient, so they make no node."""

OTHER_NODES = {"AccumulateGrad", "CopySlices"}
"""Nodes that no rule makes."""

DIFFERENT = {
    "AsStridedScatterBackward0": "PyTorch's keeps what was overwritten and drops the rest; see ops/slicing.py",
    "CrossMapLRN2dBackward": "PyTorch's takes the sums over other channels; see ops/normalization.py",
    "HardsigmoidBackwardBackward0": "PyTorch has no second derivative of it",
    "DistBackward0: torch.dist(a, b, 0)": "PyTorch's backward pass fails on a gradient it does not define",
    "DistBackward0: torch.dist(a, b, 0) (2)": "the same",
    "EmbeddingBagBackward0: F.embedding_bag(I, w, O, scale_grad_by_freq=True)": "PyTorch's counts are those of other rows here",
    "LdexpBackward0: torch.ldexp(a, K)": "PyTorch raises 2 to whole negative numbers as whole numbers and gets 0",
    "LinalgDetBackward0: torch.linalg.det(a) (3)": "PyTorch's is 0 where the matrix is singular; see ops/linalg.py",
    "LinalgDetBackward0: torch.det(a) (3)": "the same",
    "LinalgDetBackward0: torch.linalg.det(a) (4)": "the same",
    "LinalgDetBackward0: torch.det(a) (4)": "the same",
}  # fmt: skip
"""Rules and calls whose gradients are not PyTorch's, and why."""


def name_of(node):
    """The name of a node without the namespace that PyTorch gives to those written by hand in C++."""
    return node.name().removeprefix("torch::autograd::")


def outputs(result):
    """The tensors in what a call gave, however they are nested."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in outputs(part)]
    return [result]


def graph_names(outs):
    """The names of all nodes behind some tensors."""
    return {name_of(node) for node in nodes_behind(*(t.grad_fn for t in outs))}


def moving(outs):
    """Those of some tensors that have a history."""
    return [t for t in outs if t.grad_fn is not None]


def record(torch, call):
    """What a call does: (outputs, gradients or the error, node of each output, names of the nodes behind them)."""
    tensors = call.tensors(torch)
    outs = outputs(call.run(torch, tensors))
    nodes = [None if t.grad_fn is None else name_of(t.grad_fn) for t in outs]
    names = graph_names(outs)
    leaves = [t for t in tensors.values() if t.requires_grad]
    roots = moving(outs)
    seeds = [
        torch.tensor(operations.spread(t.numel(), seed=2).tolist(), dtype=t.dtype).reshape(t.shape)
        for t in roots
    ]
    values = [np.asarray(t.numpy(force=True)) for t in outs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grads = torch.autograd.grad(roots, leaves, seeds, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        return values, type(error).__name__, nodes, names
    return values, [None if g is None else np.asarray(g.numpy(force=True)) for g in grads], nodes, names


def test_every_rule_has_a_call():
    called = {call.rule for call in operations.CALLS}
    assert called - OTHER_NODES == set(RULES) - BASES - WITHOUT_GRADIENT
    assert not [name for name in BASES if not RULES[name].__subclasses__()]


def test_names_differ():
    names = [call.name for call in operations.CALLS]
    assert len(set(names)) == len(names)


def test_each_call_builds_the_node_that_it_is_there_for():
    each(operations.CALLS, builds_its_node)


def builds_its_node(call):
    outs = outputs(call.run(autograd_lab, call.tensors(autograd_lab)))
    assert call.rule in graph_names(outs)


def test_pytorch_does_the_same():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    each(
        [call for call in operations.CALLS if not {call.rule, call.name} & set(DIFFERENT)],
        does_the_same,
        torch,
    )


def does_the_same(call, torch):
    ours, theirs = record(autograd_lab, call), record(torch, call)
    assert ours[2] == theirs[2]
    assert call.rule in theirs[3], theirs[3]
    for kind, mine, wanted in zip(("values", "gradients"), ours, theirs, strict=False):
        if isinstance(wanted, str) or isinstance(mine, str):
            assert mine == wanted
            continue
        assert [x is None for x in mine] == [x is None for x in wanted], kind
        for a, b in zip(mine, wanted, strict=True):
            if b is not None:
                assert (a.dtype, a.shape) == (b.dtype, b.shape), kind
                np.testing.assert_allclose(a, b, 1e-5, 1e-7, err_msg=kind)
