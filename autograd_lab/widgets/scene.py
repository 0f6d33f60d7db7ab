"""The positions of all items while some groups are open and the others closed.

A closed group is one box. An open one is a frame around its own small layout, made first and then placed in the layout
around it like any box; an edge that crosses the frame does so at a *port*, one for each source of edges. Lines between
the same two items, one of them a closed group, are drawn as one line, a *bundle*.

The browser makes scenes too: assets/scene.js is this file in JavaScript, and a test compares the two.

Numbers of items: a unit is its index, a group is -1 minus its index, the whole picture is container -1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, sqrt
from typing import Any

from .layout import Edge, Layout, Point, layered

Record = dict[str, Any]

PAD = 14  # inside a frame
HEAD = 30  # room for a frame's name
PORT = (12.0, 12.0, 0.0)
SIDE = 10  # distance of lines from the middle of their lane: forward left, backward right
BUNDLE = 46  # width of the label on a bundle


@dataclass
class _Container:
    """One layout: the whole picture, or the inside of an open group."""

    index: int
    items: list[int] = field(default_factory=list)
    top: list[int] = field(default_factory=list)  # sources of incoming edges
    bottom: list[int] = field(default_factory=list)  # sources inside, of outgoing edges
    legs: list[tuple[int, int, str, str, int]] = field(default_factory=list)  # pieces of paths, their owners
    seat: dict[tuple[str, int], int] = field(
        default_factory=dict
    )  # ("in" | "item" | "out", thing) -> its number
    layout: Layout = field(default_factory=lambda: Layout([], {}, [], 0, 0))
    width: float = 0
    height: float = 0
    shift: float = 0  # of the layout within the frame
    x: float = 0
    y: float = 0  # the position of the layout's corner

    def port(self, side: str, source: int) -> float:
        """The distance of a port from the frame's middle."""
        x, _ = self.layout.anchors[self.seat[side, source]]
        return self.shift + x - self.width / 2

    def point(self, side: str, thing: int) -> Point:
        """The position of an item or port in the picture."""
        x, y = self.layout.anchors[self.seat[side, thing]]
        return self.x + x, self.y + y


#: One piece of a line's path: (container, what it leaves, what it enters, "item" or port, "item" or port)
_Leg = tuple[_Container, int, int, str, str]


