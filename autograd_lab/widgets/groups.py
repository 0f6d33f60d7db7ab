"""Which groups a picture has: the trace's scopes, without those that would fold nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from autograd_lab.tracing.scopes import SEPARATOR

Record = dict[str, Any]

LEAST = 4  # a group of fewer units is not worth a box
SHARED = 12  # more leaves than this in one group, each used by several others in it, are a group themselves
MOST = 60  # so many boxes at most are seen at first
_TURN = re.compile(r"line \d+, turn (\d+)")


def folded(paths: Sequence[str], lines: Iterable[tuple[int, int]]) -> tuple[list[Record], list[int]]:
    """The groups, outer ones first: {"name", "parent" (-1 for none), "units"}; and the group of each unit.

    `paths` are the units' scopes, `lines` the pairs of units that are joined. Groups of few units are dissolved, and those
    that hold just one group, whose name they pass on.
    """
    split = [tuple(path.split(SEPARATOR)) if path else () for path in paths]
    split = _shared_leaves(split, lines)
    count = Counter(path[:depth] for path in split for depth in range(1, len(path) + 1))
    kept = {path for path, units in count.items() if units >= LEAST}
    turns: dict[tuple[str, ...], list[int]] = {}
    for path, units in count.items():
        if _TURN.fullmatch(path[-1]):
            turns.setdefault((*path[:-1], path[-1].partition(",")[0]), []).append(units)
    small = {
        loop for loop, sizes in turns.items() if sum(sizes) <= LEAST * len(sizes)
    }  # all its turns, or none
    kept -= {path for path in kept if (*path[:-1], path[-1].partition(",")[0]) in small}
    kept -= {
        path for path in kept if len(path) == 1 and count[path] == len(split)
    }  # a frame around everything
    home = [next((path[:d] for d in range(len(path), 0, -1) if path[:d] in kept), ()) for path in split]
    direct = Counter(home)
    inside: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in kept:
        inside.setdefault(_parent(path, kept), []).append(path)
    names = {path: path[-1] for path in kept}
    for path in sorted(kept, key=len):  # outer ones first: what only wraps another group passes its name on
        if not direct[path] and len(inside.get(path, ())) == 1:
            child = inside[path][0]
            names[child] = _both(names[path], names[child])
            kept.discard(path)
    number: dict[tuple[str, ...], int] = {(): -1}
    groups: list[Record] = []
    first: dict[tuple[str, ...], int] = {}
    for i, path in enumerate(home):
        for depth in range(1, len(path) + 1):
            first.setdefault(path[:depth], i)
    for path in sorted(kept, key=lambda path: (len(path), first[path])):
        number[path] = len(groups)
        groups.append({"name": names[path], "parent": number[_parent(path, kept)], "units": count[path]})
    return groups, [number[path] for path in home]


def _shared_leaves(split: list[tuple[str, ...]], lines: Iterable[tuple[int, int]]) -> list[tuple[str, ...]]:
    """Put the leaves that several parts of a group share into a group of their own, if they are many."""
    fed: set[int] = set()
    users: dict[int, set[tuple[str, ...]]] = {}
    for u, v in lines:
        fed.add(v)
        users.setdefault(u, set()).add(split[v][: len(split[u]) + 1])
    shared = [u for u in users if u not in fed and len(users[u]) > 1]
    many = Counter(split[u] for u in shared)
    moved = list(split)
    for u in shared:
        if many[split[u]] > SHARED:
            moved[u] = (*split[u], "shared leaves")
    return moved


def _both(outer: str, inner: str) -> str:
    """The name of a group that is all there is in another one."""
    turn = _TURN.fullmatch(outer)
    if _TURN.fullmatch(inner):  # the only turn
        return outer
    if turn:  # a module has a name of its own; a call is one of as many as the loop has turns
        return inner if ": " in inner else f"{inner} #{turn[1]}"
    return f"{outer} \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} {inner}"


def _parent(path: tuple[str, ...], kept: set[tuple[str, ...]]) -> tuple[str, ...]:
    return next((path[:d] for d in range(len(path) - 1, 0, -1) if path[:d] in kept), ())


def opened(groups: Sequence[Record], group_of: Sequence[int]) -> list[int]:
    """The groups that are open at first: level by level, as long as no more than `MOST` boxes are seen."""
    direct, inside = Counter(group_of), Counter(group["parent"] for group in groups)
    depth: list[int] = []
    for group in groups:
        depth.append(depth[group["parent"]] + 1 if group["parent"] >= 0 else 0)
    seen = direct[-1] + inside[-1]
    found: list[int] = []
    for level in range(max(depth, default=-1) + 1):
        here = [g for g, d in enumerate(depth) if d == level]
        seen += sum(direct[g] + inside[g] - 1 for g in here)
        if seen > MOST:
            break
        found += here
    return found
