"""Traces made by hand, in the format of autograd_lab/tracing/README.md, for tests that need no engine.

`Tape` is a few lines of arithmetic that write down what they do; `scalar()`, `diamond()`, `mlp()` and `big(n)` are
the computations the tests look at.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from autograd_lab.tracing import Trace

RULES = {
    # op: (maths, vjp text, forward, vjp)
    "add": ("y = a + b", "to a: g; to b: g", lambda a, b: a + b, lambda g, y, a, b: (g, g)),
    "mul": ("y = a * b", "to a: g * b; to b: g * a", lambda a, b: a * b, lambda g, y, a, b: (g * b, g * a)),
    "pow": ("y = a ** 2", "to a: g * 2 * a", lambda a: a**2, lambda g, y, a: (g * 2 * a,)),
    "tanh": ("y = tanh(a)", "to a: g * (1 - y ** 2)", np.tanh, lambda g, y, a: (g * (1 - y**2),)),
    "relu": ("y = max(a, 0)", "to a: g * (a > 0)", lambda a: np.maximum(a, 0), lambda g, y, a: (g * (a > 0),)),
    "mm": ("y = a @ b", "to a: g @ b.T; to b: a.T @ g", lambda a, b: a @ b, lambda g, y, a, b: (g @ b.T, a.T @ g)),
    "mean": ("y = mean(a)", "to a: g / n, for each of n elements", np.mean,
             lambda g, y, a: (np.full(a.shape, g / a.size, a.dtype),)),
}  # fmt: skip
SAVES = {"mul": "ab", "pow": "a", "tanh": "y", "relu": "y", "mm": "ab"}


@dataclass
class T:
    """A tensor of the tape: its number, its array, the node that made it."""

    id: int
    data: np.ndarray
    grad: bool
    node: int | None = None


class Tape:
    def __init__(self, title: str, code: str = "") -> None:
        self.trace = Trace(title)
        lines = {str(i + 1): line for i, line in enumerate(code.splitlines())}
        self.trace.sources.append({"name": "cell 1", "lines": lines})
        self.lines = len(lines)
        self.arrays: dict[int, np.ndarray] = {}
        self.tensors: list[T] = []
        self.accumulators: dict[int, int] = {}
        self.seen: set[int] = set()
        self.grads: dict[int, int] = {}

    def value(self, x: np.ndarray) -> int:
        x = np.asarray(x, np.float32)
        record = {"shape": list(x.shape), "dtype": "float32"}
        if x.size <= 64:
            record["data"] = _digits(x)
        else:
            corner = x.reshape(-1, x.shape[-1])[:6, :6]
            record |= {"corner": _digits(corner), "nan": 0, "inf": 0}
            record |= {k: _digits(getattr(x, k)()) for k in ("min", "max", "mean")}
        self.trace.values.append(record)
        return len(self.trace.values) - 1

    def tensor(self, x, name="", grad=False, node=None) -> T:
        x = np.asarray(x, np.float32)
        t = T(len(self.trace.tensors), x, grad, node)
        self.trace.tensors.append({
            "name": name, "shape": list(x.shape), "dtype": "float32", "requires_grad": grad, "leaf": node is None,
            "value": self.value(x), "base": None, "node": node, "output_nr": 0,
        })  # fmt: skip
        self.tensors.append(t)
        return t

    def emit(self, kind: str, **fields) -> None:
        self.trace.events.append({"k": kind, **fields})

    def node(self, **fields) -> int:
        self.trace.nodes.append({
            "kind": "op", "seq": len(self.trace.nodes), "inputs": [], "outputs": [], "edges": [], "saved": [],
            "params": {}, "src": None, "tensor": None, "math": "", "vjp": "", "made_in": 0, "scope": "", **fields,
        })  # fmt: skip
        return len(self.trace.nodes) - 1

    def op(self, op: str, *inputs: T, name: str = "", line: int | None = None) -> T:
        src = [0, line] if line else None
        for t in inputs:
            if t.node is None and t.id not in self.seen:
                self.seen.add(t.id)
                self.emit("leaf", t=t.id, src=src)
        math, vjp, forward, _ = RULES[op]
        data = forward(*[t.data for t in inputs])
        edges = [self._edge(t) for t in inputs]
        n = self.node(name=f"{op.capitalize()}Backward0", op=op, inputs=[t.id for t in inputs], edges=edges,
                      src=src, math=math, vjp=vjp)  # fmt: skip
        out = self.tensor(data, name, True, n)
        at = {"a": inputs[0].id, "b": inputs[-1].id, "y": out.id}
        saved = [[{"a": "self", "b": "other", "y": "result"}[s], at[s], 0] for s in SAVES.get(op, "")]
        self.trace.nodes[n] |= {"outputs": [out.id], "saved": saved}
        self.emit("node", n=n, t=[out.id], saved=saved, src=src)
        for i, edge in enumerate(edges):
            if edge:
                self.emit("edge", n=n, i=i, to=edge)
        return out

    def _edge(self, t: T) -> list[int] | None:
        if not t.grad:
            return None
        if t.node is not None:
            return [t.node, 0]
        if t.id not in self.accumulators:
            self.accumulators[t.id] = self.node(
                name="AccumulateGrad", op="accumulate", kind="accumulate", seq=2**62, tensor=t.id
            )
        return [self.accumulators[t.id], 0]

    def backward(self, root: T, line: int | None = None, keep: bool = False) -> None:
        nodes, src = self.trace.nodes, [0, line] if line else None
        p = 1 + sum(e["k"] == "backward" for e in self.trace.events)
        self.emit("backward", p=p, call="backward", roots=[root.node], keep=keep, create_graph=False, src=src)
        deps, stack, known = {}, [root.node], {root.node}
        while stack:
            for edge in nodes[stack.pop()]["edges"]:
                if edge:
                    deps[edge[0]] = deps.get(edge[0], 0) + 1
                    if edge[0] not in known:
                        known.add(edge[0])
                        stack.append(edge[0])
        self.emit("counts", p=p, deps=sorted(map(list, deps.items())))
        arrived, buffer = {}, {root.node: np.ones_like(root.data)}
        seed = self.value(buffer[root.node])
        held = {root.node: seed}
        self.emit("seed", n=root.node, slot=0, v=seed)
        heap: list[tuple[int, int]] = []

        def push(n: int) -> None:
            heapq.heappush(heap, (-nodes[n]["seq"], n))
            self.emit("push", n=n, queue=[m for _, m in sorted(heap)])

        push(root.node)
        while heap:
            _, n = heapq.heappop(heap)
            g, node = buffer.pop(n), nodes[n]
            incoming = held.pop(n)
            self.emit("pop", n=n, queue=[m for _, m in sorted(heap)], g=[incoming])
            if node["kind"] == "accumulate":
                t = node["tensor"]
                old = self.grads.get(t)
                new = incoming if old is None else self.value(self.arrays[t] + g)
                self.arrays[t] = g if old is None else self.arrays[t] + g
                self.grads[t] = new
                self.emit("accumulate", n=n, t=t, old=old, add=incoming, new=new)
                continue
            inputs = [self.tensors[t].data for t in node["inputs"]]
            grads = RULES[node["op"]][3](g, self.tensors[node["outputs"][0]].data, *inputs)
            outs = [None if e is None else self.value(x) for e, x in zip(node["edges"], grads, strict=True)]
            self.emit("vjp", n=n, **{"in": [incoming], "out": outs})
            if node["saved"] and not keep:
                self.emit("free", n=n, saved=[s[0] for s in node["saved"]])
            for i, (edge, x) in enumerate(zip(node["edges"], grads, strict=True)):
                if edge is None:
                    self.emit("pruned", n=n, i=i)
                    continue
                to = edge[0]
                old = held.get(to)
                buffer[to] = x if old is None else buffer[to] + x
                held[to] = outs[i] if old is None else self.value(buffer[to])
                arrived[to] = arrived.get(to, 0) + 1
                self.emit("deliver", n=n, i=i, to=to, slot=0, v=outs[i], old=old, sum=held[to],
                          arrived=arrived[to], of=deps[to])  # fmt: skip
                if arrived[to] == deps[to]:
                    push(to)
        self.emit("done", p=p)


def _digits(x):
    return float(f"{x:.6g}") if np.ndim(x) == 0 else [_digits(part) for part in x]


def scalar() -> Trace:
    """The square of 2x + 1 at x = 3: 49, and its derivative 28."""
    tape = Tape("y = (2x + 1)**2", "x = tensor(3., requires_grad=True)\ntwo = tensor(2.)\none = tensor(1.)\n"
                "h = two * x\nu = h + one\ny = u ** 2\ny.backward()")  # fmt: skip
    x, two, one = tape.tensor(3, "x", True), tape.tensor(2, "two"), tape.tensor(1, "one")
    h = tape.op("mul", two, x, name="h", line=4)
    u = tape.op("add", h, one, name="u", line=5)
    tape.backward(tape.op("pow", u, name="y", line=6), 7)
    return tape.trace


def diamond(passes: int = 1) -> Trace:
    """A non-leaf used at two depths: a.grad is 96 at a = 2."""
    tape = Tape("b*c with c = 3b, b = a*a", "a = tensor(2., requires_grad=True)\nthree = tensor(3.)\nb = a * a\n"
                "c = b * three\ny = b * c\ny.backward()")  # fmt: skip
    a, three = tape.tensor(2, "a", True), tape.tensor(3, "three")
    b = tape.op("mul", a, a, name="b", line=3)
    c = tape.op("mul", b, three, name="c", line=4)
    y = tape.op("mul", b, c, name="y", line=5)
    for i in range(passes):
        tape.backward(y, 6, keep=i < passes - 1)
    return tape.trace


def mlp(batch: int = 8, features: int = 4, hidden: int = 5) -> Trace:
    """mean(tanh(x @ w1 + b1) @ w2 + b2)**2) on arrays."""
    tape = Tape("a two-layer network", "h = x @ w1 + b1\nh = tanh(h)\nout = h @ w2 + b2\nerr = out + minus_t\n"
                "loss = mean(err ** 2)\nloss.backward()")  # fmt: skip
    r = np.random.default_rng(0)

    def rand(*shape):
        return r.normal(0, 0.7, shape)

    x, t = tape.tensor(rand(batch, features), "x"), tape.tensor(rand(batch, 3), "minus_t")
    w1, b1 = tape.tensor(rand(features, hidden), "w1", True), tape.tensor(rand(batch, hidden), "b1", True)
    w2, b2 = tape.tensor(rand(hidden, 3), "w2", True), tape.tensor(rand(batch, 3), "b2", True)
    h = tape.op("mm", x, w1, line=1)
    h = tape.op("add", h, b1, name="h", line=1)
    h = tape.op("tanh", h, name="h", line=2)
    out = tape.op("mm", h, w2, line=3)
    out = tape.op("add", out, b2, name="out", line=3)
    err = tape.op("add", out, t, name="err", line=4)
    loss = tape.op("mean", tape.op("pow", err, line=5), name="loss", line=5)
    tape.backward(loss, 6)
    return tape.trace


def big(nodes: int) -> Trace:
    """A scalar network in micrograd's way, of about `nodes` nodes."""
    code = "for j, row in enumerate(layer):\n    s = row[0] * h[0]\n    for w, x in zip(row[1:], h[1:]):\n" \
           "        s = s + w * x\n    out.append(tanh(s))\nloss.backward()"  # fmt: skip
    tape = Tape(f"scalar network, about {nodes} nodes", code)
    r = np.random.default_rng(1)
    width = 4 if nodes < 200 else 8
    layer = [tape.tensor(v, f"x{i}") for i, v in enumerate(r.normal(0, 1, 4))]
    depth = 0
    while len(tape.trace.nodes) < nodes - 4 * width:
        depth += 1
        out = []
        for j in range(width):
            s = None
            for i, x in enumerate(layer[:4]):
                w = tape.tensor(r.normal(0, 0.6), f"w{depth}_{j}{i}", True)
                product = tape.op("mul", w, x, line=2 if s is None else 4)
                s = product if s is None else tape.op("add", s, product, line=4)
            out.append(tape.op("tanh", s, name=f"h{depth}_{j}", line=5))
        layer = out[-4:] if depth % 2 else out[:4]
    total = layer[0]
    for x in layer[1:]:
        total = tape.op("add", total, x, line=4)
    tape.backward(total, 6)
    return tape.trace


def chain(nodes: int) -> Trace:
    """x, tanh, tanh, ...: thin and deep."""
    tape = Tape(f"a chain of {nodes}", "for _ in range(n):\n    h = tanh(h)\nh.backward()")
    h = tape.tensor(0.5, "x", True)
    for _ in range(nodes - 1):
        h = tape.op("tanh", h, line=2)
    tape.backward(h, 3)
    return tape.trace


def twice() -> Trace:
    """The diamond, and two backward passes: the gradient is added to the one that is there."""
    return diamond(2)


SMALL = {"scalar": scalar, "diamond": diamond, "mlp": mlp, "twice": twice}
