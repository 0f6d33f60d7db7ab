"""The rules' formulas as MathML, which browsers set as mathematics: "g * b / 2" becomes a fraction.

The language is that of tracing/formulas.py. Each of its expressions has a form here; `where` and `if` become cases with a brace.
What goes without saying in mathematics is left out: `keepdim`, and the name of a parameter that is passed on under its own name.
"""

from __future__ import annotations

import ast
from html import escape

from autograd_lab.tracing.formulas import Formula

# How strongly a form holds its parts together; a part that holds less strongly than is needed gets parentheses.
_CASES, _OR, _AND, _NOT, _COMPARED, _SUM, _TERM, _PRODUCT, _FACTOR, _POWER, _ATOM = range(11)

_LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "eps": "ε", "lambd": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "theta": "θ", "Phi": "Φ", "phi": "φ", "inf": "∞",
}  # fmt: skip
_SIGNS: dict[type, str] = {
    ast.Gt: "&gt;", ast.GtE: "≥", ast.Lt: "&lt;", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠", ast.In: "∈", ast.Is: "=", ast.IsNot: "≠",
}  # fmt: skip
_BRACKETS = {"abs": "||", "floor": "⌊⌋", "ceil": "⌈⌉"}
_NAMES = {"sigmoid": "σ", "maximum": "max", "minimum": "min", "amax": "max", "amin": "min", "digamma": "ψ"}
_BIG = {"sum": "∑", "prod": "∏"}
_OVER_DIMS = {
    "mean",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "softmax",
    "var",
    "std",
    "norm",
    "logsumexp",
    "nansum",
    *_BIG,
}
_BASES = {"log2": "2", "log10": "10"}


def typeset(formula: Formula, left: str = "") -> str:
    """A formula as a `<math>` element; `left` is the name that it defines, such as "y". Words are set as text.

    Raises ValueError for an expression that the language does not have.
    """
    start = f"{_name(left)}<mo>=</mo>" if left else ""
    if left and isinstance(formula, ast.Compare | ast.BoolOp):  # a condition with a name serves as a number
        formula = ast.Call(ast.Name("where"), [formula, ast.Constant(1), ast.Constant(0)], [])
    body = _words(formula) if isinstance(formula, str) else _at(formula)
    return f'<math display="block"><mrow>{start}{body}</mrow></math>'


def _at(tree: ast.expr, least: int = _CASES) -> str:
    """The form of an expression, in parentheses if it holds less strongly than `least`."""
    markup, strength = _form(tree)
    return markup if strength >= least else _closed(markup)


