"""A widget on a page without Jupyter: the quickest way to look at it in a real browser. The fixture `bare` makes them."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from autograd_lab.widgets.front import front_end, style


class Bare:
    """A widget on a page of its own, with a model of a few lines in place of Jupyter's."""

    def __init__(self, page: Page, dark: bool = False) -> None:
        self.page = page
        self.theme = "false" if dark else "true"

    def show(self, widget: Any) -> Page:
        data = {name: getattr(widget, name) for name in widget.keys if name.startswith("_") or name in ("position", "by", "sync", "mode", "level")}  # fmt: skip
        data = {name: value for name, value in data.items() if name not in ("_esm", "_css")}
        front = front_end().replace("export default", "const widget =")
        if self.page.evaluate("'data' in window"):
            self.page.goto("about:blank")  # nothing of what was shown before goes on
        self.page.set_content(
            f'<!doctype html><style>{style()}</style><body data-jp-theme-light="{self.theme}"><div id="root"></div>'
            f"<script type=module>{front}\nconst data = {json.dumps(data, default=str)};\nwindow.data = data;\nwindow.heard = {{}};\n"
            "await widget.render({ model: { get: (k) => data[k], set: (k, v) => { data[k] = v; }, on: (k, f) => { (heard[k] ??= []).push(f); }, off() {}, save_changes() {}, send() {} },"
            ' el: document.getElementById("root") });</script>'
        )
        self.page.wait_for_selector(".agl-say")
        return self.page
