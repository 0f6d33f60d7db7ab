"""The picture at the end of each notebook: `python -m autograd_lab.course.pictures` writes notebooks/pictures/NN.svg.

A notebook shows it by a link in its text, with its words in the brackets: `![Forward makes y. ...](pictures/12.svg)`. A student's
folder has the files beside the notebooks. The colors are the stepper's, blue for the way forward and orange for the way back; in
a dark page the second style sheet counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from pathlib import Path

from autograd_lab.course.resources import course_root
from autograd_lab.widgets.svg import palette

Point = tuple[float, float]

_SHEET = (
    "text{{fill:{fg};font:15px Inter,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif;text-anchor:middle}}"
    ".code{{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:14px}}.small{{fill:{dim};font-size:13px}}"
    ".head{{font-weight:600}}.left{{text-anchor:start}}"
    ".box{{fill:{soft};stroke:{outline};stroke-width:1.5}}.node{{fill:{blue-tint};stroke:{blue};stroke-width:1.5}}"
    ".mail{{fill:{verm-tint};stroke:{verm};stroke-width:1.5}}.empty{{fill:none;stroke:{outline};stroke-width:1.5;stroke-dasharray:4 3}}"
    ".forward,.back,.plain,.none{{fill:none;stroke-width:2.2}}.forward{{stroke:{blue}}}.back{{stroke:{verm}}}.plain{{stroke:{outline}}}"
    ".none{{stroke:{outline};stroke-dasharray:3 5}}.tip-forward{{fill:{blue}}}.tip-back{{fill:{verm}}}.tip-plain,.tip-none{{fill:{outline}}}"
    ".stop{{stroke:{bad};stroke-width:3;fill:none}}.bad{{fill:{bad}}}"
)


class Drawing:
    """An SVG that is put together from boxes, arrows and words."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, look: str = "") -> None:
        """Words, centered at x (from x on: look "left"), on the line y."""
        style = f' class="{look}"' if look else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(words, quote=False)}</text>')

    def box(
        self, x: float, y: float, words: str, look: str = "box", width: float = 0, height: float = 34
    ) -> None:
        """A box around words, centered at (x, y). A "node" is round, a "mail" is the mailbox of a leaf."""
        w = width or max(44.0, 9.2 * len(words) + 22)
        round_ = min(height / 2, 24) if look == "node" else 5
        self.parts.append(
            f'<rect class="{look}" x="{x - w / 2:g}" y="{y - height / 2:g}" width="{w:g}" height="{height:g}" rx="{round_:g}"/>'
        )
        if words:
            self.text(x, y + 5, words, "code")

    def arrow(
        self, start: Point, end: Point, look: str = "forward", words: str = "", bend: float = 0
    ) -> None:
        """An arrow, bent to its left by so many pixels, with words beside its middle."""
        (x1, y1), (x2, y2) = start, end
        long = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        across = (y2 - y1) / long, -(x2 - x1) / long
        mid = (x1 + x2) / 2 + 2 * bend * across[0], (y1 + y2) / 2 + 2 * bend * across[1]
        dx, dy = x2 - mid[0], y2 - mid[1]
        far = (dx * dx + dy * dy) ** 0.5
        dx, dy = dx / far, dy / far
        back = x2 - 9 * dx, y2 - 9 * dy
        tip = f"{x2:g},{y2:g} {back[0] - 5 * dy:.1f},{back[1] + 5 * dx:.1f} {back[0] + 5 * dy:.1f},{back[1] - 5 * dx:.1f}"
        self.parts.append(
            f'<path class="{look}" d="M{x1:g} {y1:g}Q{mid[0]:.1f} {mid[1]:.1f} {back[0]:.1f} {back[1]:.1f}"/>'
            f'<polygon class="tip-{look}" points="{tip}"/>'
        )
        if words:
            self.text((x1 + x2) / 2 + bend * across[0], (y1 + y2) / 2 + bend * across[1] - 8, words, "small")

    def line(self, path: str, look: str) -> None:
        """A line along an SVG path."""
        self.parts.append(f'<path class="{look}" d="{path}"/>')

    def grid(self, x: float, y: float, rows: int, columns: int, look: str = "box", cell: float = 26) -> None:
        """A table of cells, with its upper left corner at (x, y)."""
        for i in range(rows):
            for k in range(columns):
                self.parts.append(
                    f'<rect class="{look}" x="{x + k * cell:g}" y="{y + i * cell:g}" width="{cell:g}" height="{cell:g}"/>'
                )

    def svg(self) -> str:
        """The file."""
        light, dark = (_SHEET.format_map(palette(dark=dark)) for dark in (False, True))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}"><style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def _start() -> Drawing:
    d = Drawing(660, 170)
    d.text(20, 22, "forward", "head left")
    d.text(20, 112, "backward", "head left")
    stops = ((60, "x"), (190, "2 * x"), (330, "+ 1"), (470, "** 2"), (600, "y"))
    for x, words in stops:
        d.box(x, 52, words, "node" if len(words) > 1 else "box", 90 if len(words) > 1 else 50)
        if len(words) > 1:
            d.box(x, 142, "rule", "node", 90)
    d.box(60, 142, "x.grad", "mail", 82)
    d.box(600, 142, "1", "box", 50)
    for a, b in ((86, 144), (236, 284), (376, 424), (516, 574)):
        d.arrow((a, 52), (b, 52))
        d.arrow((b if b > 144 else 144, 142), (a if a > 86 else 102, 142), "back")
    return d


