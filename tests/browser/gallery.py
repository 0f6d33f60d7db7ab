"""Takes the README's screenshots in Chromium: `python tests/browser/gallery.py [name ...]`, into docs/images.

Each view in the light and the dark theme, as PNG with few colours. It needs PyTorch for the view that shows it.
"""

from __future__ import annotations

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
    "%%step\nx = w * w\nloss = (x - 4) * x\nloss.backward()\nw.grad",
]
NETWORK = """
x = torch.tensor([[0.5, -1.0], [1.5, 2.0], [-0.5, 1.0]])
w1 = torch.tensor([[0.4, -0.3, 0.8], [0.1, 0.9, -0.5]], requires_grad=True)
w2 = torch.tensor([[0.7], [-0.2], [0.5]], requires_grad=True)
with lab.record(title="two layers") as trace:
    h = (x @ w1).tanh()
    loss = ((h @ w2) ** 2).mean()
    loss.backward()
"""
WHOLE = """
w = torch.tensor(3.0, requires_grad=True)
with lab.record() as trace:
    x = w * w
    loss = (x - 4) * x
    loss.backward()
"""
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
    """The trace that a file of this name with this text would record."""
    lines = source.strip().splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    space = {"torch": torch, "lab": lab}
    exec(compile("".join(lines), name, "exec"), space)
    trace = space["trace"]
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


def pages(browser: Browser, folder: Path, names: list[str]) -> None:
    """The views that are exported pages."""
    for name in names:
        make, prepare, height = VIEWS[name]
        lab.save_html(folder / f"{name}.html", make(), title="autograd_lab")
        for scheme in ("light", "dark"):
            size = {"width": 1280, "height": height}
            page = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce").new_page()
            page.goto((folder / f"{name}.html").as_uri())
            page.add_style_tag(
                content="h1 { display: none } main { padding: 0 !important } .agl { border-radius: 0 !important }"
            )
            page.wait_for_timeout(400)
            prepare(page)
            page.wait_for_timeout(600)
            page.mouse.move(0, 0)
            keep(page.locator(".agl-root").first, f"{name}-{scheme}")
            page.context.close()


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
        if not names or "notebook" in names:
            notebook(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
