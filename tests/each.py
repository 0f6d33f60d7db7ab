"""Thousands of small cases in a few tests."""

from collections.abc import Callable, Iterable
from typing import Any


def each(cases: Iterable[Any], check: Callable[..., None], *more: Any) -> None:
    """Check every case: one test, which is cheaper than thousands; the error has all that fail, by name."""
    failed, cases = [], list(cases)
    assert cases, "there is nothing to check"
    for case in cases:
        try:
            check(case, *more)
        except Exception as error:
            error.add_note(f"case: {getattr(case, 'name', case)}")
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