def _nudge() -> Drawing:
    d = Drawing(660, 230)
    d.line("M70 20V185H620", "plain")
    d.line("M100 25L300 150Q330 168 350 168", "back")
    d.line("M350 168Q372 168 400 150L610 25", "forward")
    d.text(345, 218, "size of the nudge h", "small")
    d.text(120, 206, "tiny", "small")
    d.text(350, 204, "best", "head")
    d.text(590, 206, "large", "small")
    d.text(40, 32, "error", "small")
    d.text(165, 48, "too small: the digits run out", "left")
    d.text(432, 162, "too large: the curve bends", "left")
    return d


def _graph() -> Drawing:
    d = Drawing(660, 160)
    d.box(110, 60, "Add", "node", 80)
    d.text(110, 28, "s = p + q", "code")
    d.box(320, 60, "Mul", "node", 80)
    d.text(320, 28, "p = q * r", "code")
    d.box(540, 34, "mailbox of r", "mail", 140)
    d.box(540, 126, "mailbox of q", "mail", 140)
    d.arrow((152, 60), (278, 60), "plain", "edge")
    d.arrow((362, 56), (468, 38), "plain")
    d.arrow((352, 74), (468, 116), "plain")
    d.arrow((130, 78), (468, 136), "plain", bend=-46)
    return d


def _rule() -> Drawing:
    d = Drawing(660, 170)
    d.box(350, 85, "a * b", "node", 110, 42)
    d.text(350, 132, "has saved a and b", "small")
    d.arrow((610, 85), (408, 85), "back", "the message g comes in")
    d.arrow((298, 74), (120, 38), "back", "g · b")
    d.arrow((298, 96), (120, 132), "back", "g · a")
    d.box(90, 34, "a")
    d.box(90, 136, "b")
    return d


def _wait() -> Drawing:
    d = Drawing(660, 190)
    d.box(590, 60, "loss", "node", 90)
    d.box(440, 145, "c", "node", 70)
    d.box(260, 60, "b", "node", 90)
    d.box(70, 60, "a.grad", "mail", 90)
    d.arrow((543, 60), (308, 60), "back", "first message")
    d.arrow((560, 78), (472, 132), "back")
    d.arrow((406, 138), (294, 78), "back", bend=-6)
    d.text(420, 108, "second message", "small")
    d.arrow((212, 60), (118, 60), "back", "the sum")
    d.text(215, 104, "b waits until", "small")
    d.text(215, 121, "all have come", "small")
    return d


