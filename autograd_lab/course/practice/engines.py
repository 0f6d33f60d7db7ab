"""Wrong engines on the graph of a recorded program of numbers: what each known mistake would leave at each node.

The graph has the local derivatives that the right engine's rules have. The engines are those of notebook 04: `resend` and
`visit_once` do not wait, `children_first` asks too early, and `keeps` forgets to add.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lab.tracing import Trace

from .question import show

Total = dict[int, float]
"""What has arrived at each node."""


class Graph:
    """The nodes behind the tensor `root` of a trace: {node: [(where its edge leads, local derivative)]}, without dead ends."""

    def __init__(self, trace: Trace, root: str) -> None:
        self.trace = trace
        self.names: dict[int, str] = {}
        """{node: the name of its tensor}; a leaf's accumulator is called as the leaf."""
        self.edges: dict[int, list[tuple[int, float]]] = {}
        for n, node in enumerate(trace.nodes):
            tensor = node["tensor"] if node["kind"] == "accumulate" else node["outputs"][0]
            self.names[n] = trace.tensors[tensor]["name"]
            slopes = {one["operand"]: sum(one["entries"][2:3]) for one in node.get("jacobian", ())}
            self.edges[n] = [
                (edge[0], float(slopes[i])) for i, edge in enumerate(node["edges"]) if edge is not None
            ]
        self.root = self.node(root)
        self.order = self._order()
        """From the root: a node stands behind all that send to it."""

    def node(self, name: str) -> int:
        """The node of a tensor. Raises KeyError if it has none."""
        for n, one in self.names.items():
            if one == name:
                return n
        raise KeyError(f"no tensor {name} with a node in {[*self.names.values()]}")

    def _order(self) -> list[int]:
        seen: list[int] = []

        def visit(node: int) -> None:
            for child, _ in self.edges[node]:
                if child not in seen:
                    visit(child)
            seen.append(node)

        visit(self.root)
        return seen[::-1]

    def received(self, name: str) -> float:
        """What a node has run with in the trace's first pass."""
        goal = self.node(name)
        event = next(e for e in self.trace if e["k"] == "pop" and e["n"] == goal)
        return float(self.trace.values[event["g"][0]]["data"])

    def senders(self, name: str) -> int:
        """For how many messages a node waits."""
        goal = self.node(name)
        return sum(child == goal for node in self.order for child, _ in self.edges[node])

    def meeting(self) -> list[str]:
        """The tensors between root and leaves at which several messages meet, from the root on."""
        return [
            self.names[node]
            for node in self.order
            if self.edges[node] and node != self.root and self.senders(self.names[node]) > 1
        ]

    def waits_in(self, order: list[str]) -> bool:
        """Whether in this order each node runs behind all that send to it."""
        at = {name: i for i, name in enumerate(order)}
        return all(
            at[self.names[node]] < at[self.names[child]]
            for node in self.order
            for child, _ in self.edges[node]
        )

    def paths(self, name: str) -> list[list[float]]:
        """The local derivatives along each path from the root to a tensor."""
        goal = self.node(name)

        def walk(node: int) -> Iterator[list[float]]:
            if node == goal:
                yield []
            for child, slope in self.edges[node]:
                for rest in walk(child):
                    yield [slope, *rest]

        return [*walk(self.root)]

    # Engines: each gives what they leave at every node.

    def waits(self) -> Total:
        """The right one: a node sends once, when all its messages are in."""
        total = {self.root: 1.0}
        for node in self.order:
            for child, slope in self.edges[node]:
                total[child] = total.get(child, 0) + slope * total[node]
        return total

    def resend(self) -> Total:
        """At every visit, add to the node's total, and send that total on."""
        total: Total = {}

        def visit(node: int, gradient: float) -> None:
            total[node] = total.get(node, 0) + gradient
            for child, slope in self.edges[node]:
                visit(child, slope * total[node])

        visit(self.root, 1.0)
        return total

    def visit_once(self) -> Total:
        """Send at the first visit; what comes later is only added."""
        total: Total = {}

        def visit(node: int, gradient: float) -> None:
            first = node not in total
            total[node] = total.get(node, 0) + gradient
            for child, slope in self.edges[node] if first else ():
                visit(child, slope * total[node])

        visit(self.root, 1.0)
        return total

    def children_first(self) -> Total:
        """Let everything below a node send before the node does."""
        total: Total = {}

        def visit(node: int, gradient: float) -> None:
            for child, _ in self.edges[node]:
                if child not in total:
                    visit(child, 0.0)
            total[node] = total.get(node, 0) + gradient
            for child, slope in self.edges[node]:
                total[child] += slope * total[node]

        visit(self.root, 1.0)
        return total

    def keeps(self, which: str) -> Total:
        """Of several messages the "first" or the "last" one counts."""
        total = {self.root: 1.0}
        for node in self.order:
            for child, slope in self.edges[node]:
                if which == "last" or child not in total:
                    total[child] = slope * total[node]
        return total

    def adds(self) -> Total:
        """On the way a node adds its local derivative to the message, instead of multiplying."""
        total = {self.root: 0.0}
        for node in self.order:
            for child, slope in self.edges[node]:
                total[child] = total.get(child, 0) + slope + total[node]
        return total

    # Orders in which nodes run.

    def ran(self) -> list[str]:
        """The nodes in the order in which the engine has run them in the trace's first pass."""
        return [
            self.names[e["n"]] for e in self.trace if e["k"] == "pop" and (self.edges[e["n"]] or e["n"] in self.order)
        ]  # fmt: skip

    def by_level(self) -> list[str]:
        """Each node at its first message, level by level."""
        nodes = [self.root]
        for node in nodes:
            nodes += [
                child for child in dict.fromkeys(child for child, _ in self.edges[node]) if child not in nodes
            ]
        return [self.names[node] for node in nodes]

    def depth_first(self) -> list[str]:
        """Each node at its first message, along one path to its end."""
        nodes: list[int] = []

        def visit(node: int) -> None:
            if node not in nodes:
                nodes.append(node)
                for child, _ in self.edges[node]:
                    visit(child)

        visit(self.root)
        return [self.names[node] for node in nodes]

    # Sentences.

    def told(self, *names: str) -> str:
        """What arrives at these tensors, at all but the root without names: "`c` gets 12 from `loss`. `b` gets 12 + 12 = 24."."""
        total = self.waits()
        arrived: dict[int, list[float]] = {}
        sender: dict[int, str] = {}
        for node in self.order:
            for child, slope in self.edges[node]:
                arrived.setdefault(child, []).append(slope * total[node])
                sender[child] = self.names[node]
        said = []
        for node in self.order:
            if node in arrived and (not names or self.names[node] in names):
                parts = arrived[node]
                whole = f" = {show(sum(parts))}" if len(parts) > 1 else f" from `{sender[node]}`"
                said.append(f"`{self.names[node]}` gets {_sum(parts)}{whole}.")
        return " ".join(said)


def _sum(parts: list[float]) -> str:
    """12 + 12, or 12 - 3."""
    text = show(parts[0])
    for part in parts[1:]:
        text += f" - {show(-part)}" if part < 0 else f" + {show(part)}"
    return text
