"""Two workers share the files: each test runs once, a file stays together, and one worker at a time drives a browser."""

from types import SimpleNamespace

import pytest

pytest.importorskip("xdist")

from tests.scheduling import Files, browsing

FILES = {
    "tests/core/test_a.py": 5, "tests/browser/test_b.py": 1, "tests/browser/test_c.py": 3, "tests/browser/test_d.py": 1,
    "tests/trace/test_e.py": 40, "notebooks/04.ipynb": 4,
}  # fmt: skip
TESTS = [f"{file}::test[{i}]" for file, n in FILES.items() for i in range(n)]


class Worker:
    def __init__(self):
        self.given, self.shutting_down, self.gateway = [], False, SimpleNamespace(id="a worker")

    def send_runtest_some(self, places):
        self.given += places

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def files():
    option = SimpleNamespace(loadscopereorder=True)
    config = SimpleNamespace(
        option=option, getvalue=lambda name: {"tx": ["2*popen"], "numprocesses": 2}.get(name), rootpath=None
    )
    made = Files(config)
    for worker in (Worker(), Worker()):
        made.add_node(worker)
        made.add_node_collection(worker, TESTS)
    made.schedule()
    return made


def play(files, turns):
    """Let the workers end tests in these turns, then by turns; the tests in the order in which they ended, by worker."""
    ended = {worker: [] for worker in files.nodes}
    turns = iter(turns)
    while any(len(ended[worker]) < len(worker.given) for worker in files.nodes):
        busy = [worker for worker in files.nodes if len(ended[worker]) < len(worker.given)]
        worker = busy[next(turns, sum(map(len, ended.values()))) % len(busy)]
        place = worker.given[len(ended[worker])]
        ended[worker].append(TESTS[place])
        files.mark_test_complete(worker, place)
    return list(ended.values())


@pytest.mark.parametrize("turns", [[], [0] * 60, [1] * 60, [0, 0, 1] * 30])
def test_each_test_runs_once_and_files_stay_together(files, turns):
    ended = play(files, turns)
    assert sorted(ended[0] + ended[1]) == sorted(TESTS)
    for tests in ended:
        order = [test.split("::")[0] for test in tests]
        assert order == [file for file in dict.fromkeys(order) for _ in range(FILES[file])]
    assert files.tests_finished
    assert all(worker.shutting_down for worker in files.nodes)


def test_one_worker_at_a_time_drives_a_browser(files):
    first, second = files.nodes
    assert {browsing(TESTS[place]) for place in first.given[:5]} == {True}
    assert {browsing(TESTS[place]) for place in second.given} == {False}


def test_a_file_that_is_done_is_forgotten(files):
    """Otherwise each test that ends is compared with all that ever ended."""
    play(files, [])
    assert all(not assigned for assigned in files.assigned_work.values())


def test_a_worker_that_dies_leaves_its_tests_to_the_other(files):
    first, second = files.nodes
    files.mark_test_complete(first, first.given[0])
    crashed = files.remove_node(first)
    assert crashed == TESTS[first.given[1]]
    play(files, [])
    assert sorted(second.given + first.given[:1]) == list(range(len(TESTS)))
