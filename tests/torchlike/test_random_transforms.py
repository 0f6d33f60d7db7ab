"""Random functions in random nestings of torch.func's transforms: the numbers are PyTorch's, recorded and live.

The functions write in place, through views and under no_grad. What PyTorch refuses (a write to something captured, say) is left out.

To record: `python -m tests.record random_transforms`.
"""

import random

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

START = """
F = torch.func
x, v, u, c = torch.tensor(
    [[0.7, -1.2, 0.4], [1.0, -0.5, 0.3], [0.2, 0.9, -0.7], [1.5, 0.5, -0.8]], dtype=torch.float64
).unbind()
both = torch.stack([u, v])
jvp = lambda f: lambda a: F.jvp(f, (a,), (v.clone(),))[1]
value_and_jvp = lambda f: lambda a: sum(F.jvp(f, (a,), (v.clone(),)))
jvp_by_tangent = lambda f: lambda t: F.jvp(f, (x * 1,), (t,))[1]
jvp_of_product = lambda f: lambda b: F.jvp(lambda a: f(a * b), (u * 1,), (b,))[1]
grad = lambda f: F.grad(lambda a: f(a).sum())
grad_of_product = lambda f: lambda b: F.grad(lambda a: (f(a) * b).sum())(b)
vjp = lambda f: lambda a: F.vjp(f, a)[1](u)[0]
jacfwd = lambda f: lambda a: F.jacfwd(f)(a) @ u
jacrev = lambda f: lambda a: F.jacrev(f)(a).mv(v)
batch = lambda f: lambda a: torch.vmap(lambda t: F.jvp(f, (a,), (t,))[1])(both).sum(0)

def called(f):
    return f(x.clone())

def by_a_leaf(f):
    leaf = x.clone().requires_grad_()
    y = f(leaf * 1)
    return y.detach(), torch.autograd.grad(y.sum(), leaf, allow_unused=True)[0] if y.requires_grad else None

def in_a_level(f):
    with torch.autograd.forward_ad.dual_level():
        return tuple(torch.autograd.forward_ad.unpack_dual(f(torch.autograd.forward_ad.make_dual(x, v))))

"""

TRANSFORMS = [
    "jvp", "value_and_jvp", "jvp_by_tangent", "jvp_of_product", "grad", "grad_of_product", "vjp", "jacfwd", "jacrev", "batch",
]  # fmt: skip
BACKWARDS = ["grad", "grad_of_product", "vjp", "jacrev"]

STEPS = """
{a} * {b}
{a} + {b}
{a} * c
{a}.sin()
{a}.tanh() * {b}
{a}.exp() / 3
{a} / ({b} * {b} + 1)
({a} * {b}).cumsum(0)
{a}.flip(0) * {b}
torch.outer({a}, {b}).sum(0)
torch.diag({a}) @ {b}
torch.cat([{a}[1:], {b}[:1]])
torch.where({a} > 0, {a} * {b}, {b})
{a}[torch.tensor([0, 2, 2])]
{a}.view(3, 1).expand(3, 2).sum(1)
{a}.softmax(0)
{a} - {b}.mean()
{a}.norm() * {b}
{a}.detach() * {b}
{a}.clone()
{a}.sort().values
sum({a}.unbind()) * {b}
""".strip().splitlines()

WRITES = """
{a}.mul_({b})
{a}.add_({b})
{a}.copy_({b} * {b})
{a}.div_({b} * {b} + 1)
{a}[1:].mul_({b}[:2])
{a}[0] = {b}[1] * {b}[2]
{a}[:2].add_({b}[1:])
{a}[torch.tensor([0, 2])] = {b}[:2]
{a}.view(3, 1).mul_({b}.view(3, 1))
{a}.masked_fill_({b} > 0, 0.5)
{a}.index_add_(0, torch.tensor([0, 0, 1]), {b})
{a}.unsqueeze_(0).mul_(2).squeeze_(0)
{a}.detach().mul_(1.1)
{a}.sin_()
{a}.tanh_()
{a}.exp_()
{a}.zero_()
""".strip().splitlines()


def a_function(rng):
    """The text of a function of a vector of three."""
    names, own, lines = ["a"], [], []
    for i in range(rng.randint(2, 7)):
        if own and rng.random() < 0.4:
            target = rng.choice(own)
            line = rng.choice(WRITES).format(a=target, b=rng.choice([n for n in names if n != target]))
        elif own and rng.random() < 0.1:
            line = rng.choice(WRITES).format(a="a", b=rng.choice(own))
        else:
            own.append(f"v{i}")
            line = f"v{i} = " + rng.choice(STEPS).format(a=rng.choice(names), b=rng.choice(names))
            names.append(f"v{i}")
        quiet = rng.random() < 0.35
        lines.append(f"    with torch.no_grad():\n        {line}" if quiet else f"    {line}")
    return "\n".join(["def f(a):", *lines, f"    return {own[-1]} * {rng.choice(names)}"])


def a_program(seed):
    """A function, some transforms around it, and how the result is called."""
    rng = random.Random(seed)
    function = a_function(rng)
    names = [rng.choice(TRANSFORMS) for _ in range(rng.choice([1, 2, 2, 3]))]
    callers = ["called", "called", "by_a_leaf"]
    if set(names) <= set(BACKWARDS):  # the others open a level of their own
        callers.append("in_a_level")
    nested = "f"
    for name in names:
        nested = f"{name}({nested})"
    return f"{START}{function}\ntry:\n    out['r'] = {rng.choice(callers)}({nested})\nexcept Exception:\n    out['r'] = 'refused'\n"


PROGRAMS = {f"program {seed}": a_program(seed) for seed in range(300)}
STORED = stored(__file__)
GIVEN = [name for name, result in STORED.get("results", {}).items() if result["r"] != "refused"]


def numbers(result):
    """The numbers of a result, without what else is known of its tensors; a tangent that is not there as the zeros it stands for."""
    parts = result["r"] if isinstance(result["r"], list) else [result["r"]]
    return [
        [0.0, 0.0, 0.0] if part is None else part["tensor"] if isinstance(part, dict) else part
        for part in parts
    ]


def differing_numbers(mine, theirs):
    return differences(numbers(mine), numbers(theirs), tolerance=1e-9)


def test_most_are_not_refused():
    assert len(GIVEN) > 200


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GIVEN)
def test_the_numbers_are_pytorchs(name):
    assert not differing_numbers(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


def test_the_record_is_what_live_pytorch_gives():
    check_live(STORED, PROGRAMS, differing_numbers)
