"""Where things go: a small layered layout for graphs that are built top to bottom.

    rank     each box one row below the lowest box it depends on; sources directly above their first user
    order    barycentre sweeps, with invisible boxes where an edge passes through a row
    place    each box over the mean of its neighbours, as near as the boxes beside it allow

Sources with a single user (weights, constants) take no part in the ordering: each is set beside what its user
already has above it, which leaves far fewer crossings. The result depends on nothing but the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Where the boxes' anchors are, points that each edge passes between its ends, and the size of the whole."""

    anchors: list[Point]
    bends: dict[tuple[int, int], list[Point]]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float, float]],
    edges: Iterable[tuple[int, int]],
    *,
    gap: float = 26,
    row_gap: float = 60,
    lane: float = 34,
) -> Layout:
    """Place boxes; every edge (u, v) leads down, and needs u < v.

    A box's size is how far it reaches to the left and right of its anchor, and its height; anchors of boxes that
    are joined are brought above each other. `gap` and `row_gap` are the least distances between boxes; `lane` is
    the room an edge needs where it passes through a row.
    """
    pairs = sorted({(u, v) for u, v in edges if u < v})
    n = len(sizes)
    if not n:
        return Layout([], {}, 0, 0)
    below: list[list[int]] = [[] for _ in range(n)]
    above: list[list[int]] = [[] for _ in range(n)]
    for u, v in pairs:
        below[u].append(v)
        above[v].append(u)
    rank = _ranks(above, below)
    glued = {u: below[u][0] for u in range(n) if not above[u] and len(below[u]) == 1}

    # Invisible boxes, so that every edge leads from one row to the next.
    reach = [(left, right) for left, right, _ in sizes]
    row_of = list(rank)
    up: list[list[int]] = [[] for _ in range(n)]
    down: list[list[int]] = [[] for _ in range(n)]
    chains: dict[tuple[int, int], list[int]] = {}
    for u, v in pairs:
        last, chain = u, []
        for r in range(rank[u] + 1, rank[v]):
            dummy = len(reach)
            reach.append((lane / 2, lane / 2))
            row_of.append(r)
            up.append([last])
            down.append([])
            down[last].append(dummy)
            chain.append(dummy)
            last = dummy
        down[last].append(v)
        up[v].append(last)
        chains[u, v] = chain

    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in range(len(reach)):
        if i not in glued:
            rows[row_of[i]].append(i)
    _order(rows, up, down, glued)
    _glue(rows, up, down, glued, rank)
    xs = _place(rows, up, down, reach, gap, n, glued)

    heights = [max((sizes[i][2] for i in row if i < n), default=0.0) for row in rows]
    gaps = _row_gaps(rows, down, xs, row_gap)
    ys, y = [], 0.0
    for h, space in zip(heights, gaps, strict=True):
        ys.append(y + h / 2)
        y += h + space
    left = min(xs[i] - reach[i][0] for i in range(n))
    right = max(xs[i] + reach[i][1] for i in range(n))
    anchors = [(xs[i] - left, ys[rank[i]]) for i in range(n)]
    bends = {key: [(xs[d] - left, ys[row_of[d]]) for d in chain] for key, chain in chains.items()}
    return Layout(anchors, bends, right - left, y - gaps[-1])


def _row_gaps(rows: list[list[int]], down: list[list[int]], xs: list[float], least: float) -> list[float]:
    """Room below each row: more where its edges run far sideways, so that they do not lie flat."""
    gaps = []
    for row in rows:
        runs = [abs(xs[item] - xs[x]) for item in row for x in down[item]]
        gaps.append(least + min(sum(runs) / len(runs) * 0.08, 1.5 * least) if runs else least)
    return gaps


def _ranks(above: list[list[int]], below: list[list[int]]) -> list[int]:
    """Rows: as high as possible, but sources next to their first user."""
    rank = [0] * len(above)
    for v, us in enumerate(above):  # u < v for every edge, so this order is topological
        rank[v] = max((rank[u] + 1 for u in us), default=0)
    for u, vs in enumerate(below):
        if not above[u] and vs:
            rank[u] = max(min(rank[v] for v in vs) - 1, 0)
    lowest = min(rank)
    return [r - lowest for r in rank]


