"""`%%step` on top of a cell: run the cell unchanged, then step through what it did.

%%step                          on its own
%%step walk --by node           the stepper is called `walk` afterwards
%%step --predict                ask before showing
%%step --predict value,shape    ask only about these
%%step --mode engine --at end
%%step --torch                  for a cell that uses real PyTorch

The cell runs in the notebook's namespace and displays what it would display without the magic. If it fails, the stepper ends
with the failure, and the traceback follows as usual.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from autograd_lab.tracing.questions import KINDS
from autograd_lab.tracing.recorder import Recording, record

from . import step
from .levels import LEVELS
from .program import from_line, recorded


def load_ipython_extension(shell: Any) -> None:
    """Register `%%step` with IPython: on import of `autograd_lab.lab`, or by %load_ext autograd_lab."""

    @magic_arguments()
    @argument("name", nargs="?", help="a variable for the stepper")
    @argument("--by", choices=["event", "node", "iteration"], default="event", help="what one step is")
    @argument(
        "--predict", nargs="?", const=True, metavar="KINDS", help="ask before showing (value,grad,shape,...)"
    )
    @argument("--mode", choices=["watch", "predict", "engine"], help="the mode to begin in")
    @argument("--level", choices=LEVELS, help="how much is shown beside the graph")
    @argument("--torch", action="store_true", help="the cell uses real PyTorch")
    @argument("--at", metavar="STEP", help="the step to begin at: a number, or end")
    @argument("--title", default="", help="a heading, in quotes if it has spaces")
    @no_var_expand
    def step(line: str, cell: str) -> None:
        """Run the cell and step through its forward and backward passes."""
        _run(shell, parse_argstring(step, line), line, cell)

    shell.register_magic_function(step, "cell", "step")


def _run(shell: Any, options: Any, line: str, cell: str) -> None:
    traits = _traits(options)
    parts, file = _compiled(shell, line, cell)
    trace, failure = recorded(parts, shell.user_ns, _recording(options))
    if trace is not None:
        _show(shell, trace, options, traits, failure is not None)
    if failure is not None:
        _shorten(shell, failure, file)
        raise failure


def _recording(options: Any) -> Any:
    """The recorder for the cell: of this package's engine, or of real PyTorch."""
    title = options.title.strip("\"'")
    if not options.torch:
        return record(title=title)
    from autograd_lab.tracing.torch_adapter import record_torch

    return record_torch(title=title)


def _traits(options: Any) -> dict[str, Any]:
    """The arguments of the stepper. Raises UsageError, before anything runs, if they make no sense."""
    name, at, predict = options.name, options.at, options.predict
    if name is not None and not name.isidentifier():
        raise UsageError(f"%%step: {name!r} cannot be the name of a variable")
    if at is not None and not (at == "end" or at.isdecimal()):
        raise UsageError(f"%%step: --at takes the number of a step or `end`, not {at!r}")
    if isinstance(predict, str):
        predict = predict.split(",")
        for kind in predict:
            if kind not in KINDS:
                raise UsageError(f"%%step: --predict takes kinds out of {','.join(KINDS)}, not {kind!r}")
    found = {"by": options.by, "level": options.level, "mode": options.mode, "predict": predict}
    return {key: value for key, value in found.items() if value is not None}


def _compiled(shell: Any, line: str, cell: str) -> tuple[list[Any], str]:
    """The cell as code, with the last expression, which is displayed, apart; and the name of the source.

    Its lines are numbered as in the editor, where the line with the magic is the first.
    """
    source = f"# %%step {line}".rstrip() + "\n" + shell.transform_cell(cell)
    file = shell.compile.cache(source, _number(shell), raw_code=cell)
    try:
        tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
        last = []
        shows = not DisplayHook.semicolon_at_end_of_expression(cell)
        if shows and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = [tree.body.pop()]
        parts = [shell.compile(tree, file, "exec")]
        if last:
            parts.append(shell.compile(ast.Interactive(last), file, "single"))
    except SyntaxError as error:
        raise _as_usual(shell, error) from None
    return parts, file


def _number(shell: Any) -> int:
    """The number of the running cell."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        number = shell.compile._filename_map.get(frame.f_code.co_filename)
        if number is not None:
            return int(number)
    return int(shell.execution_count)


def _as_usual(shell: Any, error: SyntaxError) -> Exception:
    """An error that IPython prints as it prints the cell's own SyntaxError.

    For a SyntaxError raised at run time IPython prints all calls that led to it; here these are the magic's.
    """
    lines = shell.SyntaxTB.structured_traceback(type(error), error, [])
    kind = type("SyntaxError", (Exception,), {"_render_traceback_": lambda self: lines})
    return kind(str(error))


_PYTORCH = ". To step through what PyTorch does: %%step --torch"


def _show(shell: Any, trace: Recording, options: Any, traits: dict[str, Any], failed: bool) -> None:
    if not trace.tensors:
        if not failed:
            print(
                "%%step: nothing to step through, no operation on a tensor of autograd_lab ran in this cell"
                + (_PYTORCH if getattr(sys.modules.get("torch"), "__name__", "") == "torch" else "")
            )
        return
    if options.at is not None:
        traits["position"] = len(trace) if options.at == "end" else int(options.at)
    elif failed and not {"mode", "predict"} & set(traits):
        traits["position"] = len(trace)
    stepper = step(trace, **traits)
    if options.name is not None:
        shell.user_ns[options.name] = stepper
    display(stepper)


def _shorten(shell: Any, error: BaseException, file: str) -> None:
    """Let IPython print the traceback from the student's own line on, without the magic's frames."""
    rendered = shell.InteractiveTB.structured_traceback(
        type(error), error, from_line(error, file), tb_offset=0
    )
    error._render_traceback_ = lambda: rendered  # type: ignore[attr-defined]
