"""What a program makes the core tell, as JSON: `python tell.py FOLDER PACKAGE`, with PACKAGE `core` or `autograd_lab`.

Run in a process of its own, for the core alone is another module than the package's core.
"""

import importlib
import json
import sys
from types import SimpleNamespace

import numpy as np


def main(folder, package):
    sys.path.insert(0, folder)
    torch = importlib.import_module(package)
    name = package if package == "core" else package + ".core"
    core = SimpleNamespace(**{
        page: importlib.import_module(f"{name}.{page}") for page in ("engine", "modes", "node", "tensor", "watch")
    })  # fmt: skip
    verbs = json.loads(sys.stdin.readline())
    programs = json.loads(sys.stdin.readline())
    grad = torch.grad if package == "core" else torch.autograd.grad
    print(json.dumps({name: told(torch, core, grad, code, verbs) for name, code in programs.items()}))


def told(torch, core, grad, code, verbs):
    """The events of a program, and what it has seen."""
    events, seen, numbers, formulas = [], [], {}, []

    def shown(x):
        if isinstance(x, core.tensor.Tensor):
            return shown(x._data)
        if isinstance(x, (np.ndarray, np.generic)):
            return [str(x.dtype), list(x.shape), np.asarray(x).tolist()]
        if isinstance(x, core.node.Node):
            return [x.name(), numbers.setdefault(x, len(numbers))]
        if isinstance(x, (list, tuple)):
            return [shown(one) for one in x]
        if isinstance(x, type):
            return x.__name__
        return x if isinstance(x, (int, float, str, bool, type(None))) else type(x).__name__

    def teller(verb):
        def tell(self, *args, **kwargs):
            run = args[0] if args and isinstance(args[0], core.engine.BackwardPass) else None
            if verb == "applied":
                formulas.pop()
            elif verb == "applying":
                formulas.append(verb)
            if formulas and verb != "applying":
                return  # the steps of a formula on Tensors: PyTorch's own are others
            if (
                verb == "written"
            ):  # a number is told as a number by the one, as a tensor of one element by the other
                rule, inputs, target, *more = args
                args = (
                    rule,
                    [
                        core.tensor.wrap(np.asarray(x, target._data.dtype))
                        if isinstance(x, (int, float))
                        else x
                        for x in inputs
                    ],
                    target,
                    *more,
                )
            events.append([verb, [shown(arg) for arg in args if arg is not run]])
            if verb == "operation" and args[3] is not None:
                node = args[3]
                events.append(["node", shown(node), shown(node.next_functions), shown(node.saved)])

        return tell

    call = core.node.Node.__call__

    def by_hand(node, *grads):
        formulas.append("by hand")
        try:
            return call(node, *grads)
        finally:
            formulas.pop()

    core.node.Node.__call__ = by_hand
    listener = type("Listener", (core.watch.Watch,), {verb: teller(verb) for verb in verbs})()
    state = core.modes.THREAD.state
    state.watch = listener
    core.modes.WATCHERS.append(listener)
    state.refresh()

    class Namespace:
        """`torch`, with `grad` where both have it."""

        def __getattr__(self, name):
            return grad if name == "grad" else getattr(torch, name)

    try:
        exec(code, {"torch": Namespace(), "seen": lambda *what: seen.append(shown(what))})
    finally:
        core.node.Node.__call__ = call
        core.modes.WATCHERS.remove(listener)
        state.watch = None
        state.refresh()
    return {"events": events, "seen": seen}


if __name__ == "__main__":
    main(*sys.argv[1:])
