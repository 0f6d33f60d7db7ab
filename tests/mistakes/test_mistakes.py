"""The bank of learners' mistakes: `lab.why` names the cause of each, on both engines, and its advice cures it."""

from collections import Counter

import pytest
import run

BANK = run.read()


@pytest.mark.parametrize(
    ("m", "engine"), [pytest.param(m, engine, id=f"{m.name}-{engine}") for m in BANK for engine in m.engines]
)
def test_the_cause_is_named(m, engine):
    assert run.complaint(m, engine) == ""


@pytest.mark.parametrize("m", [pytest.param(m, id=m.name) for m in BANK if m.cure])
def test_the_cure_gives_the_right_gradient(m):
    for engine in m.engines:
        assert run.uncured(m, engine) == "", engine


def test_no_template_is_used_too_often():
    used = Counter(m.options.get("template", m.name) for m in BANK)
    assert [name for name, count in used.items() if count > 3] == []