class Scene:
    """The picture of a film with the groups in `opened` open.

    `document()` is the result, as plain data:

    size      [width, height]
    units     [unit, x, y] of each that is seen: where its anchor is
    groups    [group, x, y, width, height, 1 if open] of each that is seen, outer ones first
    forward   {"lines": [...], "p": [x, y, ...]}: a line's points, and which lines of the film it stands for
    backward  the same with "pill": [x, y, width], where the gradient's label is
    """

    def __init__(self, film: Record, opened: Iterable[int]) -> None:
        self.film = film
        self.units: list[Record] = film["units"]
        self.groups: list[Record] = film["groups"]
        self.opened = set(opened)
        self.first = [len(self.units)] * len(self.groups)
        self.depth: list[int] = []
        self.closed: list[int] = []  # for each group: the outermost closed one around or at it, else -1
        for g, group in enumerate(self.groups):
            parent = group["parent"]
            self.depth.append(self.depth[parent] + 1 if parent >= 0 else 1)
            outer = self.closed[parent] if parent >= 0 else -1
            self.closed.append(outer if outer >= 0 else -1 if g in self.opened else g)
        for u, unit in enumerate(self.units):
            if unit["group"] >= 0:
                self.first[unit["group"]] = min(self.first[unit["group"]], u)
        for g in reversed(range(len(self.groups))):
            parent = self.groups[g]["parent"]
            if parent >= 0:
                self.first[parent] = min(self.first[parent], self.first[g])
        self.containers: dict[int, _Container] = {}
        self.routes: dict[tuple[int, int], list[_Leg]] = {}
        self._fill()
        self._connect()
        self._measure(-1)
        self._put(-1, 0, 0)

    def seen(self, unit: int) -> int:
        """The item that represents a unit: itself, or the closed group around it."""
        group = self.units[unit]["group"]
        closed = self.closed[group] if group >= 0 else -1
        return -1 - closed if closed >= 0 else unit

    def document(self) -> Record:
        """The scene as plain data."""
        whole = self.containers[-1]
        groups = []
        for g, closed in enumerate(self.closed):
            if closed in (-1, g):
                x, y, w, h = self.box(-1 - g)
                groups.append([g, _near(x), _near(y), _near(w), _near(h), int(closed < 0)])
        units = []
        for u, unit in enumerate(self.units):
            if self.seen(u) == u:
                x, y = self.containers[unit["group"]].point("item", u)
                units.append([u, _near(x), _near(y)])
        forward, backward = self._lines("forward"), self._lines("backward")
        ends = self._ends(forward, backward)
        pills = _Pills()
        for u, px, py in units:
            left, right, height = self.units[u]["size"]
            pills.take((px - left, py - height / 2, px + right, py + height / 2))
        for _, gx, gy, gw, gh, is_open in groups:
            pills.take((gx, gy, gx + gw, gy + (22 if is_open else gh)))
        doc: Record = {
            "size": [_near(whole.width), _near(whole.height)],
            "units": units,
            "groups": groups,
            "forward": [],
            "backward": [],
        }
        for index, (source, target, lines) in enumerate(forward):
            start, end = ends["forward", index, 0], ends["forward", index, 1]
            points = [start, *[(x - SIDE, y) for x, y in self._way(source, target)], end]
            doc["forward"].append({"lines": lines, "p": _flat(points)})
        for index, (source, target, lines) in enumerate(backward):
            start, end = ends["backward", index, 0], ends["backward", index, 1]
            points = [start, *[(x + SIDE, y) for x, y in self._way(source, target)], end]
            width = self._label(lines)
            x, y = pills.put(points, width, self._shares(source, target))
            doc["backward"].append({
                "lines": lines, "p": _flat(points[::-1]), "pill": [_near(x), _near(y), width],
            })  # fmt: skip
        return doc

    def box(self, thing: int) -> tuple[float, float, float, float]:
        """x, y, width and height of a group's box or frame."""
        g = -1 - thing
        w, h = self._size(g)
        x, y = self.containers[self.groups[g]["parent"]].point("item", thing)
        return x - w / 2, y - h / 2, w, h

    # The items of each layout, and their connections.

    def _fill(self) -> None:
        self.containers[-1] = _Container(-1)
        for g, closed in enumerate(self.closed):
            if closed < 0:
                self.containers[g] = _Container(g)
        things = [(self.first[g], 0, -1 - g) for g, closed in enumerate(self.closed) if closed in (-1, g)]
        things += [(u, 1, u) for u in range(len(self.units)) if self.seen(u) == u]
        for _, _, thing in sorted(things):
            parent = self.groups[-1 - thing]["parent"] if thing < 0 else self.units[thing]["group"]
            self.containers[parent].items.append(thing)

    def _connect(self) -> None:
        for line in (*self.film["forward"], *self.film["backward"]):
            source, target = self.seen(line["u"]), self.seen(line["v"])
            if source != target and (source, target) not in self.routes:
                legs = self.routes[source, target] = self._route(source, target)
                for where, a, b, side_a, side_b in legs:
                    where.legs.append((a, b, side_a, side_b, source))
        for container in self.containers.values():
            for ports in (container.top, container.bottom):
                ports[:] = sorted(set(ports), key=self._time)
            things = [("in", s) for s in container.top]
            things += [("item", i) for i in container.items]
            things += [("out", s) for s in container.bottom]
            container.seat = {thing: i for i, thing in enumerate(things)}

    def _time(self, thing: int) -> tuple[int, int]:
        return (self.first[-1 - thing], 0) if thing < 0 else (thing, 1)

    def _parent(self, thing: int) -> int:
        parent: int = self.groups[-1 - thing]["parent"] if thing < 0 else self.units[thing]["group"]
        return parent

    def _route(self, source: int, target: int) -> list[_Leg]:
        """The pieces of the path from one item to another, out of frames and into frames."""
        out: list[_Leg] = []
        into: list[_Leg] = []
        a, b = source, target
        here, there = self._parent(a), self._parent(b)
        side_a, side_b = "item", "item"
        while here != there:
            deep_a, deep_b = (self.depth[c] if c >= 0 else 0 for c in (here, there))
            if deep_a >= deep_b:
                self.containers[here].bottom.append(source)
                out.append((self.containers[here], a, source, side_a, "out"))
                a, here, side_a = -1 - here, self.groups[here]["parent"], "item"
            else:
                self.containers[there].top.append(source)
                into.append((self.containers[there], source, b, "in", side_b))
                b, there, side_b = -1 - there, self.groups[there]["parent"], "item"
        return [*out, (self.containers[here], a, b, side_a, side_b), *into[::-1]]

    # Sizes from the inside out, positions from the outside in.

    def _measure(self, index: int) -> None:
        container = self.containers[index]
        sizes: list[tuple[float, float, float]] = [PORT] * len(container.top)
        for thing in container.items:
            if thing >= 0:
                left, right, height = self.units[thing]["size"]
                sizes.append((left, right, height))
                continue
            if -1 - thing in self.containers:
                self._measure(-1 - thing)
            w, h = self._size(-1 - thing)
            sizes.append((w / 2, w / 2, h))
        sizes += [PORT] * len(container.bottom)
        edges: list[Edge] = []
        for a, b, side_a, side_b, source in container.legs:
            inner_a = self.containers.get(-1 - a) if side_a == "item" and a < 0 else None
            inner_b = self.containers.get(-1 - b) if side_b == "item" and b < 0 else None
            leaves = inner_a.port("out", source) if inner_a else 0.0
            enters = inner_b.port("in", source) if inner_b else 0.0
            edges.append((container.seat[side_a, a], container.seat[side_b, b], leaves, enters, source))
        top, bottom = len(container.top), len(container.bottom)
        firm = {top + i for i, thing in enumerate(container.items) if thing < 0}
        container.layout = layered(sizes, edges, top, bottom, firm)
        container.width, container.height = container.layout.width, container.layout.height
        if index >= 0:
            container.width = max(container.width + 2 * PAD, self.groups[index]["size"][0])
            container.shift = (container.width - container.layout.width) / 2
            container.height += (0 if top else HEAD) + (0 if bottom else PAD)

    def _size(self, g: int) -> tuple[float, float]:
        if g in self.containers:
            return self.containers[g].width, self.containers[g].height
        w, h = self.groups[g]["size"]
        return w, h

    def _put(self, index: int, x: float, y: float) -> None:
        container = self.containers[index]
        container.x, container.y = x + container.shift, y + (0 if container.top or index < 0 else HEAD)
        for thing in container.items:
            if thing < 0 and -1 - thing in self.containers:
                left, top, _, _ = self.box(thing)
                self._put(-1 - thing, left, top)

    # Lines.

    def _lines(self, kind: str) -> list[tuple[int, int, list[int]]]:
        """The lines to draw: what they connect, and the film's lines that each represents."""
        found: dict[tuple[int, int, int], list[int]] = {}
        for i, line in enumerate(self.film[kind]):
            source, target = self.seen(line["u"]), self.seen(line["v"])
            if source != target:
                own = i if source >= 0 and target >= 0 else -1 - line.get("box", 0) if source >= 0 else -1
                found.setdefault((source, target, own), []).append(i)
        return [(source, target, lines) for (source, target, _), lines in found.items()]

    def _label(self, lines: list[int]) -> float:
        """The width of the label on a line that stands for these lines of the film."""
        widths = [self.film["backward"][line]["w"] for line in lines]
        return widths[0] if len(lines) == 1 else BUNDLE if any(widths) else 0

    def _way(self, source: int, target: int) -> list[Point]:
        points: list[Point] = []
        for where, a, b, side_a, side_b in self.routes[source, target]:
            if side_a == "in":
                points.append(where.point("in", a))
            passed = where.layout.between(where.seat[side_a, a], where.seat[side_b, b], source)
            points += [(where.x + x, where.y + y) for x, y in passed]
            if side_b == "out":
                points.append(where.point("out", b))
        return points

    def _shares(self, source: int, target: int) -> bool:
        """Whether a line shares its lane with those of other items: only its first piece is its own."""
        where, a, _, side, _ = self.routes[source, target][0]
        return where.seat[side, a] in where.layout.joined and len(self._way(source, target)) > 0

    def _ends(
        self, forward: list[tuple[int, int, list[int]]], backward: list[tuple[int, int, list[int]]]
    ) -> dict[tuple[str, int, int], Point]:
        """The ends of lines: several at one side are spread out, in the order in which they continue."""
        sides: dict[tuple[str, int, int, int], list[tuple[float, int]]] = {}
        for kind, lines in (("forward", forward), ("backward", backward)):
            for index, (source, target, which) in enumerate(lines):
                way = self._way(source, target)
                down = way[0][0] if way else self._middle(target)
                up = way[-1][0] if way else self._middle(source)
                box = self.film[kind][which[0]].get("box", 0) if source >= 0 else 0
                sides.setdefault((kind, source, box, 0), []).append((down, index))
                sides.setdefault((kind, target, 0, 1), []).append((up, index))
        ends: dict[tuple[str, int, int], Point] = {}
        for (kind, thing, box, side), lines_here in sides.items():
            middle, edge, room, curve = self._edge(kind, thing, box, side)
            count = len(lines_here)
            wide = 26.0  # room for the labels side by side
            if kind == "backward":
                for _, index in lines_here:
                    wide = max(wide, self._label(backward[index][2]) + 6)
            step = min(wide, room / (count - 1)) if count > 1 else 0.0
            for i, (_, index) in enumerate(sorted(lines_here)):
                dx = (i - (count - 1) / 2) * step
                dy = 0.0
                if curve and dx:  # on the curve of the ellipse, the slope of the diamond
                    rx, ry = curve
                    lost = abs(dx) / rx
                    round_off = lost if rx == ry else 1 - sqrt(1 - min(lost, 1.0) * min(lost, 1.0))
                    dy = -ry * round_off if side == 0 else ry * round_off
                ends[kind, index, side] = (middle + dx, edge + dy)
        return ends

    def _middle(self, thing: int) -> float:
        return self.containers[self._parent(thing)].point("item", thing)[0]

    def _edge(
        self, kind: str, thing: int, box: int, side: int
    ) -> tuple[float, float, float, tuple[float, float] | None]:
        """Where lines may touch an item's lower (0) or upper (1) side: the middle, the height, the room, the curve."""
        if thing < 0:
            x, y, w, h = self.box(thing)
            return x + w / 2 + (-SIDE if kind == "forward" else SIDE), y + h * (1 - side), w - 60, None
        unit = self.units[thing]
        cx, cy = self.containers[unit["group"]].point("item", thing)
        if kind == "forward" and unit["boxes"]:
            _, bx, by, bw, bh = unit["boxes"][min(box, len(unit["boxes"]) - 1)]
            return cx + bx + bw / 2, cy + by + bh * (1 - side), bw - 24, None
        x, y, rx, ry = unit["shape"] or [0, 0, 0, 0]
        curve = (rx, ry) if kind == "backward" and rx else None
        return cx + x, cy + y + (ry if side == 0 else -ry), 1.1 * rx, curve


