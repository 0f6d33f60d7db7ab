"""Students with a style of their own, made by code: to see what grade/similar.py finds and what it leaves alone.

personal(source, draw)      the same program as another student would write it: other statements for the same things
copied(source, draw)        the same cell with other names, in another order, with other texts and comments
python tests/grade/personal.py [CLASSES [CHANCE [FIRST]]]      what is found in so many classes for each notebook, and how
                            much of it rightly, and in as many where nobody copied; CHANCE is that of a copied statement to be
                            rewritten as well, FIRST the seed of the first class
"""

import ast
import copy
import hashlib
import random
import sys
from collections.abc import Iterable

import corpus

from autograd_lab.grade import merge, similar


class Style(ast.NodeTransformer):
    """Rewrites statements; each with a certain chance."""

    def __init__(self, draw: random.Random, chance: float) -> None:
        self.draw, self.chance, self.count = draw, chance, 0

    def _now(self) -> bool:
        return self.draw.random() < self.chance

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for one in body:
            out += self._statement(one)
        return out

    def _statement(self, one: ast.stmt) -> list[ast.stmt]:
        if isinstance(one, ast.Return) and one.value is not None and self._now():
            self.count += 1
            name = f"outcome{self.count}"
            return [_assign(name, one.value), ast.Return(ast.Name(name, ast.Load()))]
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and self._now():
            return [
                ast.Assign([one.target], ast.BinOp(ast.Name(one.target.id, ast.Load()), one.op, one.value))
            ]
        if isinstance(one, ast.Assign | ast.Return | ast.Expr | ast.AugAssign) and one.value is not None:
            return [*self._taken_apart(one), one]
        if isinstance(one, ast.For) and isinstance(one.target, ast.Name) and self._now():
            self.count += 1
            each, index = f"all_of_them{self.count}", f"at{self.count}"
            loop = ast.For(
                ast.Name(index, ast.Store()),
                ast.Call(ast.Name("range", ast.Load()), [ast.Call(ast.Name("len", ast.Load()), [ast.Name(each, ast.Load())], [])], []),
                [ast.Assign([one.target], ast.Subscript(ast.Name(each, ast.Load()), ast.Name(index, ast.Load()), ast.Load())), *one.body],
                one.orelse,
            )  # fmt: skip
            return [_assign(each, ast.Call(ast.Name("list", ast.Load()), [one.iter], [])), loop]
        if isinstance(one, ast.If) and not one.orelse and self._now():
            return [ast.If(ast.UnaryOp(ast.Not(), one.test), [ast.Pass()], one.body)]
        return [one]

    def _taken_apart(self, one: ast.stmt) -> list[ast.stmt]:
        """A part of its expression gets a name of its own."""
        value = one.value  # type: ignore[attr-defined]
        if (
            isinstance(value, ast.BinOp)
            and not isinstance(value.left, ast.Name | ast.Constant)
            and self._now()
        ):
            self.count += 1
            name = f"part{self.count}"
            before = _assign(name, value.left)
            value.left = ast.Name(name, ast.Load())
            return [before]
        if (
            isinstance(value, ast.Call)
            and value.args
            and isinstance(value.args[0], ast.BinOp | ast.Call)
            and self._now()
        ):
            self.count += 1
            name = f"inner{self.count}"
            before = _assign(name, value.args[0])
            value.args[0] = ast.Name(name, ast.Load())
            return [before]
        return []

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.body = self._body(node.body)
        if self._now():
            node.body.insert(
                1 if ast.get_docstring(node) else 0, ast.parse("assert True, 'here we go'").body[0]
            )
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        node.body = self._body(node.body)
        return node

    visit_If = visit_While = visit_For  # noqa: N815

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and self._now():
            node.left, node.right = node.right, node.left
        elif (
            isinstance(node.op, ast.Pow)
            and isinstance(node.right, ast.Constant)
            and node.right.value == 2
            and self._now()
        ):
            return ast.BinOp(node.left, ast.Mult(), copy.deepcopy(node.left))
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        turned = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.Eq: ast.Eq}
        if len(node.ops) == 1 and type(node.ops[0]) in turned and self._now():
            return ast.Compare(node.comparators[0], [turned[type(node.ops[0])]()], [node.left])
        return node


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def personal(source: str, draw: random.Random, chance: float = 0.45) -> str:
    tree = Style(draw, chance).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))


