"""Which worker of pytest-xdist runs what, and what it runs first.

The tests of a file run on one worker, and those of all of `tests/interop` too, so that one reference writer starts for
however many workers there are. What takes long starts first: else a worker would be left with it at the end while the
others have nothing to do. Tests of a folder follow each other, so that of two workers one has the reference writer and
the other the browser, and neither starts what the other has. Two workers share no work with Spark either: one JVM
starts and warms up, and the other worker has as much to do without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

TOGETHER = "tests/interop/"
SPARK = (
    *(TOGETHER, "tests/spark/", "tests/auditing/erasure/", "tests/prove/test_row_races.py"),
    *("tests/faults/test_faulty_row_writes.py", "tests/web/test_open_pages.py"),
    *("tests/jupyter/test_act.py", "tests/jupyter/test_controls.py", "tests/jupyter/test_row_panels.py"),
    *("tests/cli/test_changes.py", "tests/cli/test_erasure.py", "tests/cli/test_rows.py"),
)
"""What asks Spark in the process of the tests."""
FIRST = (TOGETHER, "tests/e2e/", "tests/notebooks/", "tests/spark/", "tests/prove/")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first the folders that start a JVM, a browser, a kernel or other processes, then other tests with Spark."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    for turn, folder in enumerate(FIRST):
        if item.nodeid.startswith(folder):
            return turn
    return len(FIRST) if item.get_closest_marker("spark") else len(FIRST) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Hand out files in the order of the collection."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    together = SPARK if len(config.option.tx) == 2 else (TOGETHER,)

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(together) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)
