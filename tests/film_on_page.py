"""The film that a page makes of what a stepper has sent it."""

from __future__ import annotations

import json
from typing import Any

from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.wire import changed, decode


def film_on_page(s: Stepper) -> Any:
    """The whole film, and how the one that is shown differs from it, put together."""
    film = decode(s._film)
    return as_sent(changed(film, json.loads(s._change))) if s._change else film


def as_sent(document: Any) -> Any:
    """Plain data, as it comes out of JSON."""
    return json.loads(json.dumps(document))
