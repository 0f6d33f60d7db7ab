"""What a page without a kernel needs for a slider: one input of a stepper, run at each of its stops when the page is written.

The document that travels (packed by wire.py):

    runs     for each stop the number of its run, or -1 where the function raises
    errors   {stop: what is said there}
    films    {part of the film: that part in each run}, for the parts that are not the same in all; neighbours pack well
    nudges   for each run what nudge.py measured
"""

from __future__ import annotations

import io
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from autograd_lab.tracing.trace import Record

from . import nudge
from .frames import Numbers, film
from .runs import failed, round_to
from .wire import encode

if TYPE_CHECKING:
    from .runs import Run

SLOW, LONG = 0.25, 3.0
"""Seconds of computing, and of waiting, for the first stop above which there is no slider."""
FEWER = 41, 21, 11
"""So many stops, as far as they have room."""


def precomputed(
    run: Run, shown: Record, which: Record, room: int, numbers: Numbers | None = None
) -> tuple[str, Record, str]:
    """The packed document for one input, the stops that it is for, and a sentence: what is missing of it, or why there is none ("" then).

    shown     the film that the page shows at first
    which     the input as the front end knows it, with "name" and "stops"
    room      bytes that the document may have
    numbers   of that film, so that the others differ little
    """  # fmt: skip
    left_out = "The slider needs a kernel: this page leaves it out, since "
    large = f"{left_out}{FEWER[0]} runs of a graph of {len(shown['nodes'])} nodes are too large for it."
    before, leaves = run.now, run.leaves
    begun = time.process_time(), time.perf_counter()
    try:
        if 2 * len(encode(shown)) > room:  # eleven runs of a film take about so much
            return "", {}, large
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a function that would say it all 41 times
            found = _run_all(run, which, begun, numbers)
        if found is None:
            return "", {}, f"{left_out}one run takes too long to do it {FEWER[0]} times."
        for count in FEWER:
            every = (FEWER[0] - 1) // (count - 1)
            text = encode(_document(shown, found[::every]))
            if len(text) <= room:
                stops = which["stops"] | {"by": round_to(which["stops"]["by"] * every), "count": count}
                return (
                    text,
                    stops,
                    "" if every == 1 else f"This page has room for {count} places of the slider.",
                )
        return "", {}, large
    finally:
        run.now, run.leaves = before, leaves


def value_at(stops: Record, i: int) -> float:
    """The value at a stop; assets/slider.js has the same."""
    return round_to(stops["low"] + i * stops["by"])


def _run_all(
    run: Run, which: Record, begun: tuple[float, float], numbers: Numbers | None
) -> list[Any] | None:
    """[film, nudges] for each stop, or the sentence of an error; None if that takes too long."""
    found: list[Any] = []
    before = run.now
    for i in range(which["stops"]["count"]):
        run.now = before
        try:
            trace = run.again(run.read(which["name"], f"{value_at(which['stops'], i)!r}"))
            found.append([film(trace, numbers=numbers), nudge.quotients(run, which["name"])])
        except (Exception, SystemExit) as error:  # of the user's function: the page says it at this stop
            found.append(failed(error))
        if not i and (time.process_time() > begun[0] + SLOW or time.perf_counter() > begun[1] + LONG):
            return None
    return found


def _document(shown: Record, found: list[Any]) -> Record:
    runs = [one for one in found if not isinstance(one, str)]
    films, numbers = [one for one, _ in runs], iter(range(len(runs)))
    parts = {key: [one[key] for one in films] for key in shown}
    return {
        "runs": [-1 if isinstance(one, str) else next(numbers) for one in found],
        "errors": {i: one for i, one in enumerate(found) if isinstance(one, str)},
        "films": {key: each for key, each in parts.items() if any(one != shown[key] for one in each)},
        "nudges": [one for _, one in runs],
    }
