"""The film that a page makes of what a stepper has sent it."""

from __future__ import annotations

import json
from typing import Any

from autograd_lab.widgets.frames import at
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

    def state_at(timeline: list[Any], k: int) -> Any:
        state = at(timeline, k)
        return None if state is None or state < 0 else states[state]

    def made(mark: str, holds: list[Any]) -> list[Any]:
        words, numbers = HELD.get(mark, ((), ()))
        return [
            strings[x] if i in words and x is not None else value(x) if i - len(holds) in numbers else x
            for i, x in enumerate(holds)
        ]

    def at_step(k: int) -> Any:
        told = [text if text < 0 else strings[text] for text in film.get("told", {}).get(str(k), [])]
        return {
            "said": [strings[part] for part in film["say"][k]],
            "about": [film["kinds"][film["kind"][k]], film["focus"][k], film["subject"][k]],
            "sums": [value(v) for v in film["sums"].get(str(k), [0])[1:]],
            "tensors": [tensor(state_at(one["tl"], k)) for one in film["tensors"]],
            "edges": [edge(state_at(one["tl"], k)) for one in film["backward"]],
            "dead": [[edge(state_at(tl, k)) for _, tl in one["dead"]] for one in film["nodes"]],
            "nodes": [state_at(one["tl"], k) for one in film["nodes"]],
            "panels": [panel(state_at(one["panel"], k)) for one in film["nodes"]],
            "labels": [[label(state_at(one[name], k)) for name in ("heap", "seed")] for one in film["nodes"]],
            "lies": [[value(v) for v in at(one.get("lies", []), k) or []] for one in film["nodes"]],
            "queue": [at(tl, k) for name in ("queue", "deps", "left", "held") for tl in film.get(name, [])],
            "others": [at(film[name], k) for name in ("line", "waiting", "gradMode") if film[name]],
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
