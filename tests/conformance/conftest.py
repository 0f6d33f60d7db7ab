"""Print the conformance results per bank and topic after the run."""

import re
from collections import Counter

CASE = re.compile(r"test_bank\.py::\w+\[(?P<bank>\w+):(?P<topic>\w+)/")


def pytest_terminal_summary(terminalreporter):
    """Count the passes from the reports, which reach this process from xdist's workers as well.

    A known mismatch (an expected failure) is no pass.
    """
    passed, total = Counter(), Counter()
    for outcome in ("passed", "failed", "error", "xfailed"):
        for report in terminalreporter.stats.get(outcome, []):
            case = CASE.search(report.nodeid)
            if case and report.when != "teardown":
                total[case["bank"], case["topic"]] += 1
                passed[case["bank"], case["topic"]] += outcome == "passed"
    for bank in sorted({bank for bank, _ in total}):
        terminalreporter.section(f"conformance: {bank} bank")
        keys = sorted(key for key in total if key[0] == bank)
        for key in keys:
            terminalreporter.line(f"{key[1]:<16} {passed[key]:>3}/{total[key]}")
        sums = (sum(counts[key] for key in keys) for counts in (passed, total))
        terminalreporter.line("{:<16} {:>3}/{}".format("all topics", *sums))
