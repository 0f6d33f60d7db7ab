"""A small layered layout for graphs that are drawn from top to bottom.

    rank     each item one row below the lowest item it depends on; sources directly above their first user
    order    barycenter sweeps, with invisible items where an edge passes through a row
    place    each item over the mean of its neighbors, as near as the items beside it allow

Sources with a single user (weights, constants) are left out of the ordering: each is placed beside what its user
already has above it, which leaves far fewer crossings. The result depends only on the input.

The browser lays graphs out as well, when a group is opened or closed: assets/layout.js is this file in JavaScript, and a
test compares the two. So sums are written as loops: from Python 3.12 on, `sum` adds floats more exactly than JavaScript.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
#: (upper item, lower item, its offsets from the anchors of the upper and of the lower one, what it carries)
Edge = tuple[int, int, float, float, int]
#: (item, the preferred distance to its right)
Near = tuple[int, float]

MANY = 3000  # with more items than this, ordering and placing use fewer sweeps
ABREAST = 6  # so many groups fit side by side: the iterations of a loop would else be one row, and far too wide to be read


@dataclass(frozen=True)
class Layout:
    """The positions of the items' anchors, points that edges pass between their ends, and the total size.

    `bends` has, for each source and what leaves it, the points in the rows below the source; an edge passes as many as
    there are rows between its ends (`rows`).
    """

    anchors: list[Point]
    bends: dict[tuple[int, int], list[Point]]
    rows: list[int]
    width: float
    height: float

    def between(self, u: int, v: int, cargo: int) -> list[Point]:
        """The points that an edge passes."""
        return self.bends.get((u, cargo), [])[: max(self.rows[v] - self.rows[u] - 1, 0)]


def layered(
    sizes: Sequence[tuple[float, float, float]],
    edges: Iterable[Edge],
    top: int = 0,
    bottom: int = 0,
    firm: Collection[int] = (),
    *,
    gap: float = 26,
    row_gap: float = 60,
    lane: float = 34,
) -> Layout:
    """Place items so that edges lead down.

    An item's size is its extent to the left and right of its anchor, and its height; anchors of connected items
    are aligned vertically. The first `top` items form a row of their own above all others, in the given
    order, the last `bottom` ones below; `firm` ones are not placed beside their user even if they are sources, and no row has
    more than `ABREAST` of them. Edges from one item that carry the same share a lane. `gap` and `row_gap` are the minimum distances between items; `lane` is the room
    that an edge needs where it passes through a row. Edges that would close a cycle are left out.
    """
    n = len(sizes)
    if not n:
        return Layout([], {}, [], 0, 0)
    pairs = sorted(set(edges))
    above: list[list[int]] = [[] for _ in range(n)]
    for u, v, *_ in pairs:
        if u != v and above[v][-1:] != [u]:  # equal pairs are adjacent
            above[v].append(u)
    order = _topological(above)
    place = {item: i for i, item in enumerate(order)}
    pairs = [edge for edge in pairs if place[edge[0]] < place[edge[1]]]
    above = [[u for u in us if place[u] < place[v]] for v, us in enumerate(above)]
    below: list[list[int]] = [[] for _ in range(n)]
    for v, us in enumerate(above):
        for u in us:
            below[u].append(v)
    rank = _ranks(order, above, below, top, bottom, firm)
    inner = range(top, n - bottom)
    single = (u for u in inner if not above[u] and len(below[u]) == 1 and u not in firm)
    glued = {u: below[u][0] for u in single if below[u][0] in inner}

    # Invisible items, so that every edge leads from one row to the next.
    reach = [(left, right) for left, right, _ in sizes]
    row_of = list(rank)
    up: list[list[Near]] = [[] for _ in range(n)]
    down: list[list[Near]] = [[] for _ in range(n)]
    lanes: dict[tuple[int, int], list[int]] = {}
    for u, v, leaves, enters, cargo in pairs:
        chain = lanes.setdefault((u, cargo), [])
        for r in range(rank[u] + 1 + len(chain), rank[v]):
            dummy, last = len(reach), chain[-1] if chain else u
            reach.append((lane / 2, lane / 2))
            row_of.append(r)
            off = 0.0 if chain else leaves
            up.append([(last, off)])
            down.append([])
            down[last].append((dummy, -off))
            chain.append(dummy)
        passed = rank[v] - rank[u] - 1
        last, off = (chain[passed - 1], 0.0) if passed else (u, leaves)
        down[last].append((v, enters - off))
        up[v].append((last, off - enters))

    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in range(len(reach)):
        if i not in glued:
            rows[row_of[i]].append(i)
    full = [sum(i in firm for i in row) == ABREAST for row in rows]
    for r, row in enumerate(rows):
        if full[r] or (
            r and full[r - 1]
        ):  # lanes to the rows below pass through the middle: beside it each row would be further aside
            things = [i for i in row if i < n]
            half = len(things) // 2
            rows[r] = [*things[:half], *(i for i in row if i >= n), *things[half:]]
    _order(rows, up, down, glued, 1 if top else 0, 8 if len(reach) < MANY else 4)
    _glue(rows, up, down, glued, rank)
    xs = _place(rows, up, down, reach, gap, n, glued, 8 if len(reach) < MANY else 5)

    heights = [max((sizes[i][2] for i in row if i < n), default=0.0) for row in rows]
    gaps = _row_gaps(rows, down, xs, row_gap, bool(top), bool(bottom))
    ys, y = [], 0.0
    for h, space in zip(heights, gaps, strict=True):
        ys.append(y + h / 2)
        y += h + space
    left = min(x - to_left for x, (to_left, _) in zip(xs, reach, strict=True))
    right = max(x + to_right for x, (_, to_right) in zip(xs, reach, strict=True))
    anchors = [(xs[i] - left, ys[rank[i]]) for i in range(n)]
    bends = {key: [(xs[d] - left, ys[row_of[d]]) for d in chain] for key, chain in lanes.items() if chain}
    return Layout(anchors, bends, rank, right - left, y - gaps[-1])


def _topological(above: list[list[int]]) -> list[int]:
    """The items, each after those it depends on, otherwise in their order; cycles are cut where they close."""
    order: list[int] = []
    seen = [0] * len(above)  # 1: begun, 2: done
    for first in range(len(above)):
        stack = [first]
        while stack:
            v = stack[-1]
            if seen[v] == 0:
                seen[v] = 1
                stack += [u for u in reversed(above[v]) if seen[u] == 0]
            else:
                stack.pop()
                if seen[v] == 1:
                    seen[v] = 2
                    order.append(v)
    return order


def _ranks(
    order: list[int],
    above: list[list[int]],
    below: list[list[int]],
    top: int,
    bottom: int,
    firm: Collection[int],
) -> list[int]:
    """Rows: as high as possible, but sources next to their first user, and full rows of `firm` ones go on in the next."""
    n = len(above)
    first = 1 if top else 0
    rank = [0] * n
    across = [0] * (n + 1)
    for v in order:
        if top <= v < n - bottom:
            rank[v] = first
            for u in above[v]:
                rank[v] = max(rank[v], rank[u] + 1)
            if v in firm:
                while across[rank[v]] == ABREAST:
                    rank[v] += 1
                across[rank[v]] += 1
    for u in range(top, n - bottom):
        inside = [rank[v] for v in below[u] if v < n - bottom]
        if not above[u] and inside:
            rank[u] = max(min(inside) - 1, first)
    if n > top + bottom:
        inner = rank[top : n - bottom]
        lowest, highest = min(inner) - first, max(inner)
        rank = [r - lowest if top <= v < n - bottom else 0 for v, r in enumerate(rank)]
        highest -= lowest
    else:
        highest = 0
    for v in range(n - bottom, n):
        rank[v] = highest + 1
    return rank


def _row_gaps(
    rows: list[list[int]], down: list[list[Near]], xs: list[float], least: float, top: bool, bottom: bool
) -> list[float]:
    """Room below each row: more if its edges run far sideways, so that they stay steep."""
    gaps = []
    for r, row in enumerate(rows):
        runs, count = 0.0, 0
        for item in row:
            for x, off in down[item]:
                runs += abs(xs[item] - xs[x] - off)
                count += 1
        port = (top and r == 0) or (bottom and r == len(rows) - 2)
        edge = (58.0 if count > 6 else 40.0) if port else 0.0
        gaps.append((edge or least) + (min(runs / count * 0.08, 1.5 * least) if count else 0.0))
    return gaps


def _order(
    rows: list[list[int]],
    up: list[list[Near]],
    down: list[list[Near]],
    glued: dict[int, int],
    fixed: int,
    sweeps: int,
) -> None:
    """Order each row by the mean place of its neighbors above, then below, and so on; keep the best."""
    place = [0] * len(up)
    for row in rows:
        for i, item in enumerate(row):
            place[item] = i
    best, fewest = [list(row) for row in rows], _crossings(rows, down, place)
    for sweep in range(sweeps):
        if not fewest:
            break
        neighbours, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for row in order:
            if fixed and row is rows[0]:
                continue
            keys = {}
            for item in row:
                total, count = 0.0, 0
                for x, _ in neighbours[item]:
                    if x not in glued:
                        total += place[x]
                        count += 1
                keys[item] = (total / count if count else float(place[item]), place[item])
            row.sort(key=keys.__getitem__)
            for i, item in enumerate(row):
                place[item] = i
        count = _crossings(rows, down, place)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best


def _crossings(rows: list[list[int]], down: list[list[Near]], place: list[int]) -> int:
    """The number of crossings between neighboring rows, counted with a Fenwick tree."""
    total = 0
    for row, following in pairwise(rows):
        tree = [0] * (len(following) + 1)
        seen = 0
        for item in row:
            ends = sorted([place[x] for x, _ in down[item]])
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
    rows: list[list[int]],
    up: list[list[Near]],
    down: list[list[Near]],
    glued: dict[int, int],
    rank: list[int],
) -> None:
    """Place each single-use source beside what its user already has above it."""
    place, spot = {}, {}
    for row in rows:
        for i, item in enumerate(row):
            place[item], spot[item] = (i + 1) / (len(row) + 1), float(i)
    guests: dict[int, list[tuple[float, int, int]]] = {}
    for u, v in glued.items():
        row = rows[rank[u]]
        operands = [x for x, _ in up[v]]
        hosts = [x for x in operands if x not in glued]
        if hosts:
            host = min(hosts, key=spot.__getitem__)
            others, total = 0, 0.0
            for x, _ in down[host]:
                total += place[x]
                others += 1
            mean = total / others
            if others > 1 and place[v] != mean:  # on its user's side of the host
                left = place[v] < mean
            else:  # left if it is the earlier operand
                left = operands.index(u) < operands.index(host)
            key = min(spot[x] for x in hosts) - 0.4 if left else max(spot[x] for x in hosts) + 0.4
        else:
            key = place[v] * (len(row) + 1) - 1
        guests.setdefault(rank[u], []).append((key, v, u))
    for r, news in guests.items():
        items = [(spot[item], 0.0, -1, item) for item in rows[r]]
        items += [(key, place[v], i, u) for i, (key, v, u) in enumerate(sorted(news))]
        rows[r] = [item for *_, item in sorted(items)]


def _place(
    rows: list[list[int]],
    up: list[list[Near]],
    down: list[list[Near]],
    reach: list[tuple[float, float]],
    gap: float,
    real: int,
    glued: dict[int, int],
    sweeps: int,
) -> list[float]:
    """Anchors along the rows: every item as near to the mean of its neighbors as its row allows."""
    xs = [0.0] * len(reach)
    for row in rows:
        x = 0.0
        for item in row:
            xs[item] = x + reach[item][0]
            x += reach[item][0] + reach[item][1] + gap
        for item in row:
            xs[item] -= (x - gap) / 2
    pulls = [
        [near for near in nears if near[0] not in glued] for nears in up
    ]  # a leaf does not push its user
    for sweep in range(sweeps):
        here, there = (pulls, down) if sweep % 2 == 0 else (down, pulls)
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted, weights = [], []
            for item in row:
                near = here[item] or there[item]
                total, load = 0.0, 0.0
                for x, off in near:  # lanes should be straight, and must not push items aside
                    weight = 1.0 if (x >= real) == (item >= real) else 0.02
                    total += (xs[x] + off) * weight
                    load += weight
                wanted.append(total / load if near else 0.0)  # unconnected items stay in the middle
                light = item in glued or not here[item]
                weights.append(0.002 if light else 4.0 if item >= real else 1.0)
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
    """Least squares with minimum distances: pool neighbors that would overlap (isotonic regression)."""
    offsets, x = [], 0.0
    for i, item in enumerate(row):
        if i:
            x += reach[row[i - 1]][1] + gap + reach[item][0]
        offsets.append(x)
    sums: list[float] = []  # for each pool: weighted sum, weight, number of items
    loads: list[float] = []
    counts: list[int] = []
    for i, weight in enumerate(weights):
        total, load, count = (wanted[i] - offsets[i]) * weight, weight, 1
        while sums and sums[-1] / loads[-1] >= total / load:
            total += sums.pop()
            load += loads.pop()
            count += counts.pop()
        sums.append(total)
        loads.append(load)
        counts.append(count)
    i = 0
    for total, load, count in zip(sums, loads, counts, strict=True):
        for _ in range(count):
            xs[row[i]] = total / load + offsets[i]
            i += 1
