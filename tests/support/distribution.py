"""Which worker of pytest-xdist runs what, and what it runs first.

The tests of a file run on one worker, and those of all of `tests/interop` too, so that one reference writer starts for
however many workers there are. What takes long starts first: else a worker would be left with it at the end while the
others have nothing to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

TOGETHER = "tests/interop/"
LONG = ("spark", "e2e", "notebook")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first the tests of the reference writer, then those that start a JVM, a browser or a kernel."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.nodeid.startswith(TOGETHER):
        return 0
    return 1 if any(item.get_closest_marker(mark) for mark in LONG) else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Hand out files in the order of the collection."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(TOGETHER) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)
