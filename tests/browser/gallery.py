"""Makes the pictures of README.md and docs/ in Chromium: `python tests/browser/gallery.py [name ...]`, into docs/images.

Each view in the light and the dark theme: "film" is the moving one, an animated WebP that steps through a whole run;
the others are PNGs with few colors. "pytorch" needs PyTorch.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from labserver import REPO, Notebook, serve
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

import autograd_lab as torch
from autograd_lab import lab
from conftest import FLAGS, find_chromium

IMAGES = REPO / "docs" / "images"
CELLS = [
    "import autograd_lab as torch\nfrom autograd_lab import lab\n\nw = torch.tensor(3.0, requires_grad=True)",
    "%%step\nx = w * w\ny = x - 4\nloss = y * x\nloss.backward()\nw.grad",
]
NETWORK = """
x = torch.tensor([[0.5, -1.0], [1.5, 2.0], [-0.5, 1.0]])
w1 = torch.tensor([[0.4, -0.3, 0.8], [0.1, 0.9, -0.5]], requires_grad=True)
w2 = torch.tensor([[0.7], [-0.2], [0.5]], requires_grad=True)
with lab.record(title="two layers") as trace:
    z = x @ w1
    h = z.tanh()
    loss = ((h @ w2) ** 2).mean()
    loss.backward()
"""
WHOLE = """
w = torch.tensor(3.0, requires_grad=True)
with lab.record() as trace:
    x = w * w
    y = x - 4
    loss = y * x
    loss.backward()
"""
FILMED = """
w = torch.tensor(3.0, requires_grad=True)
x = w * w
y = x - 4
loss = y * x
loss.backward()
"""
# The events that the film stops at, each for so many milliseconds.
STANDS = {
    "leaf": 1000,
    "node": 1200,
    "seed": 1500,
    "vjp": 1900,
    "deliver": 1300,
    "accumulate": 2200,
    "done": 3500,
}
RIDE = 8  # the pictures of a gradient on its way
AT = """part => document.getAnimations().forEach(a => {
    a.pause();
    a.currentTime = part * a.effect.getComputedTiming().endTime;
})"""  # part of the way of all that moves
ROOMY = """
.agl { height: 640px !important }
.agl-body { grid-template-columns: minmax(0, 0.96fr) minmax(0, 1fr) !important }
.agl-side { grid-template-rows: fit-content(150px) minmax(0, 1fr) auto fit-content(84px) !important }
"""  # every panel shows all that it has at any step
BARE = "h1 { display: none } main { padding: 0 !important } .agl { border-radius: 0 !important }"
REAL = """
import torch
from torch.nn import functional as F
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
data, target = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
with lab.record_torch(title="real PyTorch") as trace:
    scores = model(data)
    loss = F.cross_entropy(scores, target)
    loss.backward()
"""


def run(source: str, name: str = "lesson.py") -> lab.Trace:
    """The trace that a file of this name with this text would record, or a notebook cell that does not record itself."""
    lines = source.strip().splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    space = {"torch": torch, "lab": lab}
    with lab.record() if "lab.record" not in source else contextlib.nullcontext() as trace:
        exec(compile("".join(lines), name, "exec"), space)
    trace = trace or space["trace"]
    len(trace)  # its lines are looked up now, before another file takes the name
    return trace


def at_vjp(trace: lab.Trace, name: str) -> int:
    """The step at which the rule of a node of this kind runs first."""
    return next(
        k for k, e in enumerate(trace.events, 1) if e["k"] == "vjp" and trace.nodes[e["n"]]["name"] == name
    )


def stepper(source: str, node: str, before: int = 0, **options: object) -> object:
    """A stepper that stands where the rule of such a node runs."""
    trace = run(source)
    return lab.step(trace, position=at_vjp(trace, node) - before, **options)


def nothing(page: Page) -> None:
    """The view as it opens."""


def table(page: Page) -> None:
    """The other view of the same."""
    page.get_by_role("tab", name="Table").or_(
        page.get_by_role("button", name="Table", exact=True)
    ).first.click()


def answer(page: Page) -> None:
    """A wrong prediction, with what it stems from."""
    page.get_by_role("textbox").first.fill("5")
    page.get_by_role("button", name="Commit").click()


def fit(page: Page) -> None:
    """Both graphs whole, at the first place where they differ."""
    for button in page.get_by_role("button", name="Fit", exact=False).all():
        button.click()


VIEWS: dict[str, tuple[Callable[[], object], Callable[[Page], None], int]] = {
    "graph": (lambda: stepper(NETWORK, "TanhBackward0"), nothing, 700),
    "table": (lambda: stepper(NETWORK, "TanhBackward0"), table, 640),
    "predict": (lambda: stepper(WHOLE, "MulBackward0", 1, predict="grad"), answer, 700),
    "compare": (lambda: lab.compare(run(WHOLE, "whole.py"), run(WHOLE.replace("* x\n    loss.b", "* x.detach()\n    loss.b"), "cut.py"),
                                    ("x", "x.detach()")).last(), fit, 900),
    "pytorch": (lambda: stepper(REAL, "AddmmBackward0"), nothing, 760),
}  # fmt: skip


def keep(page: Page | Locator, name: str) -> None:
    """A screenshot as a PNG with at most 160 colours."""
    with Image.open(io.BytesIO(page.screenshot())) as image:
        few = image.convert("RGB").quantize(160, dither=Image.Dither.NONE)
        few.save(IMAGES / f"{name}.png", optimize=True)
    print(f"{name}.png: {(IMAGES / f'{name}.png').stat().st_size / 1000:.0f} KB")


def opened(
    browser: Browser,
    page_file: Path,
    scheme: str,
    size: tuple[int, int],
    motion: str = "reduce",
    scale: float = 1,
) -> Page:
    """An exported page without its frame, in a window of this size."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion=motion,
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.add_style_tag(content=BARE)
    page.wait_for_timeout(400)
    return page


