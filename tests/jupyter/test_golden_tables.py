"""A golden table is drawn, or its error is shown in words: sixty of them, all in the whole dose."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.views.problems import problem_of
from tests.support.dose import some_of
from tests.support.pages.page_elements import Elements
from tests.support.pages.widget_view import View
from tests.support.shared_tables import golden_root

ROOT = golden_root()
TABLES = sorted((ROOT / "tables").iterdir())


@pytest.mark.sampled(cases=20)
@pytest.mark.golden
@pytest.mark.parametrize("folder", some_of(TABLES, 60), ids=lambda folder: folder.name)
def test_golden_table_is_drawn_or_refused_in_words(folder: Path) -> None:
    expected = _refusal(folder)
    widget = explorer.open_table(folder).explore(tab="overview")
    view = View(widget)
    text = Elements(view.html).text
    if expected is None:
        assert f'data-pinned-version="{widget.version}"' in view.html
        assert f"v{widget.version}" in text
    else:
        assert expected in text


def _refusal(folder: Path) -> str | None:
    """Title of the error that the newest version answers with, if it cannot be read."""
    try:
        table = explorer.open_table(folder)
        assert table.snapshot().schema is not None
        table.snapshot().files()
        table.history()
    except ExplorerError as error:
        return problem_of(error).title
    return None


@pytest.mark.golden
def test_table_with_a_checkpoint_alone_is_shown_without_a_timeline() -> None:
    widget = explorer.open_table(ROOT / "tables" / "deltars__table-with-domain-metadata").explore()
    view = View(widget)
    assert "strip" not in view.figures
    assert view.regions["lead"]
