"""The card of `lab.reveal` as a widget: for marimo, where no script runs in the HTML of an output."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from .guess import asset, html


class Card(anywidget.AnyWidget):
    """The same card: what is clicked stays in the page, and the answer that counts goes into the cell."""

    # The script looks for cards in the page, where those in marimo's shadow roots are not: this one goes through it.
    _esm = f"""{asset("guess.js")}
export default {{ render({{ model, el }}) {{
  const card = document.createElement("div");
  card.innerHTML = model.get("html");
  document.body.append(card);
  window.aglGuess();
  el.append(card);
}} }};"""
    _css = asset("guess.css") + "\n:host .agl-guess { color-scheme: inherit; }"  # that of marimo's theme
    html = traitlets.Unicode(help="the card").tag(sync=True)

    def __init__(self, card: dict[str, Any], words: str) -> None:
        super().__init__(html=html(card, words, front=False))