def pages(browser: Browser, folder: Path, names: list[str]) -> None:
    """The views that are exported pages."""
    for name in names:
        make, prepare, height = VIEWS[name]
        lab.save_html(folder / f"{name}.html", make(), title="autograd_lab")
        for scheme in ("light", "dark"):
            page = opened(browser, folder / f"{name}.html", scheme, (1280, height))
            prepare(page)
            page.wait_for_timeout(600)
            page.mouse.move(0, 0)
            keep(page.locator(".agl-root").first, f"{name}-{scheme}")
            page.context.close()


def film(browser: Browser, folder: Path) -> None:
    """A whole run, event by event, with the gradients on their way."""
    trace = run(FILMED)
    lab.save_html(folder / "film.html", lab.step(trace), title="autograd_lab")
    for scheme in ("light", "dark"):
        page = opened(browser, folder / "film.html", scheme, (920, 660), "no-preference", 1.5)
        page.add_style_tag(content=ROOMY)
        fit(page)
        stage = page.locator(".agl-root").first
        pictures: list[tuple[Image.Image, int]] = []

        def take(milliseconds: int, stage: Locator = stage, pictures: list = pictures) -> None:
            pictures.append((Image.open(io.BytesIO(stage.screenshot())).convert("RGB"), milliseconds))

        for event in trace.events:
            page.get_by_role("button", name="Step", exact=True).click()
            page.mouse.move(0, 0)
            for part in range(RIDE if event["k"] == "deliver" else 0):
                page.evaluate(AT, part / RIDE)
                take(60)
            page.evaluate(AT, 1)
            if event["k"] in STANDS:
                take(STANDS[event["k"]])
        page.context.close()
        keep_film(pictures, f"film-{scheme}")


def keep_film(pictures: list[tuple[Image.Image, int]], name: str) -> None:
    """Pictures, each with how many milliseconds it stands, as an animated WebP of at most 96 colors."""
    width, height = pictures[0][0].size
    # One palette for all: what does not change from picture to picture then costs nothing.
    strip = Image.new("RGB", (width, height * len(pictures)))
    for number, (picture, _) in enumerate(pictures):
        strip.paste(picture, (0, height * number))
    palette = strip.quantize(96, dither=Image.Dither.NONE)
    first, *rest = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for picture, _ in pictures
    ]
    path = IMAGES / f"{name}.webp"
    shown = [milliseconds for _, milliseconds in pictures]
    first.save(
        path, save_all=True, append_images=rest, duration=shown, loop=0, lossless=True, quality=100, method=6
    )
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} KB, {sum(shown) / 1000:.0f} s")


def notebook(browser: Browser, folder: Path) -> None:
    """A cell with %%step in JupyterLab."""
    with serve(folder) as server:
        for theme in ("Light", "Dark"):
            book = Notebook.open(browser, server, CELLS, name="first.ipynb", theme=theme, size=(1280, 960))
            book.run()
            book.wait_for_stage()
            for _ in range(18):
                book.button("Step").click()
            book.page.locator(".jp-WindowedPanel-outer").evaluate("e => { e.scrollTop = 0; }")
            book.page.wait_for_timeout(800)
            keep(book.page, f"notebook-{theme.lower()}")
            book.close()
            book.path.unlink()


def main(names: list[str]) -> None:
    """Take the screenshots named, or all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = find_chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        pages(browser, Path(folder), [name for name in VIEWS if not names or name in names])
        if not names or "film" in names:
            film(browser, Path(folder))
        if not names or "notebook" in names:
            notebook(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
