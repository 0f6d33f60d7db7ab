"""The groups of a picture: the trace's scopes, without those that would fold nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from autograd_lab.tracing.scopes import ITERATION, SEPARATOR

Record = dict[str, Any]

LEAST = 4  # a group of fewer units gets no box
OPTIMIZER = "optimizer"  # what an optimizer read in one iteration of a training loop
BACKWARD = (
    "backward"  # a pass of one, which no units are of if it makes no graph: a box that says how far it is
)
LEAVES = "shared leaves"
SHARED = 12  # more leaves than this in one group, each used by several others in it, are a group themselves
BUNDLES = 12  # into which the parts of a picture are put if they are too many
MOST = 60  # at most so many boxes are visible at first


class _Tree:
    """The paths of scopes as numbers: 0 is the outermost, and a group's number is greater than that of the one around it."""

    def __init__(self) -> None:
        self.parent = [0]
        self.name = [""]
        self.depth = [0]
        self._inside: dict[tuple[int, str], int] = {}
        self._known = {"": 0}

    def __len__(self) -> int:
        return len(self.parent)

    def find(self, path: str) -> int:
        """The number of a path."""
        new: list[str] = []
        here = path
        while here not in self._known:
            new.append(here)
            here = here.rpartition(SEPARATOR)[0]
        for longer in reversed(new):
            self._known[longer] = self.inner(self._known[here], longer.rpartition(SEPARATOR)[2])
            here = longer
        return self._known[path]

    def inner(self, group: int, name: str) -> int:
        """The number of the group of this name in a group."""
        found = self._inside.get((group, name))
        if found is None:
            found = self._inside[group, name] = len(self)
            self.parent.append(group)
            self.name.append(name)
            self.depth.append(self.depth[group] + 1)
        return found

    def nearest(self, kept: set[int]) -> list[int]:
        """For each group: itself if it is kept, otherwise the innermost kept one around it, otherwise 0."""
        found = [0]
        for g in range(1, len(self)):
            found.append(g if g in kept else found[self.parent[g]])
        return found


def folded(paths: Sequence[str], lines: Iterable[tuple[int, int]]) -> tuple[list[Record], list[int]]:
    """The groups, outer ones first: {"name", "parent" (-1 for none), "units"}; and the group of each unit.

    `paths` are the units' scopes, `lines` the pairs of connected units. Groups of few units are dissolved, apart from the passes
    of a training loop, and so are groups that contain just one group, which inherits their name.
    """
    tree = _Tree()
    of_unit = [tree.find(path) for path in paths]
    _shared_leaves(tree, of_unit, lines)
    count = [0] * len(tree)
    for g in of_unit:
        count[g] += 1
    for g in range(len(tree) - 1, 0, -1):
        count[tree.parent[g]] += count[g]
    passes = {
        g
        for g in range(1, len(tree))
        if tree.name[g] == BACKWARD and ITERATION.fullmatch(tree.name[tree.parent[g]])
    }
    kept = {g for g in range(1, len(tree)) if count[g] >= LEAST}
    turns: dict[tuple[int, str], list[int]] = {}
    for g in range(1, len(tree)):
        if found := ITERATION.fullmatch(tree.name[g]):
            turns.setdefault((tree.parent[g], found[2]), []).append(g)
    for loop in turns.values():  # all its turns, or none
        if sum(count[g] for g in loop) <= LEAST * len(loop):
            kept.difference_update(loop)
    kept -= {g for g in kept if tree.depth[g] == 1 and count[g] == len(paths)}  # a frame around everything
    kept |= passes | {tree.parent[g] for g in passes}
    near = tree.nearest(kept)
    home = [near[g] for g in of_unit]
    direct = Counter(home)
    inside: dict[int, list[int]] = {}
    for g in sorted(kept):
        inside.setdefault(near[tree.parent[g]], []).append(g)
    names = {g: tree.name[g] for g in kept}
    for g in sorted(kept):  # outer ones first: a group that only wraps another passes its name on
        if not direct[g] and len(inside.get(g, ())) == 1:
            child = inside[g][0]
            names[child] = _both(names[g], names[child])
            kept.discard(g)
    near = tree.nearest(kept)
    first = [len(paths)] * len(tree)
    for i, g in enumerate(home):
        first[g] = min(first[g], i)
    for g in range(len(tree) - 1, 0, -1):
        first[tree.parent[g]] = min(first[tree.parent[g]], first[g])
    number = {0: -1}
    groups: list[Record] = []
    for g in sorted(kept, key=lambda g: (tree.depth[g], first[g])):
        number[g] = len(groups)
        groups.append({"name": names[g], "parent": number[near[tree.parent[g]]], "units": count[g]})
    return groups, [number[g] for g in home]


