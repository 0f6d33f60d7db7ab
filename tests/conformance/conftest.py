"""Collect the conformance results and print them per topic after the run."""

from collections import Counter

import pytest

RESULTS = pytest.StashKey[dict]()


def pytest_configure(config):
    """Start with no results: (bank, topic) -> counts of passed and total."""
    config.stash[RESULTS] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Count each replayed case once, when its call ends or its setup fails."""
    report = yield
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")
    if case and (report.when == "call" or (report.when == "setup" and report.failed)):
        bank, topic = item.callspec.params["bank"], case["id"].split("/")[0]
        counts = item.config.stash[RESULTS].setdefault((bank, topic), Counter())
        counts["total"] += 1
        counts["passed"] += report.passed and not hasattr(report, "wasxfail")
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Print passes per bank and topic, and each bank's sum."""
    results = config.stash.get(RESULTS, {})
    for bank in sorted({bank for bank, _ in results}):
        terminalreporter.section(f"conformance: {bank} bank")
        total = Counter()
        for (owner, topic), counts in sorted(results.items()):
            if owner == bank:
                total += counts
                terminalreporter.line(f"{topic:<16} {counts['passed']:>3}/{counts['total']}")
        terminalreporter.line(f"{'all topics':<16} {total['passed']:>3}/{total['total']}")
