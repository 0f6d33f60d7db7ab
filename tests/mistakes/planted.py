"""A correct training program in many styles, and one mistake planted in it: what is right is known, so the cure can be judged.

`program(rng)` gives the parts of a program; each function in MISTAKES changes some of them and says which cause `lab.why` must name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

WEIGHTS = ["w", "weights", "theta", "W", "coef", "beta"]
OFFSETS = ["b", "bias", "offset", "b0"]
INPUTS = ["x", "X", "inputs", "data", "features"]
TARGETS = ["y", "t", "targets", "labels"]
RESULTS = ["pred", "out", "y_hat", "output"]
HIDDEN = ["h", "hidden", "z", "act"]
LOSSES = ["loss", "cost", "err", "mse"]
ROUNDS = ["epoch", "step", "i", "_"]
OPTIMIZERS = ["opt", "optimizer", "sgd"]
SMOOTH = [
    "torch.tanh({})",
    "torch.sigmoid({})",
    "({}).sigmoid()",
    "({}).tanh()",
    "torch.nn.functional.softplus({})",
]


@dataclass(frozen=True)
class Program:
    """The parts of a training program; `style` is how it updates: by hand ("hand") or with an optimizer ("sgd", "adam")."""

    style: str
    rounds: int
    round: str
    w: str
    b: str
    x: str
    y: str
    h: str
    out: str
    loss: str
    opt: str
    lr: str
    make_w: str
    make_b: str
    make_data: tuple[str, ...]
    hidden: str
    result: str
    error: str
    helper: bool
    before: tuple[str, ...] = ()  # lines before the loop
    clear: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    optimized: tuple[str, ...] = ()  # what the optimizer is given

    @property
    def source(self) -> str:
        """The program."""
        lines = [*self.make_data, self.make_w, self.make_b]
        if self.style != "hand":
            kind = {"sgd": "SGD", "adam": "Adam"}[self.style]
            lines.append(f"{self.opt} = torch.optim.{kind}([{', '.join(self.optimized)}], lr={self.lr})")
        lines += [*self.before, f"for {self.round} in range({self.rounds}):"]
        body = [*self.clear, *self.forward, *self.back, *self.update, *self.after]
        return "\n".join([*lines, *("    " + line for line in body)]) + "\n"


def program(rng: random.Random) -> Program:
    """A correct program."""
    w, b, x, y = (rng.choice(names) for names in (WEIGHTS, OFFSETS, INPUTS, TARGETS))
    h, out, loss = rng.choice(HIDDEN), rng.choice(RESULTS), rng.choice(LOSSES)
    size, rows = rng.choice([2, 3]), rng.choice([2, 4])
    numbers = [round(rng.uniform(-1, 1), 2) or 0.5 for _ in range(size + rows * size + rows)]
    table = [numbers[size + i * size : size + (i + 1) * size] for i in range(rows)]
    p = Program(
        style=rng.choice(["hand", "sgd", "adam"]),
        rounds=rng.choice([2, 3, 4]),
        round=rng.choice(ROUNDS),
        w=w, b=b, x=x, y=y, h=h, out=out, loss=loss, opt=rng.choice(OPTIMIZERS), lr=rng.choice(["0.1", "0.05", "1e-2"]),
        make_w=rng.choice(["{} = torch.tensor({}, requires_grad=True)", "{} = torch.tensor({}).requires_grad_()"]).format(w, numbers[:size]),
        make_b=f"{b} = torch.zeros(1, requires_grad=True)",
        make_data=(f"{x} = torch.tensor({table})", f"{y} = torch.tensor({numbers[-rows:]})"),
        hidden=rng.choice([f"{x} @ {w} + {b}", f"({x} * {w}).sum(1) + {b}", f"torch.matmul({x}, {w}) + {b}"]),
        result=rng.choice(SMOOTH).format(h),
        error=rng.choice([f"(({out} - {y}) ** 2).mean()", f"({out} - {y}).pow(2).sum()", f"torch.nn.functional.mse_loss({out}, {y})"]),
        helper=rng.random() < 0.3,
        optimized=(w, b),
    )  # fmt: skip
    clear = (f"{w}.grad = {b}.grad = None",) if p.style == "hand" else (f"{p.opt}.zero_grad()",)
    update = (
        ("with torch.no_grad():", f"    {w} -= {p.lr} * {w}.grad", f"    {b} -= {p.lr} * {b}.grad")
        if p.style == "hand"
        else (f"{p.opt}.step()",)
    )
    forward = (f"{h} = {p.hidden}", f"{out} = {p.result}", f"{loss} = {p.error}")
    return replace(p, clear=clear, forward=forward, back=(f"{loss}.backward()",), update=update)


Planted = tuple[Program, str, str] | tuple[Program, str, str, Program]
"""The program with the mistake, the tensor to ask about, the cause; and what is right, if that is not the program before."""
MISTAKES: dict[str, Callable[[Program, random.Random], Planted | None]] = {}


def mistake(plant):
    MISTAKES[plant.__name__] = plant
    return plant


def by_hand(p: Program) -> Program:
    """The same program with the update written out."""
    return replace(
        p, style="hand", clear=(f"{p.w}.grad = {p.b}.grad = None",),
        update=("with torch.no_grad():", f"    {p.w} -= {p.lr} * {p.w}.grad", f"    {p.b} -= {p.lr} * {p.b}.grad"),
    )  # fmt: skip


def corrected(name: str, p: Program) -> Program:
    """The right program that the planted one is judged by."""
    return by_hand(p) if name.startswith("hand_") else p


@mistake
def hand_rebound_under_no_grad(p, rng):
    update = (p.update[0], f"    {p.w} = {p.w} - {p.lr} * {p.w}.grad", p.update[2])
    return replace(p, update=update), p.w, "overwritten-no-grad"


@mistake
def hand_rebound_and_zeroed(p, rng):
    update = (p.update[0], f"    {p.w} = {p.w} - {p.lr} * {p.w}.grad", p.update[2])
    clear = (
        f"if {p.w}.grad is not None: {p.w}.grad.zero_()",
        f"if {p.b}.grad is not None: {p.b}.grad.zero_()",
    )
    if rng.random() < 0.5:
        return replace(p, update=update, clear=clear), p.w, "overwritten-no-grad"
    right = replace(p, clear=(f"{p.b}.grad = None",), after=(f"{p.w}.grad.zero_()",))
    return replace(right, update=update), p.w, "overwritten-no-grad", right


@mistake
def hand_rebound_through_data(p, rng):
    how = rng.choice(
        [
            "{0} = {0}.data - {1} * {0}.grad",
            "{0} = ({0} - {1} * {0}.grad).detach()",
            "{0} = {0}.detach() - {1} * {0}.grad",
        ]
    )
    return replace(p, update=(how.format(p.w, p.lr), *p.update[:1], p.update[2])), p.w, "overwritten-no-grad"


@mistake
def hand_rebound_recorded(p, rng):
    return (
        replace(p, update=(f"{p.w} = {p.w} - {p.lr} * {p.w}.grad", p.update[0], p.update[2])),
        p.w,
        "overwritten",
    )


@mistake
def hand_written_while_recorded(p, rng):
    return replace(p, update=(f"{p.w} -= {p.lr} * {p.w}.grad", p.update[0], p.update[2])), p.w, "inplace-leaf"


def one_optimized(p: Program) -> Program:
    """The same program with an optimizer that is given the offset only: what is asked about need not be a leaf."""
    return replace(
        p,
        style="sgd",
        clear=(f"{p.opt}.zero_grad()", f"{p.w}.grad = None"),
        update=(f"{p.opt}.step()",),
        optimized=(p.b,),
    )


@mistake
def flag_forgotten(p, rng):
    right = one_optimized(p)
    made = p.make_w.replace(", requires_grad=True", "").replace(".requires_grad_()", "")
    return replace(right, make_w=made), p.w, "requires-grad-never-set", right


@mistake
def detached(p, rng):
    forward = (
        p.forward[0],
        p.forward[1].replace(f"({p.h})", f"({p.h}.detach())"),
        f"{p.forward[2]} + 0.0 * {p.b}.sum()",
    )
    return replace(p, forward=forward), p.w, "detached"


@mistake
def detached_by_name(p, rng):
    line = f"{p.h} = {p.h}.detach()"
    return replace(p, forward=(p.forward[0], line, *p.forward[1:])), p.w, "detached"


@mistake
def data_taken(p, rng):
    return (
        replace(p, forward=(p.forward[0], p.forward[1].replace(f"({p.h})", f"({p.h}.data)"), p.forward[2])),
        p.w,
        "data",
    )


@mistake
def number_taken(p, rng):
    return replace(p, forward=(*p.forward[:2], f"{p.loss} = ({p.error}).item()")), p.w, "item"


@mistake
def loss_copied(p, rng):
    return (
        replace(p, forward=(*p.forward, f"{p.loss} = torch.tensor({p.loss}, requires_grad=True)")),
        p.w,
        "copied",
    )


@mistake
def number_wrapped(p, rng):
    return (
        replace(p, forward=(*p.forward, f"{p.loss} = torch.tensor({p.loss}.item(), requires_grad=True)")),
        p.w,
        "item",
    )


@mistake
def not_cleared(p, rng):
    return replace(p, clear=()), p.w, "accumulated"


@mistake
def forward_outside(p, rng):
    how_many = rng.choice([1, 2, 3])
    return replace(p, before=p.forward[:how_many], forward=p.forward[how_many:]), p.w, "computed-once"


@mistake
def total_kept(p, rng):
    total = rng.choice(["total", "running_loss", "total_loss"])
    add = rng.choice([f"{total} = {total} + {p.loss}", f"{total} += {p.loss}"])
    start = rng.choice([f"{total} = 0", f"{total} = 0.0", f"{total} = torch.zeros(())"])
    return (
        replace(p, before=(start,), forward=(*p.forward, add), back=(f"{total}.backward()",)),
        p.w,
        "running-total",
    )


@mistake
def losses_kept(p, rng):
    kept = rng.choice(["losses", "history", "all_losses"])
    total = rng.choice([f"sum({kept})", f"torch.stack({kept}).sum()"])
    return (
        replace(
            p,
            before=(f"{kept} = []",),
            forward=(*p.forward, f"{kept}.append({p.loss})"),
            back=(f"{total}.backward()",),
        ),
        p.w,
        ("running-total"),
    )


@mistake
def backward_forgotten(p, rng):
    return replace(p, back=()), p.w, "backward-never-called"


@mistake
def backward_not_called(p, rng):
    return replace(p, back=(f"{p.loss}.backward",)), p.w, "backward-never-called"


@mistake
def not_reduced(p, rng):
    right = replace(p, forward=(*p.forward[:2], f"{p.loss} = (({p.out} - {p.y}) ** 2).sum()"))
    return (
        replace(p, forward=(*p.forward[:2], f"{p.loss} = ({p.out} - {p.y}) ** 2")),
        p.w,
        "loss-not-scalar",
        right,
    )


@mistake
def under_no_grad(p, rng):
    how_many = rng.choice([1, 2, 3])
    off = rng.choice(["torch.no_grad()", "torch.set_grad_enabled(False)"])
    inside = tuple("    " + line for line in p.forward[:how_many])
    return replace(p, forward=(f"with {off}:", *inside, *p.forward[how_many:])), p.w, "no-grad"


@mistake
def cleared_at_the_end(p, rng):
    return replace(p, clear=(), after=p.clear), p.w, "cleared"


@mistake
def result_overwritten(p, rng):
    if "softplus" in p.result:
        return None
    write = rng.choice([f"{p.out} *= 1", f"{p.out}.mul_(1)", f"{p.out} += 0", f"{p.out}[0] *= 1"])
    return replace(p, forward=(*p.forward[:2], write, p.forward[2])), p.w, "inplace-saved"


@mistake
def backward_twice(p, rng):
    right = replace(p, back=(f"{p.loss}.backward(retain_graph=True)", p.back[0]))
    return replace(p, back=(p.back[0], p.back[0])), p.w, "freed-graph", right


@mistake
def shapes_wrong(p, rng):
    return replace(p, forward=(f"{p.h} = {p.x} @ torch.ones(7) + {p.w}.sum()", *p.forward[1:])), p.w, "failed"


@mistake
def name_misspelled(p, rng):
    return (
        replace(p, forward=(*p.forward[:2], f"{p.loss} = {p.error.replace(p.out, p.out + 's')}")),
        p.w,
        "failed",
    )


@mistake
def choice_made(p, rng):
    return (
        replace(p, forward=(p.forward[0], f"{p.out} = ({p.h} > 0).float()", p.forward[2])),
        p.w,
        "no-derivative",
    )


@mistake
def frozen(p, rng):
    right = one_optimized(p)
    line = rng.choice([f"{p.w}.requires_grad_(False)", f"{p.w}.requires_grad = False"])
    return replace(right, before=(line,)), p.w, "frozen", right


@mistake
def scaled_at_once(p, rng):
    right = one_optimized(p)
    return (
        replace(right, make_w=p.make_w + rng.choice([" * 1", ".float() * 1", " + 0"])),
        p.w,
        "leaf-without-name",
        right,
    )


@mistake
def converted(p, rng):
    right = one_optimized(p)
    line = rng.choice(
        [f"{p.w} = {p.w}.double().float()", f"{p.w} = {p.w}.clone()", f"{p.w} = {p.w}.view(-1)"]
    )
    return replace(right, before=(line,)), p.w, "overwritten", right


@mistake
def state_carried(p, rng):
    wrong = replace(
        p,
        before=(f"{p.h} = torch.zeros(1)",),
        forward=(f"{p.h} = 0.5 * {p.h} + ({p.hidden}) ** 2", *p.forward[1:]),
    )
    return wrong, p.w, "carried-over", replace(wrong, after=(f"{p.h} = {p.h}.detach()",))


@mistake
def plotted_too_early(p, rng):
    line = rng.choice([f"curve = {p.out}.numpy()", f"points = np.asarray({p.out}.numpy())"])
    return replace(p, forward=(*p.forward, line)), p.w, "numpy-refused"


@mistake
def not_given_to_the_optimizer(p, rng):
    return replace(one_optimized(p), style="adam"), p.w, "not-in-optimizer"


@mistake
def stepped_too_early(p, rng):
    if p.style == "hand":
        return None
    two = replace(p, rounds=1, forward=(*p.forward, f"{p.h} = ({p.w} * {p.w}).sum()"))
    last = f"{p.h}.backward()"
    return (
        replace(two, update=(*p.update, last)),
        p.w,
        "optimizer-too-early",
        replace(two, update=(last, *p.update)),
    )


@mistake
def kept_too_late(p, rng):
    right = replace(p, rounds=1, forward=(p.forward[0], f"{p.h}.retain_grad()", *p.forward[1:]))
    return replace(p, rounds=1, after=(f"{p.h}.retain_grad()",)), p.h, "retain-too-late", right


@mistake
def result_asked(p, rng):
    n = rng.choice([0, 1])
    asked = (p.h, p.out)[n]
    return (
        p,
        asked,
        "not-leaf",
        replace(p, forward=(*p.forward[: n + 1], f"{asked}.retain_grad()", *p.forward[n + 1 :])),
    )


@mistake
def grad_instead_of_backward(p, rng):
    right = replace(p, clear=(), update=(), rounds=1)
    return (
        replace(right, back=(f"torch.autograd.grad({p.loss}, [{p.w}, {p.b}])",)),
        p.w,
        "autograd-grad",
        right,
    )


@mistake
def inputs_forgotten(p, rng):
    right = one_optimized(p)
    return replace(right, back=(f"{p.loss}.backward(inputs=[{p.b}])",)), p.w, "inputs-left-out", right