def bundled(paths: Sequence[str]) -> list[str]:
    """The paths with one more group around each few parts of the fullest group, for a picture in which these are too many.

    A part is a group, or a unit that is in none further inside; they are taken in their order.
    """
    inside: dict[tuple[str, ...], dict[str, None]] = {}
    chains = [(*(path.split(SEPARATOR) if path else ()), f"{SEPARATOR}{u}") for u, path in enumerate(paths)]
    for chain in chains:
        for depth, part in enumerate(chain):
            inside.setdefault(chain[:depth], {})[part] = None
    full = max(inside, key=lambda group: len(inside[group]))
    parts = [
        part for part in inside[full] if not part.startswith(SEPARATOR)
    ]  # a few units beside them stay where they are
    if len(inside[full]) - len(parts) > MOST - BUNDLES:
        parts = list(inside[full])
    number = {part: i * BUNDLES // len(parts) for i, part in enumerate(parts)}
    labels = []
    for n in range(BUNDLES):
        found = [ITERATION.fullmatch(part) for part, of in number.items() if of == n]
        turns = [one[1] for one in found if one]
        whole = turns and len(turns) == len(found)
        labels.append(f"iterations {turns[0]} to {turns[-1]}" if whole else f"part {n + 1} of {BUNDLES}")
    depth = len(full)
    return [
        SEPARATOR.join(
            (*full, labels[number[chain[depth]]], *chain[depth:-1])
            if chain[:depth] == full and chain[depth] in number
            else chain[:-1]
        )
        for chain in chains
    ]


def _shared_leaves(tree: _Tree, of_unit: list[int], lines: Iterable[tuple[int, int]]) -> None:
    """Put the leaves that several parts of a group share into a group of their own, if they are many."""
    fed: set[int] = set()
    users: dict[int, set[int]] = {}
    for u, v in lines:
        fed.add(v)
        part, deepest = of_unit[v], tree.depth[of_unit[u]] + 1
        while tree.depth[part] > deepest:
            part = tree.parent[part]
        users.setdefault(u, set()).add(part)
    shared = [u for u in users if u not in fed and len(users[u]) > 1]
    many = Counter(of_unit[u] for u in shared)
    for u in shared:
        if many[of_unit[u]] > SHARED:
            of_unit[u] = tree.inner(of_unit[u], LEAVES)


def _both(outer: str, inner: str) -> str:
    """The name of a group that is the only content of another one."""
    turn = ITERATION.fullmatch(outer)
    if ITERATION.fullmatch(inner):  # the only one
        return outer
    if turn:  # a module has a name of its own; a call is one of as many as the loop has iterations
        return inner if ": " in inner else f"{inner} #{turn[1]}"
    return f"{outer} \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} {inner}"


def visible(groups: Sequence[Record], group_of: Sequence[int], open_ones: Iterable[int]) -> int:
    """How many boxes are visible while some groups are open."""
    shown = {-1, *open_ones}
    return sum(group["parent"] in shown for group in groups) + sum(g in shown for g in group_of)


def opened(groups: Sequence[Record], group_of: Sequence[int]) -> list[int]:
    """The groups that are open at first: level by level, as long as no more than `MOST` boxes are visible."""
    direct, inside = Counter(group_of), Counter(group["parent"] for group in groups)
    depth: list[int] = []
    for group in groups:
        depth.append(depth[group["parent"]] + 1 if group["parent"] >= 0 else 0)
    seen = direct[-1] + inside[-1]
    found: list[int] = []
    loop = any(group.get("name") == OPTIMIZER for group in groups)
    for level in range(max(depth, default=-1) + 1):
        here = [g for g, d in enumerate(depth) if d == level]
        if loop and any(
            ITERATION.fullmatch(groups[g]["name"]) for g in here
        ):  # each a box, until one looks inside
            break
        seen += sum(direct[g] + inside[g] - 1 for g in here)
        if seen > MOST:
            break
        found += [g for g in here if "pass" not in groups[g] and groups[g].get("name") != LEAVES]
    return found
