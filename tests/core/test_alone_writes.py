"""Writing in place on the core alone, a few lines of its own, gives the gradients that the package gives.

Random programs: views of views, in any order in memory, written with numbers and tensors.
"""

import random

import numpy as np

import autograd_lab

PROGRAMS = 400


def gradients(torch, seed):
    """The gradients of the leaves of a random program, or the error that it ends with."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    x, w, s = (torch.tensor(numbers.standard_normal(n), requires_grad=True) for n in ((3, 4), 4, ()))
    start = draw.choice(
        [lambda: x * 2.0, lambda: x.t() * 2.0, lambda: (x * s).t() * w[0], lambda: x.clone()]
    )()
    family = [start]
    try:
        for _ in range(draw.randint(1, 5)):
            t = draw.choice(family)
            size = t._data.size
            steps = [
                lambda t=t: family.append(t[draw.randint(0, len(t._data) - 1)] if t.ndim else t),
                lambda t=t: family.append(t.t() if t.ndim == 2 else t),
                lambda t=t: family.append(t[0:2] if t.ndim else t),
                lambda t=t, size=size: family.append(t.view(size)),
                lambda t=t: t.mul_(draw.choice([3.0, s, w])),
                lambda t=t: t.add_(draw.choice([1.5, s])),
                lambda t=t: t.div_(s),
                lambda t=t: t.copy_(s),
                lambda t=t: t.fill_(2.0),
            ]
            draw.choice(steps)()
        total = s * 0.0
        for t in family:
            total = total + (t * t).sum()
        total.backward()
    except (RuntimeError, ValueError):
        return "an error"
    return [None if t.grad is None else np.asarray(t.grad._data) for t in (x, w, s)]


def test_it_gives_the_gradients_of_the_package(alone):
    ran = 0
    for seed in range(PROGRAMS):
        mine, theirs = gradients(alone, seed), gradients(autograd_lab, seed)
        if "an error" in (mine, theirs):
            assert mine == theirs, seed
            continue
        ran += 1
        for one, other in zip(mine, theirs, strict=True):
            assert (one is None) == (other is None), seed
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=str(seed))
    assert ran > PROGRAMS / 2
