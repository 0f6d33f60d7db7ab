"""What test_pyodide.py asks for, in Pyodide: each part's answer goes into a file of its own, as JSON; a text is what went wrong."""

import importlib
import io
import json
import shutil
import sys
import time
import traceback
from contextlib import redirect_stdout
from pathlib import Path

import told

CHECKOUT, OUT = Path("/checkout"), Path("/out")


def main():
    parts = {
        "core": lambda: examples("/alone", "core"),
        "examples": lambda: examples(str(CHECKOUT), "autograd_lab"),
        "bank": lambda: told.bank(anew()),
        "calls": lambda: told.calls(anew()),
        "integers": lambda: told.integers(anew()),
        "variants": lambda: anew() and told.variants(),
        "threads": threads,
        "notebooks": notebooks,
    }
    shutil.copytree(CHECKOUT / "autograd_lab/core", "/alone/core")
    seconds = {}
    for part, ask in parts.items():
        begin = time.monotonic()
        try:
            answer = ask()
        except Exception:  # a part that fails leaves the others to be looked at
            answer = traceback.format_exc()
        (OUT / f"{part}.json").write_text(json.dumps(answer))
        seconds[part] = round(time.monotonic() - begin, 1)
    print(json.dumps(seconds))


def anew():
    """The package, imported once more: what ran before has left nothing in it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("autograd_lab", "torch", "core")]:
        del sys.modules[name]
    return importlib.import_module("autograd_lab")


def examples(folder, package):
    """{page of the core: [examples, failures]} of the docstrings."""
    sys.path.append(str(CHECKOUT / "tests/core"))
    from examples import main

    anew()
    printed = io.StringIO()
    with redirect_stdout(printed):
        main(folder, package)
    return json.loads(printed.getvalue().splitlines()[-1])


def threads():
    """What elsewhere needs a thread: a pass within a pass within ..., and the end of code that never ends."""
    torch = anew()
    from autograd_lab.course.timeout import StillRunning, within

    return {"deep": [deep(torch, 55), deep(torch, 1000)], "stopped": [ended(within, StillRunning, code) for code in (endless, stubborn)],
            "result": within(60, lambda: 7)}  # fmt: skip


def deep(torch, levels):
    """The gradient of x through a function whose backward runs a pass of its own, and so on."""

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if ctx.left:
                with torch.enable_grad():
                    leaf = ctx.saved_tensors[0].detach().requires_grad_()
                    Inner.apply(leaf, ctx.left - 1).backward()
            return g * 2, None

    x = torch.tensor(3.0, requires_grad=True)
    try:
        Inner.apply(x, levels).backward()
    except RecursionError:  # a thread of its own would go on; here at least Python lives on
        return "RecursionError"
    return x.grad.item()


def endless():
    while True:
        pass


def stubborn():
    while True:
        try:
            endless()
        except BaseException:  # as a learner's bare `except:` does
            len("it went on")


def ended(within, error, code):
    begin = time.monotonic()
    try:
        within(0.5, code)
    except error:
        return time.monotonic() - begin < 60
    return False


def notebooks():
    """{notebook: [how many cells ran, {cell: what went wrong}]}."""
    import cells

    anew()
    Path("/work").mkdir()
    return {
        f"{folder}/{path.name}": cells.run(path, "/work", compared=folder != "exercises")
        for folder in ("notebooks", "exercises", "solutions")
        for path in sorted((CHECKOUT / folder).glob("*.ipynb"))
    }