class Renamed(ast.NodeTransformer):
    """Every name that the code gives itself becomes another."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node):
        node.arg = self.names.get(node.arg, node.arg)
        return node


def copied(source: str, draw: random.Random, chance: float = 0.0) -> str:
    tree = ast.parse(source)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"self"}
    tree = Renamed({name: f"my_{name}_{i}" for i, name in enumerate(sorted(names))}).visit(tree)
    for node in ast.walk(tree):
        for part in ("body", "orelse"):
            body = getattr(node, part, None)
            if isinstance(body, list) and len(body) > 1:
                _shuffle(body, draw)
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.parse("'What I found out.'").body[0]
    tree = Style(draw, chance).visit(tree)
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    return "\n".join(line + ("  # mine" if draw.random() < 0.3 else "") for line in lines)


def _shuffle(body: list[ast.stmt], draw: random.Random) -> None:
    """Neighbors that do not need each other change places."""
    for i in range(len(body) - 1):
        one, two = body[i], body[i + 1]
        simple = ast.Assign | ast.FunctionDef | ast.ClassDef
        bound = _gives(one) & _uses(two) or _gives(two) & _uses(one) or _gives(one) & _gives(two)
        if isinstance(one, simple) and isinstance(two, simple) and not bound and draw.random() < 0.7:
            body[i], body[i + 1] = two, one


def _gives(node: ast.stmt) -> set[str]:
    own = {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
    return own | {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _uses(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _drawn(*about: object) -> float:
    """A number from 0 to 1 for these words: the same whenever it is asked for, whatever else is drawn."""
    text = " ".join(map(str, about))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / 2**56


def _first(programs: Iterable[str], *about: object) -> list[str]:
    """The programs in an order of their own: one more in the bank takes its place among them, and moves no other."""
    return sorted(programs, key=lambda source: _drawn(*about, source))


def classroom(
    stem: str, seed: int, size: int = 40, copies: int = 3, chance: float = 0.0
) -> tuple[list[similar.Code], set[tuple[str, str]]]:
    """A class for one notebook: everybody writes a right program of the course or a wrong one of the bank, in a style of their own.

    What a student writes depends on the student, and on the programs alone: a bank that grows changes it for few.
    """
    items = [item.id for item in corpus.keys(stem).values() if item.probes]
    popular, rare = {}, {}
    for item in items:
        right = [one.source for one in corpus.programs(stem)[item] if one.right]
        popular[item] = [
            corpus.solutions(stem)[item],
            *_first(right, item)[:2],
        ]  # the others are rarer in a class than in the bank
        rare[item] = {one.source for one in corpus.banked(stem)[item]}
    codes = []
    written: set[str] = set()
    for number in range(size):
        parts = {}
        for item in items:  # mistakes are many, and few make the same; what is right is found by many
            whose = (seed, number, item)
            alone = rare[item] and _drawn("alone", *whose) < 0.3
            source = _first(rare[item] if alone else popular[item], *whose)[0]
            rare[item].discard(source)
            draw = random.Random(" ".join(map(str, whose)))
            parts[item] = personal(source, draw)
            for _ in range(10):  # two who write a long answer alike to the letter are no two who work alone
                if parts[item] not in written:
                    break
                parts[item] = personal(source, draw)
            written.add(parts[item])
        codes.append(similar.Code(f"s{number:02}", parts))
    pairs = set()
    for number in range(0, 2 * copies, 2):
        source, other = codes[number], codes[number + 1].student
        parts = {
            item: copied(part, random.Random(f"{seed} {number} {item} copied"), chance)
            for item, part in source.parts.items()
        }
        codes[number + 1] = similar.Code(other, parts)
        pairs.add((source.student, other))
    return codes, pairs


def stems() -> list[str]:
    """The notebooks that ask for code."""
    return [stem for stem in corpus.stems() if any(item.probes for item in corpus.keys(stem).values())]


def measure(stem: str, seed: int, **how: float) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(pairs found, pairs that copied) in one class."""
    codes, pairs = classroom(stem, seed, **how)
    release = merge.released(corpus.ROOT / "exercises" / f"{stem}.ipynb")
    return {(pair.one, pair.other) for pair in similar.similar(stem, codes, release)}, pairs


if __name__ == "__main__":
    right = found = asked = alone = 0
    classes, chance, first = [*sys.argv[1:], *("3", "0", "0")[len(sys.argv) - 1 :]]
    seeds = range(int(first), int(first) + int(classes))
    for stem in stems():
        line = []
        for seed in seeds:
            got, pairs = measure(stem, seed, chance=float(chance))
            alone += len(measure(stem, seed + 1000, copies=0)[0])
            right, found, asked = right + len(got & pairs), found + len(got), asked + len(pairs)
            line.append(f"{len(got & pairs)}/{len(pairs)} +{len(got - pairs)}")
        print(f"{stem:32}", *line)
    print(
        f"precision {right / max(1, found):.3f} ({right} of {found}), recall {right / asked:.3f} ({right} of {asked})"
    )
    print(f"pairs found in {len(seeds) * len(stems())} classes where nobody copied: {alone}")
