"""The film that a page makes of what a stepper has sent it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
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


HELD = {"inplace": ((), (-1,)), "read": ((), (-1,)), "read tolist": ((), (-1,)), "mode": ((0,), ()), "flag": ((1,), ()), "inplace recorded": ((0, 2), ()), "edge CopySlices": ((0,), ())}  # fmt: skip
"""Of what the engine's variables hold at a mark: which of them are words, and which from the end are values (see engine_source.BY_MARK)."""


def shown(film: Any) -> list[Any]:
    """What a page can show of a film, step by step and then as a whole, without the numbers by which the film refers to its tables."""
    strings, values, states = film["strings"], film["values"], film["states"]

    def value(v: int | None) -> Any:
        return None if v is None or v < 0 else [values[v], film["levels"][v] if film["scale"] else 0]

    def tensor(state: Any) -> Any:
        return state and [value(state[0]), state[1], value(state[2]), state[3]]

    def edge(state: Any) -> Any:
        return state and [state[0], value(state[1]), value(state[2])]

    def label(state: Any) -> Any:
        return state and [strings[state[0]], value(state[1])]

    def panel(state: Any) -> Any:
        if state is None:
            return None
        found = dict(state)
        for name in {"add", "g"} & found.keys():
            found[name] = [value(v) for v in found[name]]
        if "out" in found:
            found["out"] = [
                [i, *(strings[word] for word in words), value(v)] for i, *words, v in found["out"]
            ]
        if "error" in found:
            found["error"] = strings[found["error"]]
        return found

    def over(timeline: list[Any], meaning: Callable[[Any], Any] = lambda x: x) -> list[Any]:
        """What the states of a timeline mean at each step: worked out once for each of its changes."""
        times = [*timeline[::2], film["steps"] + 1]
        found = [meaning(None)] * times[0]
        for k, (now, then) in enumerate(pairwise(times)):
            found += [meaning(timeline[2 * k + 1])] * (then - now)
        assert len(found) == film["steps"] + 1, timeline
        return found

    def of_state(meaning: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda state: meaning(None if state is None or state < 0 else states[state])

    def made(mark: str, holds: list[Any]) -> list[Any]:
        words, numbers = HELD.get(mark, ((), ()))
        return [
            strings[x] if i in words and x is not None else value(x) if i - len(holds) in numbers else x
            for i, x in enumerate(holds)
        ]

    nodes = film["nodes"]
    columns = {
        "tensors": [over(one["tl"], of_state(tensor)) for one in film["tensors"]],
        "edges": [over(one["tl"], of_state(edge)) for one in film["backward"]],
        "nodes": [over(one["tl"], of_state(lambda state: state)) for one in nodes],
        "panels": [over(one["panel"], of_state(panel)) for one in nodes],
        "lies": [over(one.get("lies", []), lambda lying: [value(v) for v in lying or []]) for one in nodes],
        "queue": [over(tl) for name in ("queue", "deps", "left", "held") for tl in film.get(name, [])],
        "others": [over(film[name]) for name in ("line", "waiting", "gradMode") if film[name]],
    }
    dead = [[over(tl, of_state(edge)) for _, tl in one["dead"]] for one in nodes]
    labels = [[over(one[name], of_state(label)) for name in ("heap", "seed")] for one in nodes]

    def at_step(k: int) -> Any:
        told = [text if text < 0 else strings[text] for text in film.get("told", {}).get(str(k), [])]
        return {
            "said": [strings[part] for part in film["say"][k]],
            "about": [film["kinds"][film["kind"][k]], film["focus"][k], film["subject"][k]],
            "sums": [value(v) for v in film["sums"].get(str(k), [0])[1:]],
            **{name: [column[k] for column in found] for name, found in columns.items()},
            "dead": [[column[k] for column in of_node] for of_node in dead],
            "labels": [[column[k] for column in of_node] for of_node in labels],
            "told": told,
            "made": made(
                told[0] if told else film["kinds"][film["kind"][k]], film.get("made", {}).get(str(k), [])
            ),
        }

    tables = ("strings", "values", "states", "levels", "say", "sums", "told", "made")
    whole = {name: part for name, part in film.items() if name not in tables}
    whole["nodes"] = [
        {
            **{name: part for name, part in one.items() if name not in ("tl", "panel", "heap", "seed", "dead", "lies")},
            "saved": [[name, value(v), version] for name, v, version in one["saved"]],
            "changes": [one[name][::2] for name in ("tl", "panel", "heap", "seed")],
        }
        for one in film["nodes"]
    ]  # fmt: skip
    for name in ("tensors", "backward"):
        whole[name] = [one | {"tl": one["tl"][::2]} for one in film[name]]
    refer = {"writes": (3, 4), "failures": (5, 6), "rows": (4,), "adjoints": (3, 4), "hooks": (3, 4)}
    whole["details"] = film["details"] | {
        name: [
            [
                [value(v) for v in x] if isinstance(x, list) else value(x) if i in places and x != -2 else x
                for i, x in enumerate(row)
            ]
            for row in film["details"][name]
        ]
        for name, places in refer.items()
    }
    return [*map(at_step, range(film["steps"] + 1)), whole]