class _Pills:
    """Positions for the gradients' labels on their lines, clear of each other and of the boxes."""

    def __init__(self) -> None:
        self.taken: dict[tuple[int, int], list[tuple[float, float, float, float]]] = {}

    def put(self, points: list[Point], width: float, first: bool = False) -> Point:
        """The first free position of several along the line's last piece, along the others, then beside them; otherwise its middle.

        Along the `first` piece alone, if the others are not the line's own.
        """
        if not width:
            return curve_point(points[-2:], 0.5)
        pieces = list(pairwise(points))[:1] if first else list(pairwise(points))[::-1]
        aside = width / 2 - 9  # a label need not have its middle on the line
        for dx in (0, aside, -aside) if aside > 0 else (0,):
            for piece in pieces[:4]:
                for t in (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8):
                    x, y = curve_point(list(piece), t)
                    x += dx
                    box = (x - width / 2 - 2, y - 11, x + width / 2 + 2, y + 11)
                    if not self._hits(box):
                        self.take(box)
                        return x, y
        x, y = curve_point(list(pieces[0]), 0.5)
        self.take((x - width / 2, y - 10, x + width / 2, y + 10))
        return x, y

    def _cells(self, box: tuple[float, float, float, float]) -> Iterable[tuple[int, int]]:
        for i in range(floor(box[0] / 200), floor(box[2] / 200) + 1):
            for j in range(floor(box[1] / 200), floor(box[3] / 200) + 1):
                yield i, j

    def take(self, box: tuple[float, float, float, float]) -> None:
        """Mark an area as occupied."""
        for cell in self._cells(box):
            self.taken.setdefault(cell, []).append(box)

    def _hits(self, box: tuple[float, float, float, float]) -> bool:
        return any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for cell in self._cells(box)
            for other in self.taken.get(cell, ())
        )


def curve_point(points: list[Point], t: float) -> Point:
    """The point at `t` of the curve between two points that it leaves and reaches vertically."""
    (x0, y0), (x1, y1) = points
    middle, s = (y0 + y1) / 2, 1 - t
    x = x0 * s * s * s + 3 * x0 * s * s * t + 3 * x1 * s * t * t + x1 * t * t * t
    y = y0 * s * s * s + 3 * middle * s * s * t + 3 * middle * s * t * t + y1 * t * t * t
    return x, y


def scene(film: Record, opened: Iterable[int] | None = None) -> Record:
    """The picture of a film: the positions of everything while the groups in `opened` (default: the film's own) are open."""
    return Scene(film, film["open"] if opened is None else opened).document()


def _near(x: float) -> int:
    return floor(x + 0.5)


def _flat(points: Iterable[Point]) -> list[int]:
    return [_near(v) for point in points for v in point]
