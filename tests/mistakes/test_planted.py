"""One mistake planted in a correct program is named, in every style; with the answer's changes the program is right again."""

import random

import numpy as np
import planted
import pytest
import run

SEEDS = range(6)
NO_CHANGE = (
    "failed",
    "no-derivative",
    "not-in-optimizer",
)  # the advice is a question, or it is another error's


def plant(name, seed):
    rng = random.Random(f"{name} {seed}")
    right = planted.corrected(name, planted.program(rng))
    found = planted.MISTAKES[name](right, rng)
    if found is None:
        return None
    wrong, asked, cause, *others = found
    right = others[0] if others else right
    return right, run.Mistake(f"{name}-{seed}", cause, f"lab.why({asked})", (), wrong.source)


PLANTED = [
    pytest.param(name, seed, id=f"{name}-{seed}")
    for name in planted.MISTAKES
    for seed in SEEDS
    if plant(name, seed)
]


def gradient(source, name, engine):
    scope = run.namespace(engine)
    error = run.execute("<right>", source, scope)
    assert error is None, f"{error} in\n{source}"
    grad = scope[name].grad
    return None if grad is None else np.asarray(grad.tolist())


@pytest.mark.parametrize("engine", run.ENGINES)
@pytest.mark.parametrize(("name", "seed"), PLANTED)
def test_the_planted_mistake_is_named(name, seed, engine):
    _, m = plant(name, seed)
    assert not (wrong := run.complaint(m, engine)), f"{wrong} in\n{m.source}"


@pytest.mark.parametrize(("name", "seed"), PLANTED)
def test_the_changes_that_are_proposed_give_the_right_gradient(name, seed):
    """Judged by the program before the mistake was planted."""
    right, m = plant(name, seed)
    asked = m.question.removeprefix("lab.why(").removesuffix(")")
    found = run.answer(m, "autograd_lab")
    if not found.edits:
        assert found.cause in NO_CHANGE, f"no change is proposed for\n{m.source}\n{found}"
        return
    mended = run.applied(run.recorded(m.source), found).replace("with record() as trace:", "if True:")
    got, wanted = gradient(mended, asked, "autograd_lab"), gradient(right.source, asked, "autograd_lab")
    assert got is not None, mended
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6, err_msg=mended)
