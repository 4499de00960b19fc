"""Which worker of pytest-xdist runs what, and what it runs first.

The tests of a file run on one worker. One worker has all tests with Spark and another all with a browser, so that none
starts what another has: one JVM starts and warms up, and the others have as much to do without. What takes long starts
first: else a worker would be left with it at the end while the others have nothing to do.

There are two workers more than processors, at most four: they wait for browsers, JVMs and servers half of their time.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

TOGETHER = "tests/interop/"
SPARK = (
    *(TOGETHER, "tests/spark/", "tests/changed_rows/", "tests/first_rows/", "tests/field/", "tests/auditing/erasure/"),
    *("tests/cli/commands/test_changes.py", "tests/cli/commands/test_erasure.py", "tests/cli/commands/test_rows.py"),
    *("tests/cli/commands/test_story.py", "tests/cli/test_credentials.py", "tests/cli/test_credentials_in_a_log.py"),
    *("tests/core/log/verify/test_empty_partition_values.py", "tests/core/transaction/intents/test_odd_metadata.py"),
    "tests/faults/test_faulty_row_writes.py",
    *("tests/golden/test_plans_against_the_log.py", "tests/guide/", "tests/jupyter/test_row_cards.py"),
    *("tests/page/act/test_pages.py", "tests/page/test_open_pages.py", "tests/prove/test_expression_attacks.py"),
    *("tests/prove/test_row_races.py", "tests/report/test_statements.py"),
)
"""What asks Spark in the process of the tests."""
BROWSER = ("tests/e2e/", "tests/notebooks/")
"""What starts browsers, and servers with a Spark of their own."""
_MOST = 4
"""Workers at most."""
FIRST = (TOGETHER, *BROWSER, "tests/spark/", "tests/prove/")


class Forwards:
    """Lets a worker read the files of each folder in their order."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Give the tests of every worker one order, before anything else is done with it.

        A run that is refused is refused in words: pytest-xdist says of a worker's usage error only which test was next.
        """
        items.sort(key=_place)
        try:
            yield
        except pytest.UsageError as refused:
            raise RuntimeError("\n".join(map(str, refused.args))) from refused


class _Backwards(pytest.Dir):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed(list(super().collect()))


class _FromTheMiddle(pytest.Dir):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        parts = list(super().collect())
        return parts[len(parts) // 2 :] + parts[: len(parts) // 2]


class OtherWay(Forwards):
    """Lets a worker read the files of each folder in another order.

    In a new clone none is compiled yet. Workers that read in one order come to each file at once, and all compile it;
    from both ends and from the middle each finds most of them done.

    Args:
        folder: Gives the parts of a folder in that order.
    """

    def __init__(self, folder: type[pytest.Dir]) -> None:
        self._folder = folder

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a folder in that order; a package as ever."""
        return None if (path / "__init__.py").is_file() else self._folder.from_parent(parent, path=path)


def _place(item: pytest.Item) -> list[str]:
    """Where the file of a test stands; the tests of a file keep their order."""
    return item.nodeid.partition("::")[0].split("/")


def pytest_configure(config: pytest.Config) -> None:
    """Let workers read the files of the tests in other orders."""
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    if worker:
        orders = (Forwards(), OtherWay(_Backwards), OtherWay(_FromTheMiddle))
        config.pluginmanager.register(orders[int(worker.removeprefix("gw")) % len(orders)], "reading-order")


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
def pytest_xdist_auto_num_workers() -> int:
    """Say how many workers there are where nobody names a number."""
    return min((os.cpu_count() or 1) + 2, _MOST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Hand out files in the order of the collection."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group[0] for group in (SPARK, BROWSER) if nodeid.startswith(group)), nodeid.partition("::")[0])

    config.option.loadscopereorder = False
    return ByFile(config, log)
