"""How two pytest-xdist workers share the test files, for `pytest -n 2 --dist loadscope`.

xdist's own scheduler looks at all tests that a worker was ever given, whenever one ends: with twenty thousand tests it takes
a core from the workers for ten seconds and more. And it deals files out by their number of tests, so that the browser's,
few and long, come last and leave a worker idle.
"""

from collections.abc import Iterable, Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController


class Collection(list[str]):
    """What a worker collected; it knows the place of each test."""

    def __init__(self, tests: Iterable[str]) -> None:
        super().__init__(tests)
        self.places = {test: place for place, test in enumerate(self)}

    def index(self, test: str, *bounds: int) -> int:  # type: ignore[override]
        """Its place, without a search."""
        return self.places[test] if not bounds else super().index(test, *bounds)


class Files(LoadScopeScheduling):
    """Whole files, in the order of collection, but the browser's as soon as nobody else drives one: two would wait for each other."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Note what a worker collected."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Collection(collection)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Note that a test has ended, and forget a file when all of its tests have."""
        super().mark_test_complete(node, item_index, duration)
        file = self._split_scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][file].values()):
            del self.assigned_work[node][file]

    def _assign_work_unit(self, node: WorkerController) -> None:
        free = not any(
            browsing(file) for other in self.nodes if other is not node for file in self.assigned_work[other]
        )
        chosen = next((file for file in self.workqueue if browsing(file) is free), None)
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def browsing(file: str) -> bool:
    """Whether the tests of a file drive a browser."""
    return file.startswith("tests/browser/")