def _keep() -> Drawing:
    d = Drawing(660, 190)
    d.text(160, 24, "at a node, in one pass", "head")
    d.text(490, 24, "in the mailbox of a leaf", "head")
    for x, node, one, two in ((160, "+", "message", "message"), (490, "+", "first pass", "second pass")):
        d.box(x - 90, 66, one, "box", 110)
        d.box(x - 90, 126, two, "box", 110)
        d.box(x + 20, 96, node, "node" if x < 300 else "mail", 50)
        d.arrow((x - 33, 70), (x - 3, 86), "back")
        d.arrow((x - 33, 122), (x - 3, 106), "back")
    d.arrow((208, 96), (250, 96), "none")
    d.text(160, 176, "used, then dropped", "small")
    d.text(490, 176, "kept, until you clear it", "small")
    return d


def _pockets() -> Drawing:
    d = Drawing(660, 190)
    for x, head, words, full in (
        (110, "forward", "fills the pocket", True),
        (330, "first backward", "uses it and empties it", True),
        (550, "second backward", "finds nothing there", False),
    ):
        d.text(x, 24, head, "head")
        d.box(x, 88, "", "node", 130, 92)
        d.text(x, 68, "node", "code")
        d.box(x, 104, "saved" if full else "", "mail" if full else "empty", 84, 32)
        d.text(x, 168, words, "small")
    d.arrow((30, 104), (66, 104), "forward")
    d.arrow((374, 104), (432, 104), "back")
    d.line("M541 95L559 113M559 95L541 113", "stop")
    return d


def _switches() -> Drawing:
    d = Drawing(660, 200)
    for y, words in ((40, "second frozen"), (105, "state detached"), (170, "no_grad")):
        d.text(20, y + 5, words, "left")
        d.box(240, y, "first", "box", 80)
        d.box(420, y, "second", "empty" if y == 40 else "box", 90)
        d.box(590, y, "loss", "box", 80)
    d.arrow((549, 40), (467, 40), "back")
    d.arrow((373, 40), (282, 40), "back")
    d.arrow((549, 105), (467, 105), "back")
    d.arrow((373, 105), (345, 105), "back")
    d.line("M322 94L338 116M338 94L322 116", "stop")
    d.line("M545 170H467M375 170H282", "none")
    return d


def _shapes() -> Drawing:
    d = Drawing(660, 200)
    for x, head, look in ((40, "forward: copied", "forward"), (370, "backward: summed", "back")):
        d.text(x + 120, 22, head, "head")
        d.grid(x + 110, 40, 1, 4, "mail" if look == "back" else "node")
        d.grid(x + 30, 104, 3, 1, "mail" if look == "back" else "node")
        d.grid(x + 110, 104, 3, 4)
        down, across = ((x + 162, 70), (x + 162, 100)), ((x + 60, 143), (x + 106, 143))
        for start, end in (down, across):
            d.arrow(start, end, look) if look == "forward" else d.arrow(end, start, look)
    return d


def _jacobian() -> Drawing:
    d = Drawing(660, 215)
    for k in range(3):
        d.text(303 + 60 * k, 26, f"x[{k}]", "code")
    for i in range(2):
        y = 60 + 42 * i
        d.box(140, y, f"v[{i}]", "node", 70, 32)
        d.text(215, y + 5, "times")
        d.text(530, y + 5, f"the row of y[{i}]", "small")
        for k in range(3):
            d.box(303 + 60 * k, y, "", "box", 58, 36)
    d.line("M270 138H450", "plain")
    for k in range(3):
        d.arrow((303 + 60 * k, 140), (303 + 60 * k, 166), "back")
        d.box(303 + 60 * k, 186, "", "mail", 58, 36)
    d.text(140, 191, "the sum of the rows", "small")
    d.text(530, 191, "x.grad", "code")
    return d


