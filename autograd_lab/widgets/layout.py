"""A small layered layout for graphs that are drawn from top to bottom.

    rank     each item one row below the lowest item it depends on; sources directly above their first user
    order    barycenter sweeps, with invisible items where an edge passes through a row
    place    each item over the mean of its neighbors, as near as the items beside it allow

Sources with a single user (weights, constants) are left out of the ordering: each is placed beside what its user
already has above it, which leaves far fewer crossings. The result depends only on the input.

Where a row would be too wide to be read, branches move: each directly above its user, as the terms of a long sum, and the many
of one user, as of a `stack` of a list, go on in the next row like words (see `_Branches`).

The browser lays graphs out as well, when a group is opened or closed: assets/layout.js is this file in JavaScript, and a
test compares the two. So sums are written as loops: from Python 3.12 on, `sum` adds floats more exactly than JavaScript.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, sqrt

Point = tuple[float, float]
#: (upper item, lower item, its offsets from the anchors of the upper and of the lower one, what it carries)
Edge = tuple[int, int, float, float, int]
#: (item, the preferred distance to its right)
Near = tuple[int, float]
#: for sorting
Key = tuple[int, ...]

MANY = 3000  # with more items than this, ordering and placing use fewer sweeps
ABREAST = 6  # at most so many groups are side by side: the iterations of a loop would else be one row, and far too wide to be read
ROOM = 1300.0  # and so wide are about as many leaves


@dataclass(frozen=True)
class Layout:
    """The positions of the items' anchors, points that edges pass between their ends, and the total size.

    `bends` has, for each source and what leaves it, the points in the rows below the source; an edge passes as many as
    there are rows between its ends (`rows`). Branches in several rows share lanes: `joined` has the keys of those, whose points lead
    to the user.
    """

    anchors: list[Point]
    bends: dict[tuple[int, int], list[Point]]
    rows: list[int]
    width: float
    height: float
    joined: dict[int, tuple[int, int]] = field(default_factory=dict)

    def between(self, u: int, v: int, cargo: int) -> list[Point]:
        """The points that an edge passes."""
        passed = max(self.rows[v] - self.rows[u] - 1, 0)
        if u in self.joined:
            points = self.bends.get(self.joined[u], [])
            return points[len(points) - passed :]
        return self.bends.get((u, cargo), [])[:passed]


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
    more of them than `_beside` says. Edges from one item that carry the same share a lane. `gap` and `row_gap` are the minimum distances between items; `lane` is the room
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
    inner = range(top, n - bottom)
    branches = _Branches(above, below, inner, firm)
    rank = _ranks(order, branches, [left + right + gap for left, right, _ in sizes])
    columns = branches.column
    single = (u for u in inner if not above[u] and len(below[u]) == 1 and u not in firm and u not in columns)
    glued = {u: below[u][0] for u in single if below[u][0] in inner}

    # Invisible items, so that every edge leads from one row to the next.
    reach = [(left, right) for left, right, _ in sizes]
    row_of = list(rank)
    up: list[list[Near]] = [[] for _ in range(n)]
    down: list[list[Near]] = [[] for _ in range(n)]
    lanes: dict[tuple[int, int], list[int]] = {}
    joined: dict[int, tuple[int, int]] = {}
    keys = [branches.key(i) for i in range(n)] if columns else []
    for u, v, leaves, enters, cargo in pairs:
        passed = rank[v] - rank[u] - 1
        aside = 0.0  # a branch is beside its lane
        if u in columns:
            joined[u] = -1 - v, columns[u] // 2
            left, right, _ = sizes[u]
            aside = -right - gap - lane / 2 if columns[u] % 2 == 0 else left + gap + lane / 2
        chain = lanes.setdefault(joined.get(u, (u, cargo)), [])
        if u in joined and chain and passed:  # the first one in this lane comes from the row above
            first = chain[len(chain) - passed]
            up[first].append((u, -aside))
            down[u].append((first, aside))
            continue
        for r in range(rank[u] + 1 + len(chain) * (u not in joined), rank[v]):
            dummy, last = len(reach), chain[-1] if chain else u
            reach.append((lane / 2, lane / 2))
            row_of.append(r)
            off = 0.0 if chain else -aside if aside else leaves
            up.append([(last, off)])
            down.append([])
            down[last].append((dummy, -off))
            chain.append(dummy)
            if columns:
                keys.append(branches.lane(u, dummy))
        last, off = (chain[passed - 1], 0.0) if passed else (u, leaves)
        down[last].append((v, enters - off))
        up[v].append((last, off - enters))

    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in range(len(reach)):
        if i not in glued:
            rows[row_of[i]].append(i)
    if columns:
        for row in rows:
            row.sort(key=keys.__getitem__)
    full = [sum(i in firm for i in row) == branches.abreast for row in rows]
    for r, row in enumerate(rows):
        if full[r] or (
            r and full[r - 1]
        ):  # lanes to the rows below pass through the middle: beside it each row would be further aside
            things = [i for i in row if i < n]
            half = len(things) // 2
            rows[r] = [*things[:half], *(i for i in row if i >= n), *things[half:]]
    _order(rows, up, down, glued, keys, 1 if top else 0, 8 if len(reach) < MANY else 4)
    _glue(rows, up, down, glued, keys, rank)
    xs = _place(rows, up, down, reach, gap, n, glued, branches.slight, 8 if len(reach) < MANY else 5)

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
    return Layout(anchors, bends, rank, right - left, y - gaps[-1], joined)


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


def _ranks(order: list[int], branches: _Branches, widths: Sequence[float]) -> list[int]:
    """Rows: as high as possible, but sources next to their first user, and full rows of `firm` ones go on in the next.

    Where more than `ABREAST` items would be in a row, branches move.
    """
    inner, n = branches.inner, branches.nobody
    rank = _rising(order, branches)
    across = [0] * (n + 1)
    for v in inner:
        across[rank[v]] += v in branches.firm
    branches.abreast = _beside(max(across))
    if max(across) > branches.abreast:
        rank = _rising(order, branches)
    across = [0] * (n + 1)
    for v in inner:
        across[rank[v]] += 1
    if max(across) > ABREAST:
        branches.find(order, rank, widths)
        rank = _rising(order, branches)
    _above_groups(branches, rank)
    highest = 0
    if inner:
        lowest = min(rank[v] for v in inner) - branches.first
        rank = [r - lowest if v in inner else 0 for v, r in enumerate(rank)]
        highest = max(rank[v] for v in inner)
    for v in range(inner.stop, n):
        rank[v] = highest + 1
    return rank


def _rising(order: list[int], branches: _Branches) -> list[int]:
    above, below, inner, first = branches.above, branches.below, branches.inner, branches.first
    rank = [0] * len(above)
    across = [0] * (len(above) + 1)
    for v in order:
        if v in inner:
            rank[v] = first
            for u in above[v]:
                rank[v] = max(rank[v], rank[u] + 1)
            rank[v] = branches.rank(v, rank)
            if v in branches.firm:
                while across[rank[v]] == branches.abreast:
                    rank[v] += 1
                across[rank[v]] += 1
            branches.ranked(v, rank)
    branches.move(order, rank)
    for u in inner:
        users = [rank[v] for v in below[u] if v < inner.stop]
        if not above[u] and users and u not in branches.column:
            rank[u] = max(min(users) - 1, first)
    return rank


def _beside(count: int) -> int:
    """How many of so many groups are side by side: about as many as rows, so that the whole is as wide as it is high."""
    return min(max(ceil(sqrt(count)), ABREAST // 2), ABREAST)


def _above_groups(branches: _Branches, rank: list[int]) -> None:
    """Sources that several groups use, as the weights that a loop trains, stand in rows that are no wider than theirs.

    Those of a long loop, which is as high as a pane by itself, are one row.
    """
    if branches.abreast == ABREAST:
        return
    found: dict[int, list[int]] = {}
    for u in branches.inner:
        users = branches.below[u]
        shared = not branches.above[u] and len(users) > 1 and u not in branches.column
        if shared and all(v in branches.firm for v in users):
            found.setdefault(rank[u], []).append(u)
    for us in found.values():
        rows = ceil(len(us) / max(branches.abreast, _beside(len(us))))
        each = ceil(len(us) / rows)
        for i, u in enumerate(us):
            rank[u] -= rows - 1 - i // each


class _Branches:
    """Where the branches of a graph move: a branch is an item and all above it, if nothing else uses that, but for shared sources.

    A branch moves to directly above its user. More than `ABREAST` of one user are parted into *bands*, one below the other, in columns;
    two columns share a lane. Groups stay where they are, and so does what depends on them, or on what comes through the frame around all.
    Those are near to the ports then, of which each has lanes of its own.
    """

    def __init__(
        self, above: list[list[int]], below: list[list[int]], inner: range, firm: Collection[int]
    ) -> None:
        self.above, self.below, self.inner, self.firm = above, below, inner, firm
        self.first = 1 if inner.start else 0  # the highest row
        self.nobody = len(above)  # stands for the user of all that has none
        self.abreast = self.nobody + 1  # how many groups are in a row
        self.exits = [self.nobody] * (self.nobody + 1)  # where all ways from an item meet
        self.bands: dict[int, list[list[int]]] = {}  # user -> its branches
        self.column: dict[int, int] = {}  # of a branch, if there are several bands
        self.slight: set[int] = set()  # branches beside one that is longer: their user stands below that one
        self.paths: list[Key] = []
        self.tall: list[int] = []  # rows that an item and all above it take

    def find(self, order: list[int], rank: list[int], widths: Sequence[float]) -> None:
        """Find all branches, and part those that are too many; `rank` is where they were so far."""
        above, below, inner, nobody, exits = self.above, self.below, self.inner, self.nobody, self.exits
        depth = [0] * (nobody + 1)
        for u in reversed(order):
            meet = below[u][0] if below[u] else nobody
            for v in below[u][1:]:
                while v != meet:
                    if depth[v] >= depth[meet]:
                        v = exits[v]
                    else:
                        meet = exits[meet]
            exits[u] = meet
            depth[u] = depth[meet] + 1
        reach = [0] * (nobody + 1)  # the depth of the farthest place where ways from above an item meet
        wide = [0.0] * (nobody + 1)
        for v in [*(v for v in order if v in inner), nobody]:
            found: list[int] = []
            reach[v] = nobody + 1
            for u in above[v] if v != nobody else [u for u in inner if not below[u]]:
                if u not in inner or (u in self.firm and (above[u] or len(below[u]) == 1)):
                    reach[v] = -1
                elif u not in self.firm and len(below[u]) == (v != nobody) and reach[u] >= depth[u]:
                    found.append(u)
                elif above[u]:
                    reach[v] = min(reach[v], depth[exits[u]], reach[u])
            wide[v] = widths[v] if v != nobody else 0.0
            total, least, tallest = 0.0, 0.0, 0
            for u in found:
                total += wide[u]
                least += widths[u]
                tallest = max(tallest, rank[u] - self.first + 1)
            if len(found) > ABREAST and total > ROOM and tallest <= ABREAST:
                most = max(2, min(ABREAST, floor(ROOM * len(found) / total)))
                each = ceil(len(found) / ceil(len(found) / most))
                found.sort()
                self.bands[v] = [found[i : i + each] for i in range(0, len(found), each)]
                self.column.update((u, c) for band in self.bands[v] for c, u in enumerate(band))
                wide[v] = max(wide[v], ROOM)
            elif found and v != nobody:
                self.bands[v] = [found]
                self.slight.update(u for u in found if rank[u] < rank[v] - 2)
                wide[v] = max(wide[v], least, *(wide[u] for u in found))
        self.paths = [()] * (nobody + 1)
        for u in reversed(order):
            self.paths[u] = self.paths[exits[u]]
            if u in self.column:
                self.paths[u] += self.bands[exits[u]][0][0] - nobody, self.column[u], 0

    def rank(self, v: int, rank: list[int]) -> int:
        """The row of an item below all its branches."""
        found, under = rank[v], 0
        for band in reversed(self.bands.get(v, ())):
            for u in band:
                found = max(found, rank[u] + 1 + under)
            under += max(self.tall[u] for u in band)
        return found

    def ranked(self, v: int, rank: list[int]) -> None:
        """Note how tall what ends in an item is, now that its row is known."""
        if not self.tall:
            self.tall = [1] * self.nobody
        highest = rank[v]
        for u in self.above[v]:
            if u in self.inner and (self.above[u] or self.exits[u] == v):
                highest = min(highest, rank[u] - self.tall[u] + 1)
        self.tall[v] = rank[v] - highest + 1

    def move(self, order: list[int], rank: list[int]) -> None:
        """Move all branches to where their users are."""
        shift = [0] * (self.nobody + 1)
        for v, bands in self.bands.items():
            row = self.first if v == self.nobody else rank[v]
            for band in bands if v == self.nobody else bands[::-1]:
                tall = max(self.tall[u] for u in band)
                if v == self.nobody:  # from the top
                    row = max(row + tall - 1, *(rank[u] for u in band))
                for u in band:
                    shift[u] = row - (v != self.nobody) - rank[u]
                row += 1 if v == self.nobody else -tall
        for u in reversed(order):
            if u in self.inner:
                shift[u] += shift[self.exits[u]]
                rank[u] += shift[u]

    def key(self, u: int) -> Key:
        """By which items are in order in their row at first: branches by columns, others as they came."""
        return (*self.paths[u], u, 0, 0)

    def lane(self, u: int, dummy: int) -> Key:
        """The same of an invisible item on the way from an item."""
        if u not in self.column:
            return (*self.paths[u], u, 0, 0, dummy, 0, 0)
        *around, block, column, _ = self.paths[u]
        return (*around, block, column // 2 * 2, 1, dummy, 0, 0)


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
    columns: list[Key],
    fixed: int,
    sweeps: int,
) -> None:
    """Order each row by the mean place of its neighbors above, then below, and so on; keep the best. What is in columns stays in them."""
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
            if columns:
                held = [i for i, item in enumerate(row) if columns[item][0] < 0]
                for i, item in zip(
                    held, sorted((row[i] for i in held), key=columns.__getitem__), strict=True
                ):
                    row[i] = item
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
    columns: list[Key],
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
        if hosts and not (columns and columns[v][0] < 0):
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
    slight: Collection[int],
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
                    weight = 1.0 if (x >= real) == (item >= real) and x not in slight else 0.02
                    total += (xs[x] + off) * weight
                    load += weight
                wanted.append(total / load if near else 0.0)  # unconnected items stay in the middle
                light = item in glued or item in slight or not here[item]
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
