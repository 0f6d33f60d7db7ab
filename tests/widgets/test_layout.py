import itertools
import random

import pytest

from autograd_lab.widgets.layout import layered


def graph(seed, n=60):
    """A random graph whose edges lead from smaller to larger numbers, with many boxes that have a single user."""
    r = random.Random(seed)
    sizes = [(r.uniform(20, 90), r.uniform(20, 150), r.choice([40, 57])) for _ in range(n)]
    edges = [(r.randrange(v), v) for v in range(1, n) for _ in range(r.choice([0, 1, 1, 2]))]
    return sizes, [(u, v, 0, 0, u) for u, v in edges]


@pytest.mark.parametrize("seed", range(20))
def test_no_two_boxes_overlap_and_edges_lead_down(seed):
    sizes, edges = graph(seed)
    found = layered(sizes, edges, gap=20, row_gap=50)
    boxes = [(x - left, x + right, y - h / 2, y + h / 2)
             for (x, y), (left, right, h) in zip(found.anchors, sizes, strict=True)]  # fmt: skip
    for a, b in itertools.combinations(boxes, 2):
        assert a[1] <= b[0] + 1e-6 or b[1] <= a[0] + 1e-6 or a[3] <= b[2] or b[3] <= a[2]
    for u, v, *_ in edges:
        assert boxes[u][3] + 49 < boxes[v][2]
    ways = [
        x for bends in found.bends.values() for x, _ in bends
    ]  # each in a lane of its own, which nothing cuts off
    assert min(*[box[0] for box in boxes], *[x - 17 for x in ways]) == pytest.approx(0)
    assert max(*[box[1] for box in boxes], *[x + 17 for x in ways]) == pytest.approx(found.width)
    assert max(box[3] for box in boxes) <= found.height + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_same_graph_gives_the_same_picture(seed):
    sizes, edges = graph(seed)
    assert layered(sizes, edges) == layered(sizes, list(reversed(edges)))


def test_bends_keep_clear_of_boxes():
    """An edge passes a row where no box is."""
    for seed in range(10):
        sizes, edges = graph(seed)
        found = layered(sizes, edges)
        boxes = [
            (x - left, x + right, y) for (x, y), (left, right, _) in zip(found.anchors, sizes, strict=True)
        ]
        for bends in found.bends.values():
            for x, y in bends:
                assert all(y != row or x <= left or x >= right for left, right, row in boxes)


def test_a_source_stands_in_the_row_above_its_user():
    found = layered([(10, 10, 10)] * 5, [(0, 1, 0, 0, 0), (1, 2, 0, 0, 1), (2, 4, 0, 0, 2), (3, 4, 0, 0, 3)])
    rows = [y for _, y in found.anchors]
    assert rows[3] == rows[2]


def test_a_chain_is_straight():
    found = layered([(30, 90, 40)] * 30, [(i, i + 1, 0, 0, i) for i in range(29)])
    assert len({x for x, _ in found.anchors}) == 1


def test_nothing_and_one():
    assert layered([], []).anchors == []
    assert layered([(10, 20, 40)], []).anchors == [(10, 20)]


def test_many_groups_go_on_in_the_next_row():
    """What follows them is below all."""
    sizes, edges = [(70, 70, 50)] * 32, [*((0, v, 0, 0, 0) for v in range(1, 31)), (30, 31, 0, 0, 30)]
    found = layered(sizes, edges, firm=range(1, 31))
    assert found.rows == [0, *[1 + i // 6 for i in range(30)], 6]
    assert found.width < 8 * (140 + 26)


LEAF, NODE = (95, 95, 56), (80, 80, 40)


def stacked(n):
    """`stack` of n leaves, and two operations more."""
    edges = [*((i, n) for i in range(n)), (n, n + 1), (n + 1, n + 2)]
    return [LEAF] * n + [NODE] * 3, edges


def summed(n):
    """`sum(x * x for x in leaves)`: each sum is added to the next product."""
    leaves, products, sums = range(n), range(n, 2 * n), range(2 * n, 3 * n - 1)
    edges = [*zip(leaves, products, strict=True), (n, 2 * n), (n + 1, 2 * n)]
    edges += [e for i in range(1, n - 1) for e in ((sums[i - 1], sums[i]), (products[i + 1], sums[i]))]
    return [LEAF] * n + [NODE] * (2 * n - 1), edges


def weighted(n):
    """`stack([(w * x).exp() for x in numbers])`: one leaf in all branches, and a number in each."""
    numbers, products, powers, end = (
        range(1, n + 1),
        range(n + 1, 2 * n + 1),
        range(2 * n + 1, 3 * n + 1),
        3 * n + 1,
    )
    edges = [(0, p) for p in products] + [
        *zip(numbers, products, strict=True),
        *zip(products, powers, strict=True),
    ]
    return [LEAF] + [(30, 30, 40)] * n + [NODE] * (2 * n + 1), [*edges, *((p, end) for p in powers)]


def alone(n):
    """N leaves, and an operation on each."""
    return [LEAF] * n + [NODE] * n, [(i, i + n) for i in range(n)]


LISTS = {"stacked": stacked, "summed": summed, "weighted": weighted, "alone": alone}


@pytest.mark.parametrize("n", [8, 20, 40, 100])
@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_long_lists_of_leaves_can_be_read(make, n):
    """No wider than about six leaves, with lanes; boxes do not touch, and edges lead down and pass where no box is."""
    sizes, edges = make(n)
    found = layered(sizes, [(u, v, 0, 0, u) for u, v in edges])
    assert found.width < 1900
    boxes = [(x - left, x + right, y - h / 2, y + h / 2)
             for (x, y), (left, right, h) in zip(found.anchors, sizes, strict=True)]  # fmt: skip
    by_row = sorted(range(len(boxes)), key=lambda i: (found.rows[i], boxes[i][0]))
    for a, b in itertools.pairwise(by_row):
        assert found.rows[a] != found.rows[b] or boxes[a][1] <= boxes[b][0] + 1e-6
    for u, v in edges:
        assert found.rows[u] < found.rows[v]
        way = found.between(u, v, u)
        assert len(way) == found.rows[v] - found.rows[u] - 1
        for x, y in way:
            assert all(y < top or y > end or x <= left or x >= right for left, right, top, end in boxes)
        assert [y for _, y in way] == sorted({y for _, y in way})
    drawn = {i for i, row in enumerate(found.rows) if row == max(found.rows)}
    assert make is alone or drawn == {len(sizes) - 1}


def test_branches_of_a_list_share_lanes_in_straight_columns():
    sizes, edges = stacked(40)
    found = layered(sizes, [(u, v, 0, 0, u) for u, v in edges])
    assert [found.rows[:40].count(row) for row in range(7)] == [6, 6, 6, 6, 6, 6, 4]
    assert len({round(x) for x, _ in found.anchors[:36]}) == 6
    assert len(found.bends) == 3  # for two columns each


def test_few_branches_stay_where_they_were():
    """A graph in which no row is crowded: each row as high as it can be."""
    sizes, edges = summed(4)
    assert layered(sizes, [(u, v, 0, 0, u) for u, v in edges]).rows == [0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 4]