def _versions() -> Drawing:
    d = Drawing(660, 190)
    for x, head, memory, node, words in (
        (110, "z = f(y)", "version 0", "noted: 0", "the node saves y"),
        (330, "y += 1", "version 1", "noted: 0", "the counter moves"),
        (550, "z.backward()", "version 1", "noted: 0", "the node compares"),
    ):
        d.text(x, 24, head, "code")
        d.box(x, 62, memory, "box", 130)
        d.box(x, 122, node, "node", 130)
        d.text(x, 172, words, "small")
    d.arrow((110, 80), (110, 104), "forward")
    d.arrow((550, 104), (550, 82), "plain")
    d.text(572, 98, "≠", "bad head")
    return d


def _where() -> Drawing:
    d = Drawing(660, 200)
    d.box(70, 100, "x")
    d.box(290, 50, "the branch taken", "box", 170)
    d.box(290, 150, "the other branch", "box", 170)
    d.box(530, 100, "where", "node", 100)
    for y, look in ((50, "forward"), (150, "none")):
        up = -1 if y < 100 else 1
        d.arrow((94, 100 + 10 * up), (203, y), "forward", bend=-6 * up)
        d.arrow((376, y), (512, 100 + 19 * up), look, bend=-10 * up)
        d.arrow((478, 100 + 5 * up), (378, y - 9 * up), "back")
    d.text(330, 105, "messages go both ways back", "small")
    return d


def _twice() -> Drawing:
    d = Drawing(660, 170)
    d.box(70, 40, "x")
    d.box(230, 40, "y", "node", 90)
    d.box(410, 85, "slope", "node", 110)
    d.box(570, 135, "its slope", "mail", 120)
    d.arrow((94, 40), (183, 40), "forward", "forward")
    d.arrow((258, 54), (353, 80), "back")
    d.arrow((446, 102), (508, 128), "back")
    d.text(350, 50, "backward, recorded", "small left")
    d.text(510, 96, "backward", "small left")
    return d


def _training() -> Drawing:
    d = Drawing(660, 150)
    stops = (
        (90, "forward", "node"),
        (250, "zero_grad", "box"),
        (415, "backward", "mail"),
        (565, "step", "box"),
    )
    for x, words, look in stops:
        d.box(x, 45, words, look, 110)
    for a, b in ((147, 193), (307, 358), (472, 508)):
        d.arrow((a, 45), (b, 45), "plain")
    d.line("M565 64V118H90V78", "plain")
    d.arrow((90, 80), (90, 64), "plain")
    d.text(330, 110, "the next batch", "small")
    return d


def _captured() -> Drawing:
    d = Drawing(660, 200)
    d.box(80, 50, "your code", "box", 120)
    d.box(310, 50, "captured graph", "node", 160)
    d.box(555, 50, "smaller graph", "node", 150)
    d.arrow((142, 50), (228, 50), "forward", "one run")
    d.arrow((392, 50), (478, 50), "forward", "passes")
    d.box(310, 150, "guards", "mail", 110)
    d.text(310, 190, "at each call", "small")
    d.line("M367 150H555V72", "plain")
    d.arrow((555, 86), (555, 69), "plain")
    d.text(465, 142, "all hold", "small")
    d.line("M253 150H80V72", "plain")
    d.arrow((80, 86), (80, 69), "plain")
    d.text(165, 142, "one is missed", "small")
    return d


PICTURES: dict[str, Callable[[], Drawing]] = {
    "00": _start, "01": _nudge, "02": _graph, "03": _rule, "04": _wait, "05": _keep, "06": _pockets, "07": _switches,
    "08": _shapes, "09": _jacobian, "10": _versions, "11": _where, "12": _twice, "13": _training, "14": _captured,
}  # fmt: skip


def main() -> int:
    """Write the files; 0."""
    folder = course_root() / "notebooks" / "pictures"
    folder.mkdir(exist_ok=True)
    for number, draw in PICTURES.items():
        Path(folder, f"{number}.svg").write_text(draw().svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
