"""Fixes, as edits of the student's own lines; () unless an edit is certain.

Each function takes the question and the relevant events. An edit keeps every number of the forward pass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .answer import Edit
from .facts import Hop, Pass
from .question import Question
from .source import Patch, Source

Edits = tuple[Edit, ...]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_name(node: ast.AST, name: str) -> bool:
    """Whether an expression reads the variable `name`, which may be dotted."""
    return (
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == name
    )


def _called(node: ast.AST, method: str) -> ast.expr | None:
    """x, if an expression is `x.method(...)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
        return node.func.value
    return None


def _without(method: str) -> Callable[[ast.AST], ast.AST | None]:
    """Drop the calls of a method: `x.detach()` becomes `x`."""
    return lambda node: _called(node, method)


def _rewritten(q: Question, k: int | None, change: Callable[[ast.AST], ast.AST | None]) -> Edits:
    """The line of an event, its expressions transformed by `change`."""
    where = q.facts.place(k)
    if where is None:
        return ()
    source, n = where
    patch = Patch(source).rewrite(n, change)
    return () if patch is None else patch.edits


def _assignment(q: Question, name: str, near: int | None) -> tuple[Source, ast.Assign] | None:
    """The only statement `name = ...` of the program, or the one on the line of event `near`."""
    where = q.facts.place(near)
    found = [(source, s) for source in q.facts.code for s in source.assigned(name)]
    here = [
        (source, s)
        for source, s in found
        if where is not None and source is where[0] and s.lineno == where[1]
    ]
    only = here or found
    if len(only) != 1 or only[0][0].statement(only[0][1].lineno) is None:
        return None
    return only[0]


# -- flags and leaves ---------------------------------------------------------------------------------


def _flag_on(node: ast.AST) -> ast.AST | None:
    """The argument `requires_grad=False` switched on."""
    if isinstance(node, ast.keyword) and node.arg == "requires_grad" and ast.unparse(node.value) == "False":
        return ast.keyword("requires_grad", ast.Constant(True))
    return None


def assigned_anew(q: Question, t: int, ending: str) -> Edits:
    """`t = ...` becomes `t = (...)` followed by a call, on the line that makes t."""
    name = q.facts.name(t)
    found = _assignment(q, name, None)
    if q.facts.maker.get(t) is not None:
        return ()
    if found is None and "." in name and ending == ".requires_grad_()":
        found = _assignment(q, f"self.{name.rpartition('.')[2]}", None)
        if found is None:
            return ()
        switched = Patch(found[0]).rewrite(found[1].lineno, _flag_on)
        if switched is not None:
            return switched.edits
        short = any(re.search(r"(?<![\w.])nn\.", line) for line in found[0].lines.values())
        kind = "nn.Parameter" if short else "torch.nn.Parameter"
        text = f"{ast.unparse(found[1].targets[0])} = {kind}({ast.unparse(found[1].value)})"
        return Patch(found[0]).replace(found[1].lineno, text).edits
    if found is None:
        return ()
    source, s = found
    value = ast.unparse(s.value)
    simple = isinstance(s.value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
    text = f"{ast.unparse(s.targets[0])} = {value if simple else f'({value})'}{ending}"
    patch = Patch(source).replace(s.lineno, text)
    for other in q.facts.hops(t):  # the flag does not affect what was computed from it
        for k, on, how in q.facts.flags.get(other, ()):
            where = q.facts.place(k)
            if on and how == "requires_grad_" and where is not None and where[0] is source and left_out(q, k):
                patch.delete(where[1])
    return patch.edits


def flag_last(q: Question, k: int | None) -> Edits:
    """`w = ones(3, requires_grad=True) * 0.1`: the numbers first, the flag, or the parameter, last."""
    where = q.facts.place(k)
    if where is None:
        return ()
    source, n = where
    s = source.statement(n)
    wraps: list[str] = []

    def unflagged(node: ast.AST) -> ast.AST | None:
        inner = _called(node, "requires_grad_")
        if inner is not None:
            return inner
        if not isinstance(node, ast.Call):
            return None
        if ast.unparse(node.func).split(".")[-1] == "Parameter" and len(node.args) == 1:
            wraps.append(ast.unparse(node.func))
            return node.args[0]
        if any(word.arg == "requires_grad" for word in node.keywords):
            kept = [word for word in node.keywords if word.arg != "requires_grad"]
            return ast.Call(node.func, node.args, kept)
        return None

    patch = Patch(source).rewrite(n, unflagged)
    if patch is None or not isinstance(s, ast.Assign):
        return ()
    new = ast.parse(patch.edits[0].text.strip()).body[0]
    if not isinstance(new, ast.Assign) or len(wraps) > 1:
        return ()
    value = ast.unparse(new.value)
    leaf = f"{wraps[0]}({value})" if wraps else f"({value}).requires_grad_()"
    return patch.replace(n, f"{ast.unparse(new.targets[0])} = {leaf}").edits


def keep_gradient(q: Question, name: str, k: int | None) -> Edits:
    """`name.retain_grad()` after the line that computes it."""
    found = _assignment(q, name, k)
    if found is None:
        return ()
    source, s = found
    return Patch(source).after(s.lineno, f"{name}.retain_grad()").edits


def leaf_again(q: Question, name: str, k: int) -> Edits:
    """`w = w.double()` makes a leaf: what it was computed from is not part of later passes."""
    found = _assignment(q, name, k)
    if found is None:
        return ()
    source, s = found
    value = ast.unparse(s.value)
    simple = isinstance(s.value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
    return (
        Patch(source)
        .replace(s.lineno, f"{name} = {value if simple else f'({value})'}.detach().requires_grad_()")
        .edits
    )


def left_out(q: Question, k: int) -> Edits:
    """Delete the line of event k, if it does nothing else."""
    where = q.facts.place(k)
    if where is None:
        return ()
    source, n = where
    s = source.statement(n)
    call = (
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Attribute)
    )
    flag = isinstance(s, ast.Assign) and ast.unparse(s.targets[0]).endswith(".requires_grad")
    return Patch(source).delete(n).edits if call or flag else ()


def moved_up(q: Question, k: int | None, to: int | None, behind: bool = False) -> Edits:
    """Move the line of event k before or after the line of event `to`."""
    here, there = q.facts.place(k), q.facts.place(to)
    if here is None or there is None or here[0] is not there[0]:
        return ()
    source = here[0]
    s, target = source.statement(here[1]), source.statement(there[1])
    if s is None or target is None or not isinstance(s, (ast.Expr, ast.Assign)):
        return ()
    if source.parents[s] is not source.parents[target]:
        return ()
    text = source.lines[here[1]].strip()
    patch = Patch(source).delete(here[1])
    return (patch.after if behind else patch.before)(there[1], text).edits


def uncalled(q: Question, method: str) -> tuple[str, Edits]:
    """A statement such as `opt.zero_grad`, which names a method without calling it, and the change that calls it; ('', ()) if there is none."""
    for source in q.facts.code:
        for s in source.statements():
            named = isinstance(s, ast.Expr) and isinstance(s.value, ast.Attribute) and s.value.attr == method
            if isinstance(s, ast.Expr) and named and source.statement(s.lineno) is s:
                text = ast.unparse(s.value)
                return text, Patch(source).replace(s.lineno, f"{text}()").edits
    return "", ()


def pretrained(q: Question) -> bool:
    """Whether the owner of the tensor was made by from_pretrained()."""
    owner = q.name.rpartition(".")[0]
    made = [
        s
        for source in q.facts.code
        for name in (owner, f"self.{owner.rpartition('.')[2]}")
        for s in source.assigned(name)
    ]
    return any("from_pretrained(" in ast.unparse(s.value) for s in made)


def idle_flags(q: Question) -> list[tuple[Source, ast.Assign]]:
    """The statements that were meant to switch the tensor's flag on but set another attribute: `model.head.requires_grad = True`."""
    found = []
    for source in q.facts.code:
        for s in source.statements():
            target = s.targets[0] if isinstance(s, ast.Assign) else None
            if not isinstance(s, ast.Assign) or not isinstance(target, ast.Attribute):
                continue
            on = isinstance(s.value, ast.Constant) and s.value.value is True
            owner = ast.unparse(target.value)
            inside = f".{owner.removeprefix('self.')}." if owner.startswith("self.") else f"{owner}."
            of_module = target.attr == "requires_grad" and (
                inside in q.name or q.name.startswith(f"{owner}[")
            )
            misspelled = target.attr != "requires_grad" and re.fullmatch(
                r"_?requires?_?grads?|requires?_gradients?|requiresGrad", target.attr
            )
            own = owner == q.name or any(
                ast.unparse(loop.target) == owner
                for loop in source.around(s.lineno, ast.For)
                if isinstance(loop, ast.For)
            )
            if on and (of_module or (misspelled and own)) and source.statement(s.lineno) is s:
                found.append((source, s))
    return found


def working_flag(s: ast.Assign) -> str:
    """The intended form of an idle flag."""
    target = s.targets[0]
    assert isinstance(target, ast.Attribute)
    owner = ast.unparse(target.value)
    return f"{owner}.requires_grad_(True)"


def flag_switched_on(source: Source, s: ast.Assign) -> Edits:
    """Turn an idle flag into one that has an effect."""
    return Patch(source).replace(s.lineno, working_flag(s)).edits


# -- updates ------------------------------------------------------------------------------------------


def in_place(q: Question, own: str, k: int) -> Edits:
    """`w = w - lr * w.grad` becomes `w -= lr * w.grad`, under no_grad; any other new value is copied into w."""
    found = _update(q, own, k)
    if found is None:
        return ()
    source, n, pairs = found
    patch = Patch(source)
    updates = [(n, pairs), *_siblings(source, n)]
    start = next(
        (q.facts.place(run.start) for run in reversed(q.facts.passes) if run.end < k and run.fills), None
    )
    clears = any(_CLEARS.search(line) for other in q.facts.code for line in other.lines.values())
    if (
        start is not None
        and start[0] is source
        and not clears
        and _function_of(*start) is _function_of(source, n)
    ):
        for name, value in [pair for _, more in updates for pair in more]:
            fixed = re.fullmatch(r"\w+(\[('\w+'|\w+)\])?", name)  # the same before the pass as now
            if fixed and f"{name}.grad" in ast.unparse(value):
                clear = f"{name}.grad = None"  # a new tensor has none, the old one would accumulate
                varies = {name, name.rpartition("[")[2].rstrip("]")}
                loop = next((x for x in source.around(n, ast.For) if _loops_over(x, varies)), None)
                if loop is not None and loop not in source.around(start[1], ast.For):
                    assert isinstance(loop, ast.For)
                    if not isinstance(loop.target, ast.Name):
                        continue
                    clear = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}: {clear}"
                patch.before(start[1], clear)
    for line, more in updates:
        texts = [_written(name, value) for name, value in more]
        if not _recording_is_off(source, line):
            texts = [f"with torch.no_grad(): {text}" for text in texts]
        patch.replace(line, "\n".join(texts))
    return patch.edits


def _loops_over(loop: ast.AST, names: set[str]) -> bool:
    return isinstance(loop, ast.For) and not names.isdisjoint(
        node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)
    )


def _siblings(source: Source, n: int) -> list[tuple[int, list[tuple[str, ast.expr]]]]:
    """The other updates in the same block that assign the name to a new tensor: they have the same mistake."""
    s = source.statement(n)
    found = []
    for other in getattr(source.parents.get(s), "body", ()) if s is not None else ():
        if isinstance(other, ast.Assign) and other is not s and len(other.targets) == 1:
            name = ast.unparse(other.targets[0])
            read = {ast.unparse(x) for x in ast.walk(other.value) if isinstance(x, (ast.Name, ast.Attribute))}
            again = (
                other.lineno > n and name in source.targets(n) and name in read
            )  # `x = x.clamp(0, 1)` after it
            update = {name, f"{name}.grad"} <= read
            if (update or again) and source.statement(other.lineno) is other:
                found.append((other.lineno, [(name, other.value)]))
    return found


def _update(q: Question, own: str, k: int) -> tuple[Source, int, list[tuple[str, ast.expr]]] | None:
    """The line that gives the name `own` to the tensor of event k, and the (name, new value) pairs on it."""
    where = q.facts.place(k)
    if where is None:
        return None
    source, n = where
    s = source.statement(n)
    target = s.targets[0] if isinstance(s, ast.Assign) and len(s.targets) == 1 else None
    if isinstance(s, ast.Assign) and target is not None and ast.unparse(target) == own:
        return source, n, [(own, s.value)]
    if isinstance(s, ast.Assign) and isinstance(target, ast.Tuple) and isinstance(s.value, ast.Tuple):
        pairs = [(ast.unparse(t), value) for t, value in zip(target.elts, s.value.elts, strict=False)]
        names = {name for name, _ in pairs}
        apart = all(_read_in(value) & names <= {name} for name, value in pairs)
        return (source, n, pairs) if own in names and apart and all(map(str.isidentifier, names)) else None
    for later in source.assigned(own):
        if later.lineno > n and isinstance(later.value, ast.Name) and later.value.id in source.targets(n):
            return source, later.lineno, [(own, later.value)]
    return None


def _read_in(value: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


def _written(own: str, value: ast.expr) -> str:
    """The statement that writes a new value into `own`."""
    while True:
        inner = next(
            (x for x in (_called(value, m) for m in ("detach", "requires_grad_", "clone")) if x is not None),
            None,
        )
        if inner is None:
            break
        value = inner
    old = {own, f"{own}.data", f"{own}.detach()"}
    if (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, (ast.Add, ast.Sub))
        and ast.unparse(value.left) in old
    ):
        sign = "+" if isinstance(value.op, ast.Add) else "-"
        return f"{own} {sign}= {ast.unparse(value.right)}"
    return f"{own}.copy_({ast.unparse(value)})"


_CLEARS = re.compile(r"zero_grad\(|\.grad\s*=\s*None|\.grad(\.data)?\.zero_\(")


def _recording_is_off(source: Source, n: int) -> bool:
    return any(_switches_off(node) for node in source.around(n, ast.With))


def _switches_off(node: ast.AST) -> bool:
    """Whether a with statement enters no_grad, inference_mode or a similar mode, and nothing else."""
    return (
        isinstance(node, ast.With)
        and len(node.items) == 1
        and re.search(r"\b(no_grad|inference_mode|set_grad_enabled)\b", ast.unparse(node.items[0]))
        is not None
    )


def under_no_grad(q: Question, k: int) -> Edits:
    """The line of event k, under no_grad."""
    where = q.facts.place(k)
    s = None if where is None else where[0].statement(where[1])
    if where is None or not isinstance(s, (ast.AugAssign, ast.Assign, ast.Expr)):
        return ()
    return (
        Patch(where[0]).replace(where[1], f"with torch.no_grad(): {where[0].lines[where[1]].strip()}").edits
    )


def moved_after(q: Question, w: int, run: Pass) -> Edits:
    """Move the update at event w after the pass that still needs the old value."""
    here, there = q.facts.place(w), q.facts.place(run.start)
    if here is None or there is None or here[0] is not there[0]:
        return ()
    source, last = here[0], there[1]
    s, target = source.statement(here[1]), source.statement(last)
    if s is None or target is None:
        return ()
    whole: ast.stmt = s
    block = source.parents[s]
    if isinstance(block, ast.With) and _switches_off(block) and len(block.body) == 1:
        whole = block
    if source.parents[whole] is not source.parents[target] or whole.lineno > last:
        return ()
    patch = Patch(source)
    inside = source.indent(whole.lineno)
    for n in range(whole.lineno, (whole.end_lineno or whole.lineno) + 1):
        patch.after(last, source.lines[n].removeprefix(inside))
        patch.gone(n)
    return patch.edits


# -- cuts ---------------------------------------------------------------------------------------------


def mended(q: Question, cuts: list[Hop]) -> Edits:
    """Remove every cut from its line; () if that is not certain for each of them."""
    found: dict[tuple[str, int], Edit] = {}
    for hop in cuts:
        edits = _mended(q, hop)
        if not edits or any(found.get(edit[:2], edit) != edit for edit in edits):
            return ()
        found |= {edit[:2]: edit for edit in edits}
    found |= {edit[:2]: edit for edit in _flags_left_out(q, {q.facts.name(hop.b) for hop in cuts})}
    return tuple(found[place] for place in sorted(found))


def _flags_left_out(q: Question, names: set[str]) -> Edits:
    """Delete `loss.requires_grad = True` if its target, one of these names or computed from one, now has a history."""
    found: list[Edit] = []
    for source in q.facts.code:
        known = source.computed_from(names)
        for s in source.statements():
            target = s.targets[0] if isinstance(s, ast.Assign) else None
            if (
                isinstance(target, ast.Attribute)
                and target.attr == "requires_grad"
                and (ast.unparse(target.value) in known or _is_downstream(q, source, s.lineno))
                and source.statement(s.lineno) is not None
            ):
                found += Patch(source).delete(s.lineno).edits
    return tuple(found)


def _is_downstream(q: Question, source: Source, n: int) -> bool:
    """Whether line n sets the flag of something computed from the tensor asked about."""
    facts = q.facts
    return any(
        facts.place(k) == (source, n)
        for t in facts.hops(q.t)
        for k, on, how in facts.flags.get(t, ())
        if on and how == "requires_grad_"
    )


def _mended(q: Question, hop: Hop) -> Edits:
    if hop.cut == "detached":
        return _not_detached(q, hop)
    if hop.cut == "detached-in-place":
        return left_out(q, hop.k) or _rewritten(q, hop.k, _without("detach_"))
    if hop.cut == "data":
        name = q.facts.name(hop.a)
        own = f"{name}.data"
        return _rewritten(q, hop.k, lambda node: _expression(name) if _is_name(node, own) else None)
    if hop.cut in ("no-grad", "inference-mode"):
        return _out_of_the_block(q, hop)
    if hop.cut == "copied":
        return _rewritten(q, hop.k, lambda node: _stacked(q, hop, node))
    if hop.cut == "item":
        return kept_as_tensor(q, [hop.k], hop.also)
    return ()


def _not_detached(q: Question, hop: Hop) -> Edits:
    """Delete the call of detach; give an earlier pass that should stop there a detach of its own."""
    where = q.facts.place(hop.k)
    if where is None:
        return ()
    patch = Patch(where[0]).rewrite(where[1], lambda node: _straight_through(node) or _called(node, "detach"))
    if patch is None or re.search(r"\bVariable\(", patch.edits[0].text):
        return ()  # wrapping it in a Variable would cut it again
    left, _, right = patch.edits[0].text.strip().partition(" = ")
    if left == right:
        return patch.delete(where[1]).edits
    stops = _stopped_there(q, hop, left)
    return () if stops is None else (*patch.edits, *stops)


def _step_back(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The x and the `r - x`, or what is called on it, of a sum `x + (r - x)` in any order."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return None
    for x, other in ((node.left, node.right), (node.right, node.left)):
        step = _called(other, "detach") or other
        if (
            isinstance(step, ast.BinOp)
            and isinstance(step.op, ast.Sub)
            and ast.unparse(step.right) == ast.unparse(x)
        ):
            return x, other
    return None


def _straight_through(node: ast.AST) -> ast.AST | None:
    """`(x + (r - x)).detach()` becomes `x + (r - x).detach()`: without any detach, what x gets adds up to 0."""
    found = _step_back(_called(node, "detach") or ast.Pass())
    if found is None:
        return None
    x, step = found
    return ast.BinOp(x, ast.Add(), _expression(f"({ast.unparse(step)}).detach()"))


def adds_back(q: Question, k: int | None) -> list[ast.expr]:
    """The `r - x` of each sum `x + (r - x)` on the line of event k, with the call of detach on it, if there is one."""
    where = q.facts.place(k)
    s = None if where is None else where[0].statement(where[1])
    return (
        [found[1] for node in ast.walk(s) if (found := _step_back(node)) is not None] if s is not None else []
    )


def is_straight_through(q: Question, k: int) -> bool:
    """Whether the line of event k is `x + (r - x).detach()`, which uses the gradient of x for r on purpose."""
    return any(_called(step, "detach") is not None for step in adds_back(q, k))


def _stopped_there(q: Question, hop: Hop, name: str) -> Edits | None:
    """The lines through which the detached tensor entered earlier passes, with `name.detach()`; None if one of them is unknown."""
    facts = q.facts
    runs = facts.passes[:-1]
    edits: dict[tuple[str, int], Edit] = {}
    for k in facts.uses.get(hop.b, ()):
        n = facts.events[k].get("n")
        run = next((r for r in runs if n is not None and n in facts.behind(r.event["roots"])), None)
        if run is None:
            continue
        found = detached_there(q, k, name) if name.isidentifier() else ()
        if not found:
            return None
        edits |= {edit[:2]: edit for edit in found}
    return tuple(edits.values())


def _out_of_the_block(q: Question, hop: Hop) -> Edits:
    """Delete the block or decorator that switches recording off, unless it contains an update."""
    where = q.facts.place(hop.k)
    if where is None:
        return ()
    source, n = where
    if source.updated(n):
        return ()
    patch = Patch(source)
    for block in source.around(n, ast.With, ast.FunctionDef):
        if isinstance(block, ast.FunctionDef):
            marks = [
                d for d in block.decorator_list if re.search(r"\b(no_grad|inference_mode)\b", ast.unparse(d))
            ]
            if marks:
                return patch.gone(marks[0].lineno).edits
            return ()
        if _switches_off(block) and not any(_updates(part) for part in ast.walk(block)):
            first = block.body[0].lineno
            if first == block.lineno:
                return ()
            shift = len(source.indent(first)) - len(source.indent(block.lineno))
            patch.gone(block.lineno)
            for i in range(first, (block.end_lineno or first) + 1):
                patch.dedented(i, shift)
            return patch.edits
    return ()


def _updates(node: ast.AST) -> bool:
    """Whether a statement writes in place."""
    return isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr.endswith("_") or node.func.attr == "step")
        and node.func.attr != "requires_grad_"
    )


def _stacked(q: Question, hop: Hop, node: ast.AST) -> ast.AST | None:
    """`torch.tensor([a, b])` becomes `torch.stack([a, b])`, `torch.tensor(a)` becomes `a`."""
    if not (
        isinstance(node, ast.Call)
        and re.search(r"\.(tensor|Tensor|FloatTensor)$", ast.unparse(node.func))
        and len(node.args) == 1
    ):
        return None
    prefix = ast.unparse(node.func).rpartition(".")[0]
    facts = q.facts
    parts = [facts.trace.tensors[a]["shape"] for a in facts.inputs(facts.events[hop.k])]
    whole = facts.trace.tensors[hop.b]["shape"]
    if any(name.arg not in ("requires_grad", "device") for name in node.keywords):
        return None
    if not isinstance(node.args[0], (ast.List, ast.Tuple)):
        if parts == [whole] and _list_of(q, node.args[0]) is None:
            return node.args[0]
        numbers = all(shape == [] for shape in parts) and whole == [len(parts)]
        return _expression(f"{prefix}.stack({_as_list(node.args[0])})") if numbers else None
    if any(shape != [] for shape in parts):
        return None

    def stack(part: ast.expr) -> str:
        if isinstance(part, (ast.List, ast.Tuple)):
            return f"{prefix}.stack([{', '.join(stack(item) for item in part.elts)}])"
        if isinstance(part, ast.Constant) or (
            isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.Constant)
        ):
            return f"{prefix}.tensor({float(ast.literal_eval(part))!r})"
        return ast.unparse(part)

    return _expression(stack(node.args[0]))


def _as_list(value: ast.expr) -> str:
    return f"list({ast.unparse(value)})" if isinstance(value, ast.GeneratorExp) else ast.unparse(value)


def _list_of(q: Question, value: ast.expr) -> ast.expr | None:
    """The list display that is an expression's value, directly or through its name; None for anything else."""
    if isinstance(value, (ast.List, ast.Tuple, ast.ListComp)):
        return value
    given = [s.value for source in q.facts.code for s in source.assigned(ast.unparse(value))]
    return next((v for v in given if isinstance(v, (ast.List, ast.Tuple, ast.ListComp))), None)


def kept_as_tensor(q: Question, reads: list[int], again: int | None = None) -> Edits:
    """Delete `.item()` and `float()`, and a `tensor()` around their result, which would copy the number again.

    () if the numbers' use cannot be followed, or if some use takes plain numbers only: NumPy, math, round.
    """
    places = {(source.name, n) for source, n in filter(None, (q.facts.place(k) for k in reads))}
    where = q.facts.place(reads[-1])
    if len(places) != 1 or where is None:
        return ()
    source, n = where
    patch = Patch(source).rewrite(n, lambda node: _bare(source, node))
    if patch is None or number_wanted(q, reads):
        return ()
    known = source.computed_from(set(source.filled_on(n)))
    for s in source.statements():
        if s.lineno == n or not known & set(_all_read_in(s)):
            if s.lineno == n and _takes_numbers(ast.parse(patch.edits[0].text.strip()), None):
                return ()
            continue
        if _takes_numbers(s, known):
            return ()
        copies = [node for node in ast.walk(s) if isinstance(node, ast.Call) and _is_tensor(node)]
        if any(known & set(_all_read_in(node)) for node in copies):
            both = patch.rewrite(
                s.lineno, lambda node: _bare(source, node) if known & set(_all_read_in(node)) else None
            )
            if both is None:
                return ()
    came_back = q.facts.place(again)
    if (
        came_back is not None
        and came_back[1] != n
        and not any(edit.number == came_back[1] for edit in patch.edits)
    ):
        return ()
    edits = {edit[:2]: edit for edit in patch.edits}
    edits |= {edit[:2]: edit for edit in _flags_left_out(q, known)}
    return tuple(edits[place] for place in sorted(edits))


def _is_tensor(node: ast.Call) -> bool:
    return re.search(r"(^|\.)(tensor|as_tensor|Tensor|FloatTensor)$", ast.unparse(node.func)) is not None


def _bare(source: Source, node: ast.AST) -> ast.AST | None:
    """The tensor behind `x.item()`, `float(x)` and `torch.tensor(x)`; `torch.stack(xs)` of a list."""
    inner = _called(node, "item")
    if inner is not None:
        return inner
    if not (isinstance(node, ast.Call) and len(node.args) == 1):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "float":
        return _bare(source, node.args[0]) or node.args[0]
    if not _is_tensor(node):
        return None
    value = node.args[0]
    prefix = ast.unparse(node.func).rpartition(".")[0] or "torch"
    given = [s.value for s in source.assigned(ast.unparse(value))]
    if any(isinstance(v, (ast.List, ast.ListComp)) for v in (value, *given)):
        inside = _Bared(source).visit(ast.parse(ast.unparse(value), mode="eval").body)
        return _expression(f"{prefix}.stack({ast.unparse(inside)})")
    if isinstance(value, (ast.Name, ast.BinOp)):
        return _Bared(source).visit(ast.parse(ast.unparse(value), mode="eval").body)
    return _bare(source, value)


class _Bared(ast.NodeTransformer):
    """Removes every `.item()` from an expression."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def visit(self, node: ast.AST) -> ast.AST:
        return _bare(self.source, node) or self.generic_visit(node)


#: Functions of torch that accept a tensor as a number, so that a gradient reaches it; most accept only plain numbers as options.
_TAKE_TENSORS = {
    "add", "sub", "mul", "div", "true_divide", "pow", "maximum", "minimum", "max", "min", "where", "clamp", "clamp_min",
    "clamp_max", "clip", "tensor", "as_tensor", "stack", "cat", "lerp", "addcmul", "addcdiv", "exp", "log", "sqrt",
    "square", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "sum", "mean", "outer", "dot",
}  # fmt: skip


def number_wanted(q: Question, reads: list[int]) -> str:
    """The function, such as torch.full, that received the numbers read here, if it requires plain numbers; or ''."""
    for source, n in filter(None, (q.facts.place(k) for k in reads)):
        s = source.statement(n)
        alone = isinstance(s, ast.Assign) and _reads_number(s.value)  # `c = w.item()`: c is a number, too
        numbers = set(source.targets(n)) if alone else set()
        for other in source.statements():
            for node in ast.walk(other):
                if not isinstance(node, ast.Call) or not re.match(r"(torch|F|nn)\.", ast.unparse(node.func)):
                    continue
                given = [*node.args, *(word.value for word in node.keywords)]
                parts = [x for value in given for x in _not_in_calls(value)]
                here = other.lineno == n and any(_reads_number(x) for x in parts)
                later = any(isinstance(x, ast.Name) and x.id in numbers for x in parts)
                function = ast.unparse(node.func)
                if (here or later) and function.split(".")[-1] not in _TAKE_TENSORS:
                    return function
    return ""


#: Functions of `math` that torch has by the same name.
IN_TORCH = {
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf",
}  # fmt: skip


def computed_by_torch(q: Question, reads: list[int]) -> Edits:
    """`math.exp(x)` becomes `torch.exp(x)`."""

    def by_torch(node: ast.AST) -> ast.AST | None:
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            return None
        module, _, function = ast.unparse(node.func).partition(".")
        if module != "math" or function not in IN_TORCH:
            return None
        return ast.Call(_expression(f"torch.{function}"), [_bare_number(node.args[0])], [])

    return _rewritten(q, reads[-1], by_torch) if len(reads) == 1 else ()


def _bare_number(node: ast.expr) -> ast.expr:
    """The tensor behind `x.item()`; anything else unchanged."""
    return _called(node, "item") or node


def _reads_number(node: ast.AST) -> bool:
    """Whether an expression is `x.item()` or `float(x)`."""
    return _called(node, "item") is not None or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "int")
    )


def _not_in_calls(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression, without the arguments of its calls."""
    yield node
    if not isinstance(node, ast.Call):
        for inner in ast.iter_child_nodes(node):
            yield from _not_in_calls(inner)


_ONLY_NUMBERS = re.compile(r"^(np|numpy|math|statistics|random)\.|^(round|int|range|str)$")


def _takes_numbers(s: ast.AST, known: set[str] | None) -> bool:
    """Whether a statement passes a value of the names in `known` to a function that takes numbers; any value if None."""
    return any(
        isinstance(node, ast.Call)
        and _ONLY_NUMBERS.search(ast.unparse(node.func)) is not None
        and (known is None or known & set(_all_read_in(node)))
        for node in ast.walk(s)
    )


def _all_read_in(value: ast.AST) -> Iterator[str]:
    return (
        ast.unparse(node)
        for node in ast.walk(value)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
    )


def detached_for_numpy(q: Question, k: int) -> Edits:
    """`x.numpy()` becomes `x.detach().numpy()`."""

    def safe(node: ast.AST) -> ast.AST | None:
        inner = _called(node, "numpy")
        return None if inner is None else _expression(f"({ast.unparse(inner)}).detach().numpy()")

    return _rewritten(q, k, safe)


# -- the pass -----------------------------------------------------------------------------------------


def _is_pass(node: ast.AST) -> bool:
    """Whether an expression is a call of `backward` or `grad`."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name.split(".")[-1] == "backward" or name.endswith("autograd.grad") or name == "grad"


def retained(q: Question, run: Pass, option: str) -> Edits:
    """The call that started a pass, with `retain_graph=True` or `create_graph=True`."""
    word, _ = option.split("=")

    def keeping(node: ast.AST) -> ast.AST | None:
        if not (isinstance(node, ast.Call) and _is_pass(node)):
            return None
        rest = [kw for kw in node.keywords if kw.arg != word]
        return ast.Call(node.func, node.args, [*rest, ast.keyword(word, ast.Constant(True))])

    return _rewritten(q, run.start, keeping)


def first_derivative(q: Question, run: Pass, of: int) -> Edits:
    """The call that started a pass, with create_graph=True; `y.backward()` becomes `torch.autograd.grad(y, x)`, because the next pass would add to x.grad."""
    facts = q.facts
    where, name = facts.place(run.start), facts.name(of)
    s = None if where is None else where[0].statement(where[1])
    root = _called(s.value, "backward") if isinstance(s, ast.Expr) else None
    new = "derivative"
    others = any(e["t"] != of for _, e in facts.during(run, "accumulate"))  # which should still get theirs
    if where is None or root is None or others or not name.isidentifier() or where[0].mentions(new):
        return retained(q, run, "create_graph=True")
    source, n = where
    patch = Patch(source).replace(
        n, f"{new} = torch.autograd.grad({ast.unparse(root)}, {name}, create_graph=True)[0]"
    )
    for other in source.statements():
        if other.lineno > n and f"{name}.grad" in source.read_on(other.lineno):
            both = patch.rewrite(
                other.lineno, lambda node: _expression(new) if _is_name(node, f"{name}.grad") else None
            )
            if both is None:
                return ()
    return patch.edits


def reduced(q: Question, k: int) -> Edits:
    """`loss.backward()` becomes `loss.sum().backward()`."""

    def summed(node: ast.AST) -> ast.AST | None:
        if not (isinstance(node, ast.Call) and _is_pass(node)):
            return None
        name = ast.unparse(node.func)
        if name.endswith("grad") and node.args:
            return ast.Call(
                node.func,
                [_expression(f"({ast.unparse(node.args[0])}).sum()"), *node.args[1:]],
                node.keywords,
            )
        if isinstance(node.func, ast.Attribute) and name != "torch.autograd.backward":
            return ast.Call(
                _expression(f"({ast.unparse(node.func.value)}).sum().backward"), node.args, node.keywords
            )
        return None

    return _rewritten(q, k, summed)


def backward_instead(q: Question, k: int) -> Edits:
    """`torch.autograd.grad(y, x)`, whose result is not used, becomes `y.backward()`."""
    where = q.facts.place(k)
    s = None if where is None else where[0].statement(where[1])
    if where is None or not (
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and len(s.value.args) >= 2
    ):
        return ()
    root = s.value.args[0]
    return (
        Patch(where[0]).replace(where[1], f"{ast.unparse(root)}.backward()").edits
        if isinstance(root, ast.Name)
        else ()
    )


def added_to_inputs(q: Question, k: int) -> Edits:
    """`backward(inputs=[a])` becomes `backward(inputs=[a, b])`."""
    name = q.name

    def more(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.keyword) and node.arg == "inputs":
            given = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
            return ast.keyword("inputs", ast.List([*given, _expression(name)], ast.Load()))
        return None

    return _rewritten(q, k, more) if q.facts.named(q.t) and q.facts.mentioned(name) else ()


def backward_called(q: Question, before: int | None = None) -> Edits:
    """Add the parentheses to `loss.backward`, or the call after the line of the last single number computed from the tensor."""
    for source in q.facts.code:
        for s in source.statements():
            if isinstance(s, ast.Expr) and isinstance(s.value, ast.Attribute) and s.value.attr == "backward":
                return (
                    Patch(source).replace(s.lineno, f"{ast.unparse(s.value)}()").edits
                    if source.statement(s.lineno)
                    else ()
                )
    facts = q.facts
    ends = [
        t
        for t in facts.hops(q.t, before)
        if not facts.trace.tensors[t]["shape"]
        and facts.needs(t)
        and facts.trace.tensors[t]["name"].isidentifier()
    ]
    if not ends:
        return ()
    t = max(ends, key=lambda t: facts.maker.get(t, -1))
    found = _assignment(q, facts.name(t), facts.maker.get(t))
    if found is None:
        return ()
    source, made = found
    call = f"{facts.name(t)}.backward()"
    patch = Patch(source).after(made.lineno, call)
    for s in source.statements():  # it is too far down
        if isinstance(s, ast.Expr) and ast.unparse(s) == call:
            if source.statement(s.lineno) is None or source.parents[s] is not source.parents[made]:
                return ()
            patch.delete(s.lineno)
    return patch.edits


def cleared_before(q: Question, k: int, start: int) -> Edits:
    """Move the line that clears before the pass."""
    return moved_up(q, k, start)


def cleared_first(q: Question, runs: list[Pass]) -> Edits:
    """Clear what earlier passes left, before the last one, in every tensor that they filled."""
    facts = q.facts
    where = facts.place(runs[-1].start)
    filled = [e["t"] for _, e in facts.during(runs[-1], "accumulate") if e["old"] is not None]
    names = [facts.name(t) for t in filled if facts.named(t) and facts.mentioned(facts.name(t))]
    if where is None or where[0].statement(where[1]) is None or q.name not in names:
        return ()
    optimizers = [
        ast.unparse(s.targets[0])
        for source in facts.code
        for s in source.statements()
        if isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Call)
        and ".optim." in ast.unparse(s.value.func)
    ]
    cleared = any(".zero_grad(" in text for source in facts.code for text in source.lines.values())
    modules = {name.split(".")[0].split("[")[0] for name in names if "." in name}
    if len(optimizers) == 1 and not cleared:
        calls = [f"{optimizers[0]}.zero_grad()"]
    else:
        calls = [f"{name}.zero_grad()" for name in sorted(modules)]
        calls += [f"{name}.grad = None" for name in names if "." not in name]
    patch = Patch(where[0])
    for call in calls:
        patch.before(where[1], call)
    return patch.edits


def reads_none(q: Question, k: int) -> bool:
    """Whether the line of an error used `.grad`."""
    return re.search(r"\.grad\b", q.facts.text(k)) is not None and "None" in q.facts.events[k]["message"]


# -- rounds of a loop ---------------------------------------------------------------------------------


def total(q: Question, run: Pass, root: int, name: str, parts: list[str]) -> Edits:
    """Start the pass from the loss of the iteration, and add only its number to the sum."""
    facts = q.facts
    writes = facts.writes.get(root)
    added = facts.place(writes[-1] if writes else facts.maker.get(root))
    start = facts.place(run.start)
    if added is None or start is None or added[0] is not start[0] or len(parts) != 1:
        return ()
    part = parts[0]
    patch = Patch(added[0]).rewrite(
        added[1], lambda node: _expression(f"{part}.detach()") if _is_name(node, part) else None
    )
    if patch is None:
        return ()
    both = patch.rewrite(start[1], lambda node: _expression(part) if _is_name(node, name) else None)
    return () if both is None else both.edits


def root_text(q: Question, run: Pass) -> str:
    """The target of backward on the line of a pass, if it is a variable or a part of one."""
    where = q.facts.place(run.start)
    for s in where[0].statements() if where else ():
        if where and s.lineno == where[1]:
            roots = [x for x in map(lambda node: _called(node, "backward"), ast.walk(s)) if x is not None]
            if len(roots) == 1 and isinstance(roots[0], (ast.Name, ast.Attribute, ast.Subscript)):
                return ast.unparse(roots[0])
    return ""


def collection(q: Question, k: int | None) -> str:
    """The list that a line takes its tensors from, in `torch.stack(outputs)` and `sum(losses)`."""
    where = q.facts.place(k)
    if where is None:
        return ""
    source, n = where
    filled = {
        ast.unparse(x)
        for other in source.statements()
        for x in [_called(getattr(other, "value", other), "append")]
        if x is not None
    }
    found = [name for name in source.read_on(n) if name in filled]
    return found[0] if found else ""


def emptied(q: Question, run: Pass, name: str) -> Edits:
    """Empty the list after each pass."""
    where = q.facts.place(run.start)
    if where is None or not name or where[0].statement(where[1]) is None:
        return ()
    return Patch(where[0]).after(where[1], f"{name}.clear()").edits


def state_names(q: Question, states: list[int], again: dict[int, list[int]], user: int | None) -> list[str]:
    """The program's names for a state: its own or its successor's; or what the line that made it assigns and its user reads."""
    facts = q.facts
    named = {
        facts.name(b): None
        for t in states
        for b in (t, *again[t])
        if facts.named(b) and facts.mentioned(facts.name(b))
    }
    if len(named) == len(states):
        return list(named)
    made, read = facts.place(facts.maker.get(states[0])), facts.place(user)
    if made is None or read is None:
        return []
    assigned = made[0].targets(made[1])
    return [name for name in assigned if name in read[0].read_on(read[1])]


def detached(q: Question, names: list[str], how_many: int) -> str:
    """`h = h.detach()`, for one state, several, or a tuple of them."""
    called = {record["name"] for record in q.facts.trace.tensors}
    if len(names) == 1 and (
        how_many > 1 or (names[0].isidentifier() and names[0] not in called)
    ):  # it holds several
        return f"{names[0]} = tuple(part.detach() for part in {names[0]})"
    return f"{', '.join(names)} = {', '.join(f'{name}.detach()' for name in names)}"


def cut_apart(q: Question, run: Pass, states: list[int], names: list[str], user: int | None) -> Edits:
    """Detach the state after the pass or, if the name does not exist there, before it is used."""
    after, before = q.facts.place(run.start), q.facts.place(user)
    if not names:
        return ()
    text = detached(q, names, len(states))
    if before is None or after is None:
        return ()
    first = names[0].split("[")[0].split(".")[0]
    known = _function_of(*before) is _function_of(*after) or after[0].knows(after[1], first)
    if known and not names[0].startswith("self.") and after[0].statement(after[1]) is not None:
        return Patch(after[0]).after(after[1], text).edits
    if before[0].statement(before[1]) is not None and before[0].knows(before[1], first):
        return Patch(before[0]).before(before[1], text).edits
    return ()


def given_on(q: Question, old: int, user: int | None) -> tuple[Source, ast.Assign] | None:
    """The statement `prev = out` through which the line of event `user` still refers to the tensor `old`, once named out."""
    made, read = q.facts.place(q.facts.maker.get(old)), q.facts.place(user)
    if made is None or read is None:
        return None
    found = [
        s
        for name in dict.fromkeys(read[0].read_on(read[1]))
        for s in read[0].assigned(name)
        if ast.unparse(s.value) in made[0].targets(made[1])
    ]
    return (read[0], found[0]) if len(found) == 1 else None


def kept_without_history(source: Source, s: ast.Assign) -> Edits:
    """`prev = out` becomes `prev = out.detach()`."""
    if source.statement(s.lineno) is not s:
        return ()
    text = f"{ast.unparse(s.targets[0])} = {ast.unparse(s.value)}.detach()"
    return Patch(source).replace(s.lineno, text).edits


def _function_of(source: Source, n: int) -> ast.stmt | None:
    return next(iter(source.around(n, ast.FunctionDef)), None)


def stands_in(q: Question, k: int | None, function: str) -> bool:
    """Whether the line of event k is in a function of this name."""
    where = q.facts.place(k)
    return where is not None and any(
        isinstance(node, ast.FunctionDef) and node.name == function
        for node in where[0].around(where[1], ast.FunctionDef)[:1]
    )


def moved_into_loop(q: Question, run: Pass) -> Edits:
    """Move the lines that computed what every pass needs to the beginning of the loop."""
    facts = q.facts
    where = facts.place(run.start)
    if where is None:
        return ()
    source, n = where
    loop = next(iter(source.around(n, ast.For, ast.While)), None)
    if loop is None:
        return ()
    used = {
        facts.trace.nodes[m].get("src", None) and tuple(facts.trace.nodes[m]["src"])
        for m in facts.behind(run.event["roots"])
    }
    here = facts.code.index(source)
    lines = sorted(src[1] for src in used if src and src[0] == here and src[1] < loop.lineno)
    statements = [source.statement(i) for i in lines]
    if not lines or any(
        not isinstance(s, ast.Assign) or source.parents[s] is not source.parents[loop] for s in statements
    ):
        return ()
    patch, first = Patch(source), loop.body[0].lineno
    if first == loop.lineno:
        return ()
    for i in lines:
        patch.before(first, source.lines[i].strip()).gone(i)
    return patch.edits


def updated_last(q: Question, w: int, first: Pass, run: Pass) -> Edits:
    """Let the first pass keep the graph, and move the update at event w after the second one."""
    kept, moved = retained(q, first, "retain_graph=True"), moved_after(q, w, run)
    apart = not {edit[:2] for edit in kept} & {edit[:2] for edit in moved}
    return (*kept, *moved) if kept and moved and apart else ()


def detached_there(q: Question, k: int | None, name: str) -> Edits:
    """The line of event k uses `name` without its history."""
    return _rewritten(q, k, lambda node: _expression(f"{name}.detach()") if _is_name(node, name) else None)


def made_a_column(q: Question, k: int | None, name: str) -> Edits:
    """The line of event k uses `name` as a column."""
    return _rewritten(
        q, k, lambda node: _expression(f"{name}.unsqueeze(1)") if _is_name(node, name) else None
    )


# -- overwritten values -------------------------------------------------------------------------------


def not_overwritten(q: Question, w: int, node: int, t: int, name: str, result: bool) -> Edits:
    """Let the rule save a copy, or do not write to what it saves: the results are the same."""
    facts = q.facts
    inplace = [
        (source, s)
        for source in facts.code
        for s in source.statements()
        for part in ast.walk(s)
        if isinstance(part, ast.keyword) and part.arg == "inplace" and ast.unparse(part.value) == "True"
    ]
    if inplace and not re.search(r"[+\-*/]=|\w_\(", facts.text(w)):
        if len({s.lineno for _, s in inplace}) != 1:
            return ()
        source, s = inplace[0]

        def off(x: ast.AST) -> ast.AST | None:
            return (
                ast.keyword("inplace", ast.Constant(False))
                if isinstance(x, ast.keyword) and x.arg == "inplace"
                else None
            )

        patch = Patch(source).rewrite(s.lineno, off)
        return () if patch is None else patch.edits
    src = facts.trace.nodes[node].get("src")
    if src is None:
        return ()
    source, n = facts.code[src[0]], src[1]
    s = source.statement(n)
    if result and isinstance(s, ast.Assign) and name in source.targets(n) and len(s.targets) == 1:
        value = ast.unparse(s.value)
        simple = isinstance(s.value, (ast.Call, ast.Name, ast.Attribute))
        return (
            Patch(source)
            .replace(n, f"{ast.unparse(s.targets[0])} = {value if simple else f'({value})'}.clone()")
            .edits
        )
    names = {name, *(facts.name(other) for other in facts.memory(t) if facts.named(other))}

    def copied(x: ast.AST) -> ast.AST | None:
        return next((_expression(f"{own}.clone()") for own in names if _is_name(x, own)), None)

    patch = Patch(source).rewrite(n, copied)
    if patch is None:
        return ()
    if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript):  # its own target is not a copy
        target = ast.unparse(s.targets[0])
        value = ast.parse(patch.edits[0].text.strip()).body[0].value  # type: ignore[attr-defined]
        return patch.replace(n, f"{target} = {ast.unparse(value)}").edits
    return patch.edits
