"""The journeys of ``docs/guide/jobs.md``, each from the list of tables to its end, without a fault in the page."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import settle
from tests.e2e.journeys.journeys import JOURNEYS, WITHOUT_SPARK, Walk
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.served_pages import SERVE_COMMITS, enter, served

pytestmark = pytest.mark.e2e
_EVERY_RUN = "c"
"""Journeys to the history of a column, and to a card."""
_WITH_SPARK = (
    pytest.mark.spark,
    pytest.mark.skipif(not WHOLE_DOSE, reason="journeys with Spark take minutes: make prove walks them"),
)


@pytest.fixture(scope="module")
def demo(demo_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a copy of the demo tables that may be changed; yields the URL."""
    folder = tmp_path_factory.mktemp("journeys")
    shutil.copytree(demo_warehouse, folder / "demo")
    with served(folder / "demo", SERVE_COMMITS, folder / "server.log") as url:
        yield url


def _marks(letter: str) -> Sequence[pytest.MarkDecorator]:
    if letter not in WITHOUT_SPARK:
        return _WITH_SPARK
    return () if letter in _EVERY_RUN else (pytest.mark.whole(f"the journey {' and '.join(_EVERY_RUN)}"),)


@pytest.mark.parametrize("letter", [pytest.param(letter, marks=_marks(letter)) for letter in JOURNEYS])
def test_it_reaches_its_end(watched: Any, windows: Any, demo: str, letter: str) -> None:
    windows.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.set_default_timeout(300_000)
    enter(windows, demo)
    watched.goto(f"{demo}/")
    settle(watched)
    walk = Walk(watched, name=letter)
    JOURNEYS[letter](walk)
    assert walk.clicks > 0
    assert watched.locator("#notice .notice.danger").count() == 0