def _form(tree: ast.expr) -> tuple[str, int]:
    match tree:
        case ast.Name(id="nothing"):
            return _words("nothing"), _ATOM
        case ast.Name(id=name):
            return _name(name), _POWER if name.endswith("_") else _ATOM
        case ast.Constant(value=str(value)):
            return _words(f"“{value}”"), _ATOM
        case ast.Constant(value=bool() | None as value):
            return _words(str(value)), _ATOM
        case ast.Constant(value=value) if value is ...:
            return "<mo>…</mo>", _ATOM
        case ast.Constant(value=int() | float() as value):
            return f"<mn>{value}</mn>", _ATOM
        case ast.BinOp(left, op, right):
            return _operation(left, op, right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"<mrow><mo>−</mo>{_at(operand, _TERM)}</mrow>", _SUM
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"{_words('not ')}{_at(operand, _NOT)}", _NOT
        case ast.BoolOp(op=op, values=values):
            word, strength = (" and ", _AND) if isinstance(op, ast.And) else (" or ", _OR)
            return _row(_words(word).join(_at(x, strength + 1) for x in values)), strength
        case ast.Compare(
            left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
        ):
            return _row(
                _at(left, _ATOM) + _words(" is given" if isinstance(op, ast.IsNot) else " is not given")
            ), _COMPARED
        case ast.Compare(left=left, ops=ops, comparators=others):
            signs = [f"<mo>{_SIGNS[type(op)]}</mo>{_at(x, _SUM)}" for op, x in zip(ops, others, strict=True)]
            return _row(_at(left, _SUM) + "".join(signs)), _COMPARED
        case ast.IfExp() | ast.Call(func=ast.Name(id="where")):
            return _cases(tree), _CASES
        case ast.Tuple(elts=parts):
            return _closed(_listed([_at(x) for x in parts])), _ATOM
        case ast.List(elts=parts):
            return _closed(_listed([_at(x) for x in parts]), "[]"), _ATOM
        case ast.Attribute(value=value, attr="T"):
            return _power(_at(value, _ATOM), "<mi mathvariant='normal'>T</mi>"), _POWER
        case ast.Subscript(value=value, slice=index):
            return _row(_at(value, _ATOM) + _closed(_index(index), "[]")), _ATOM
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _call(name, args, keywords)
    raise ValueError(f"no form for {ast.unparse(tree)!r} ({type(tree).__name__})")


def _operation(left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[str, int]:
    match op:
        case ast.Add() | ast.Sub():
            sign = "+" if isinstance(op, ast.Add) else "−"
            return _row(f"{_at(left, _SUM)}<mo>{sign}</mo>{_at(right, _TERM)}"), _SUM
        case ast.Mult() | ast.MatMult() | ast.Mod():
            sign = {ast.Mult: "<mo>⋅</mo>", ast.MatMult: "<mo>@</mo>"}.get(type(op)) or _words(" mod ")
            leads = isinstance(left, ast.UnaryOp)  # -a * b needs no parentheses at its beginning
            return _row(
                _at(left, _SUM if leads else _PRODUCT) + sign + _at(right, _FACTOR)
            ), _SUM if leads else _PRODUCT
        case ast.Div():
            return f"<mfrac>{_row(_at(left))}{_row(_at(right))}</mfrac>", _FACTOR
        case ast.FloorDiv():
            return _closed(f"<mfrac>{_row(_at(left))}{_row(_at(right))}</mfrac>", "⌊⌋"), _ATOM
        case ast.Pow():
            return _power(_at(left, _ATOM), _at(right)), _POWER
    raise ValueError(f"no form for the operator {type(op).__name__}")


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> tuple[str, int]:
    if name in _BRACKETS:
        return _closed(_at(args[0]), _BRACKETS[name]), _ATOM
    if name == "sqrt":
        return f"<msqrt>{_at(args[0])}</msqrt>", _ATOM
    if name == "inverse":
        return _power(_at(args[0], _ATOM), "<mrow><mo>−</mo><mn>1</mn></mrow>"), _POWER
    if name == "exp" and all(isinstance(x, ast.Name | ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.USub | ast.Load)
                             for x in ast.walk(args[0])):  # fmt: skip
        return _power("<mi>e</mi>", _at(args[0])), _POWER
    if name in _OVER_DIMS:
        args = [*args]  # the tree is not ours
        named = {k.arg: k.value for k in keywords if k.arg != "keepdim"}
        dim = named.pop("dim", None) or (args.pop(1) if len(args) > 1 and name != "norm" else None)
        sign = f"<mo>{_BIG[name]}</mo>" if name in _BIG else _name(_NAMES.get(name, name))
        below = (
            "" if dim is None else _row(_name("dim") + ("" if _is("dim", dim) else f"<mo>=</mo>{_at(dim)}"))
        )
        if name in _BIG:
            sign = f"<munder>{sign}{below}</munder>" if below else sign
            return _row(sign + _at(args[0], _PRODUCT)), _TERM
        sign = f"<msub>{sign}{below}</msub>" if below else sign
        return _row(sign + _arguments(args, [ast.keyword(k, v) for k, v in named.items()])), _ATOM
    if name in _BASES:
        return _row(f"<msub><mi>log</mi><mn>{_BASES[name]}</mn></msub>{_arguments(args, keywords)}"), _ATOM
    return _row(_name(_NAMES.get(name, name)) + _arguments(args, keywords)), _ATOM


def _arguments(args: list[ast.expr], keywords: list[ast.keyword]) -> str:
    shown = [_at(x) for x in args]
    for k in keywords:
        if k.arg != "keepdim":
            shown.append(
                _at(k.value) if _is(str(k.arg), k.value) else f"{_name(str(k.arg))}<mo>=</mo>{_at(k.value)}"
            )
    return _closed(_listed(shown))


def _is(name: str, tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id == name


def _cases(tree: ast.expr) -> str:
    """A row for each case; a case inside the last one becomes a row, too. The brace is the style sheet's: few fonts have a tall one."""
    rows = []
    while isinstance(tree, ast.IfExp) or (
        isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "where"
    ):
        test, value, tree = (tree.test, tree.body, tree.orelse) if isinstance(tree, ast.IfExp) else tree.args
        rows.append((_at(value), _words("if ") + _at(test)))
    rows.append((_at(tree), _words("otherwise")))
    table = "".join(f"<mtr><mtd>{_row(value)}</mtd><mtd>{_row(when)}</mtd></mtr>" for value, when in rows)
    return f'<mtable class="cases" displaystyle="true">{table}</mtable>'


def _index(tree: ast.expr) -> str:
    if isinstance(tree, ast.Slice):
        return "<mo>:</mo>".join("" if x is None else _at(x) for x in (tree.lower, tree.upper))
    return _listed([_index(x) for x in tree.elts]) if isinstance(tree, ast.Tuple) else _at(tree)


def _name(name: str) -> str:
    """A letter, Greek where its name is; y0 gets a subscript and y_ a prime; longer names stay words."""
    core = name.rstrip("_")
    stem = core.rstrip("0123456789")
    if len(name) - len(core):
        return f"<msup>{_name(core)}<mo lspace='0' rspace='0'>′</mo></msup>"
    if stem != core and (len(stem) == 1 or stem in _LETTERS):
        return f"<msub>{_name(stem)}<mn>{core[len(stem) :]}</mn></msub>"
    if core in _LETTERS:
        return f"<mi>{_LETTERS[core]}</mi>"
    return f"<mi>{escape(name)}</mi>"


def _words(text: str) -> str:
    shown = escape(text, quote=False)
    if text != text.strip():  # MathML drops ordinary blanks at the ends
        shown = shown.replace(" ", "&#160;")
    return f"<mtext>{shown}</mtext>"


def _row(markup: str) -> str:
    return f"<mrow>{markup}</mrow>"


def _closed(markup: str, brackets: str = "()") -> str:
    return f"<mrow><mo>{brackets[0]}</mo>{markup}<mo>{brackets[1]}</mo></mrow>"


def _listed(parts: list[str]) -> str:
    return "<mo>,</mo>".join(parts)


def _power(base: str, exponent: str) -> str:
    return f"<msup>{_row(base)}{_row(exponent)}</msup>"
