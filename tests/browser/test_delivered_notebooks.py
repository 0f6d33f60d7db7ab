"""The notebooks as students get them, opened in JupyterLab: none is marked unsaved, tabs have names of their own, links lead on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from labserver import REPO, Lab, Notebook
from playwright.sync_api import Browser

from autograd_lab.course.resources import deliver


@pytest.fixture(scope="module")
def delivered(lab: Lab) -> Iterator[Lab]:
    """A working folder inside the lab's, as `autograd-lab` makes it."""
    deliver(REPO, lab.folder)
    yield lab
    for name in ("notebooks", "exercises", ".autograd_lab"):
        shutil.rmtree(lab.folder / name)


def opened(browser: Browser, lab: Lab, path: Path) -> Notebook:
    """A notebook whose kernel runs, a moment later."""
    nb = Notebook.open_file(browser, lab, path)
    nb.page.wait_for_timeout(1000)  # nothing is waited for: what must not happen
    return nb


CURRENT = "window.jupyterapp.shell.currentWidget"


def test_a_notebook_that_was_only_opened_is_not_marked_unsaved(browser, delivered):
    """Six of the thirty, each with its kernel; the others say the same about kernel and language, which is what JupyterLab adds."""
    paths = sorted(
        path for folder in ("notebooks", "exercises") for path in (delivered.folder / folder).glob("*.ipynb")
    )
    assert len(paths) == 30
    about = [json.loads(path.read_text("utf-8"))["metadata"] for path in paths]
    for key in ("kernelspec", "language_info"):
        assert len({str(one[key]) for one in about}) == 1
    assert all("version" in one["language_info"] for one in about)  # of their own, on any server
    some = [path.relative_to(delivered.folder).as_posix() for path in paths[::5]]
    nb = Notebook.open_file(browser, delivered, paths[0])
    names, unsaved = nb.page.evaluate(
        """async (paths) => {
             const opened = [];
             for (const path of paths) {
               const widget = await window.jupyterapp.commands.execute("docmanager:open", { path });
               await widget.sessionContext.ready;
               await widget.sessionContext.session.kernel.info;
               opened.push(widget);
             }
             await new Promise((done) => setTimeout(done, 1000));  // nothing is waited for: what must not happen
             const unsaved = opened.filter((widget) => widget.context.model.dirty);
             const names = [opened, unsaved].map((all) => all.map((widget) => widget.title.label));
             for (const widget of opened) await widget.sessionContext.shutdown();
             return names;
           }""",
        some,
    )
    nb.close()
    assert unsaved == []
    assert len({name[:8] for name in names if name.startswith("exercise")}) == 1
    assert len({path.name for path in paths}) == 30  # which is what a tab says


def test_a_notebook_of_the_checkout_that_was_only_opened_is_not_marked_unsaved(browser, lab):
    """An extension of the server says which kernel runs it; the file is as it was. Elsewhere the extension does nothing."""
    source = REPO / "notebooks" / "02_forward_builds_the_graph.ipynb"
    (lab.folder / "checkout" / "autograd_lab" / "course").mkdir(parents=True)
    (lab.folder / "checkout" / "autograd_lab" / "course" / "resources.py").touch()
    (lab.folder / "checkout" / "notebooks").mkdir()
    path = Path(shutil.copy(source, lab.folder / "checkout" / "notebooks"))
    nb = opened(browser, lab, path)
    assert nb.page.evaluate(f"{CURRENT}.context.model.toJSON().metadata.language_info.version")
    assert not nb.page.evaluate(f"{CURRENT}.context.model.dirty")
    assert path.read_bytes() == source.read_bytes()
    nb.close()
    nb = opened(browser, lab, Path(shutil.copy(source, lab.folder)))
    assert nb.page.evaluate(f"{CURRENT}.context.model.dirty")
    nb.close()
    shutil.rmtree(lab.folder / "checkout")


def test_the_end_has_a_picture_and_links_to_the_exercises_and_the_next_notebook(browser, delivered):
    nb = opened(browser, delivered, delivered.folder / "notebooks" / "04_backward_node_by_node.ipynb")
    nb.page.evaluate(f"{CURRENT}.content.scrollToItem({CURRENT}.content.widgets.length - 1, 'end')")
    picture = nb.page.get_by_role("img", name="From the loss one message goes straight")
    nb.page.wait_for_function("picture => picture.naturalWidth === 660", arg=picture.element_handle())
    labels = []
    for name in ("Exercises 04", "Next: 05"):
        nb.page.evaluate(
            "window.jupyterapp.shell.activateById([...window.jupyterapp.shell.widgets('main')][0].id)"
        )
        nb.page.get_by_role("link", name=name).last.click()
        nb.page.wait_for_function("before => window.jupyterapp.shell.currentWidget?.title.label !== before",
                                  arg="04_backward_node_by_node.ipynb")  # fmt: skip
        labels.append(nb.page.evaluate(f"{CURRENT}.title.label"))
        nb.page.evaluate(f"{CURRENT}.sessionContext.ready.then(() => {CURRENT}.sessionContext.shutdown())")
    nb.page.evaluate(
        "window.jupyterapp.shell.activateById([...window.jupyterapp.shell.widgets('main')][0].id)"
    )
    nb.close()
    assert labels == ["exercise_04_backward_node_by_node.ipynb", "05_who_keeps_a_gradient.ipynb"]
