"""Print what the checks are worth after the run: banked wrong answers caught and named, mutants killed, for each item."""

from autograd_lab.course.bank import Row, table


def pytest_terminal_summary(terminalreporter):
    """The rows come with the reports, which reach this process from xdist's workers as well."""
    reports = [r for state in ("passed", "failed") for r in terminalreporter.stats.get(state, [])]
    rows = [Row(**row) for r in reports for key, rows in r.user_properties if key == "bank" for row in rows]
    if rows:
        terminalreporter.section("exercises: wrong answers and mutants")
        terminalreporter.line(table(sorted(rows, key=lambda row: row.item)))