def _order(
    rows: list[list[int]], up: list[list[int]], down: list[list[int]], glued: dict[int, int], sweeps: int = 8
) -> None:
    """Order each row by the mean place of its neighbours above, then below, and so on; keep the best."""
    place: dict[int, float] = {}
    for row in rows:
        for i, item in enumerate(row):
            place[item] = float(i)
    best, fewest = [list(row) for row in rows], _crossings(rows, down, place)
    for sweep in range(sweeps):
        if not fewest:
            break
        neighbours, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for row in order:
            keys = {}
            for item in row:
                near = [place[x] for x in neighbours[item] if x not in glued]
                keys[item] = sum(near) / len(near) if near else place[item]
            row.sort(key=lambda item: (keys[item], place[item]))
            for i, item in enumerate(row):
                place[item] = float(i)
        count = _crossings(rows, down, place)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best


def _crossings(rows: list[list[int]], down: list[list[int]], place: dict[int, float]) -> int:
    """How many edges between neighbouring rows cross, counted with a Fenwick tree."""
    total = 0
    for row, following in pairwise(rows):
        tree = [0] * (len(following) + 1)
        seen = 0
        for item in row:
            ends = sorted(int(place[x]) for x in down[item])
            for end in ends:
                i, smaller = end + 1, 0
                while i:
                    smaller += tree[i]
                    i &= i - 1
                total += seen - smaller
            for end in ends:
                seen += 1
                i = end + 1
                while i < len(tree):
                    tree[i] += 1
                    i += i & -i
    return total


def _glue(
    rows: list[list[int]], up: list[list[int]], down: list[list[int]], glued: dict[int, int], rank: list[int]
) -> None:
    """Put each single-use source beside what its user already has above it."""
    place = {item: (i + 1) / (len(row) + 1) for row in rows for i, item in enumerate(row)}
    spot = {item: float(i) for row in rows for i, item in enumerate(row)}
    guests: dict[int, list[tuple[float, int, int]]] = {}
    for u, v in glued.items():
        row = rows[rank[u]]
        hosts = [x for x in up[v] if x not in glued]
        if hosts:
            host = min(hosts, key=lambda x: spot[x])
            others = [place[x] for x in down[host]]
            if len(others) > 1 and place[v] != sum(others) / len(others):  # on its user's side of the host
                left = place[v] < sum(others) / len(others)
            else:  # left if it is the earlier operand
                left = up[v].index(u) < up[v].index(host)
            key = min(spot[x] for x in hosts) - 0.4 if left else max(spot[x] for x in hosts) + 0.4
        else:
            key = place[v] * (len(row) + 1) - 1
        guests.setdefault(rank[u], []).append((key, v, u))
    for r, news in guests.items():
        order = spot | {v: place[v] for _, v, _ in news}
        items = [(spot[item], 0.0, -1, item) for item in rows[r]]
        items += [(key, order[v], i, u) for i, (key, v, u) in enumerate(sorted(news))]
        rows[r] = [item for *_, item in sorted(items)]


def _place(
    rows: list[list[int]],
    up: list[list[int]],
    down: list[list[int]],
    reach: list[tuple[float, float]],
    gap: float,
    real: int,
    glued: dict[int, int],
    sweeps: int = 8,
) -> list[float]:
    """Anchors along the rows: every box as near to the mean of its neighbours as its row allows."""
    xs = [0.0] * len(reach)
    for row in rows:
        x = 0.0
        for item in row:
            xs[item] = x + reach[item][0]
            x += sum(reach[item]) + gap
        for item in row:
            xs[item] -= (x - gap) / 2
    pulls = [[x for x in near if x not in glued] for near in up]  # a leaf does not push its user aside
    for sweep in range(sweeps):
        here, there = (pulls, down) if sweep % 2 == 0 else (down, pulls)
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted, weights = [], []
            for item in row:
                near = here[item] or there[item]
                wanted.append(sum(xs[x] for x in near) / len(near) if near else xs[item])
                light = item in glued or not here[item]
                weights.append(0.1 if light else 4.0 if item >= real else 1.0)
            _settle(row, wanted, weights, reach, gap, xs)
    return xs


def _settle(
    row: list[int],
    wanted: list[float],
    weights: list[float],
    reach: list[tuple[float, float]],
    gap: float,
    xs: list[float],
) -> None:
    """Least squares with minimum distances: pool neighbours that want to overlap (isotonic regression)."""
    offsets, x = [], 0.0
    for i, item in enumerate(row):
        if i:
            x += reach[row[i - 1]][1] + gap + reach[item][0]
        offsets.append(x)
    blocks: list[list[float]] = []  # weighted sum, weight, number of items
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        blocks.append([(want - offset) * weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            top = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], top, strict=True)]
    i = 0
    for total, weight, count in blocks:
        for _ in range(int(count)):
            xs[row[i]] = total / weight + offsets[i]
            i += 1
