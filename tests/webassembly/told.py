"""What the engine says where NumPy counts with 32 bits: `python told.py [--narrow]` prints it as JSON, a line for each part.

Run by the tests of this folder: with NumPy's integers made narrow (narrow_numpy.py), and in Pyodide (inside.py).
"""

import json
import re
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS.parent), str(TESTS), str(TESTS / "conformance"), str(TESTS / "core")]
FLOAT = re.compile(
    r"-?\d+\.\d*(e[-+]\d+)?"
)  # their last digits differ between machines, and so does the width of a column


def bank(torch):
    """{case: what differs from PyTorch} of the two conformance banks."""
    import runner

    runner.warm_up(torch)
    wrong = {}
    for path in runner.BANKS.values():
        for case in runner.read_bank(path):
            try:
                lines = runner.compare(case["golden"], runner.run_case(case, torch, torch.__name__))
            except Exception as error:
                lines = [repr(error)]
            if lines:
                wrong[case["id"]] = "; ".join(lines)
    return wrong


def calls(torch):
    """{sample call of a rule: types, shapes, graph, types of what is saved, and all that is printed but for the digits of floats}."""
    import numpy as np
    import operations

    told = {}
    for call in operations.CALLS:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                told[call.name] = told_of(torch, call)
            except Exception as error:
                told[call.name] = f"{type(error).__name__}: {error}"
    return told


def told_of(torch, call):
    from graphs import listed, nodes_behind, tensors_in

    inputs = call.tensors(torch)
    made = call.run(torch, inputs)
    told = [(str(t.dtype), list(t.shape), listed(t.grad_fn), saved(t.grad_fn)) for t in tensors_in(made)]
    wanted = [t for t in inputs.values() if t.requires_grad]
    results = [t for t in tensors_in(made) if t.requires_grad]
    if results and wanted:
        ones = [torch.ones_like(t).requires_grad_() for t in results]  # so that every step of a VJP is a node
        try:
            twice = torch.autograd.grad(results, wanted, ones, create_graph=True, allow_unused=True)
            told += map(saved, nodes_behind(*[t.grad_fn for t in twice if t is not None]))
        except RuntimeError as error:  # not every rule can be differentiated twice
            told.append(str(error))
        results = [t for t in tensors_in(call.run(torch, inputs)) if t.requires_grad]
        made = made, torch.autograd.grad(results, wanted, ones, allow_unused=True)
    return f"{told} {''.join(FLOAT.sub('_', repr(made)).split())}"


def saved(node):
    """The types of the tensors that a node has saved."""
    from graphs import tensors_in

    names = [name for name in dir(node) if name.startswith("_saved_")]
    return [(name, [str(t.dtype) for t in tensors_in(getattr(node, name))]) for name in names]


INTEGERS = """
torch.tensor([1, 2]); torch.tensor(3); torch.tensor([[True, 2]]); torch.tensor([2**40, 1]); torch.as_tensor([1]); torch.tensor([torch.tensor(1), 2])
torch.LongTensor([1, 2]); torch.arange(3); torch.arange(0, 5 * 10**9, 10**9); torch.arange(0.0, 5e9, 1e9, dtype=torch.int64)
torch.zeros(2, dtype=int); torch.ones(2, dtype=int); torch.full((2,), 7); torch.empty(0, dtype=int); x.to(int); x.type(torch.int64)
torch.tril_indices(3, 3); torch.triu_indices(2, 3); torch.tril_indices(2, 2, dtype=torch.int32); torch.randint(3, (2,)); torch.randperm(3)
torch.nonzero(x); torch.where(x > 0); torch.argwhere(x); torch.where(x > 0, 1, 0); torch.bincount(i); torch.bincount(i, x)
x.argmax(); x.argmax(0); x.argmin(); x.argsort(); x.sort(); x.topk(2); x.max(0); x.median(0); x.mode(0); x.kthvalue(2); x.cummax(0)
(x > 0).sum(); (x > 0).cumsum(0); (x > 0).prod(); i.sum(); i.cumsum(0); i.to(torch.int8).sum(); x.count_nonzero(); i * 2; i // 2; i + True
torch.unique(i, return_inverse=True, return_counts=True); torch.unique_consecutive(i, True, True); torch.searchsorted(x, x); torch.bucketize(x, x)
torch.repeat_interleave(i); torch.repeat_interleave(x, i); torch.repeat_interleave(x, 2); torch.combinations(i); torch.cartesian_prod(i, i)
torch.unravel_index(i, (2, 2)); torch.multinomial(x.abs(), 2); torch.trace(i.diag()); i.diag(); torch.histc(x, 3); i.float().int().long()
torch.nn.functional.one_hot(i); torch.nn.functional.max_pool1d(x.reshape(1, 1, 3), 2, return_indices=True); i[[0, 1]]; x[[0, 2]]; x[i]; x[i - 1]
torch.utils.data.default_collate([1, 2]); torch.utils.data.default_collate([(1, 2.0), (3, 4.0)]); torch.from_numpy(np.array([1], np.int32))
torch.nn.BatchNorm1d(2).num_batches_tracked; torch.nn.utils.rnn.pack_sequence([x, x]).batch_sizes; torch.distributions.Categorical(x.abs()).sample()
torch.nn.functional.embedding(i, x[:, None], scale_grad_by_freq=True); torch.nn.functional.embedding_bag(i, x[:, None], i[:1] * 0)
torch.gather(x, 0, i); x.take(i); x.put(i, x); x.index_select(0, i); x.index_add(0, i, x); x.index_fill(0, i, 1.0); x.scatter_add(0, i, x)
torch.result_type(1, 2); torch.result_type(i, 1.0); torch.tensor([1, 2]).numpy().dtype.name; torch.tensor([True]).tolist(); torch.iinfo(i.dtype).max
i.new_tensor([1, 2]); i.new_full((2,), 3); i.new_zeros(2); torch.linalg.matrix_rank(x.diag()); torch.lu_unpack(*torch.linalg.lu_factor(x.diag()))
"""
"""Programs in which Python's integers, positions and counts become tensors, or are used as positions; x is 1-d, i its positions."""


def variants(seeds=(0, 1, 123_456_789)):
    """{item that varies: its question, answers and hints with the numbers of these seeds}: a browser's must be the grader's."""
    from autograd_lab.course import items, variants

    told = {}
    for item in (item for item in items.shipped().values() if item.variant):
        own = [variants.of(item, seed) for seed in seeds]
        told[item.id] = [
            [one.question, one.expected, one.hints, [w.answer for w in one.wrong]] for one in own
        ]
    return told


def integers(torch):
    """{program: its result, with the types of the tensors in it}."""
    import numpy as np

    told = {}
    for program in re.split(r"[;\n]\s*", INTEGERS.strip()):
        torch.manual_seed(0)
        x, i = torch.tensor([2.0, -1.0, 3.0], dtype=torch.float64), torch.tensor([2, 0, 1])
        try:
            told[program] = kinds(eval(program, {"torch": torch, "np": np, "x": x, "i": i}))
        except Exception as error:
            told[program] = f"{type(error).__name__}: {error}"
    return told


def kinds(value):
    from graphs import tensors_in

    return [
        [str(t.dtype), "".join(FLOAT.sub("_", repr(t.tolist())).split())] for t in tensors_in(value)
    ] or repr(value)


def main():
    if "--narrow" in sys.argv:
        import narrow_numpy

        narrow_numpy.install()
    import autograd_lab as torch

    print(json.dumps({"bank": bank(torch), "calls": calls(torch), "integers": integers(torch)}))


if __name__ == "__main__":
    main()
