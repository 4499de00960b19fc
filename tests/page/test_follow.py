"""What a window shows while its table changes: never a version that was not asked for, nor an old one as the newest."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.page import table_session
from explorer.storage import open_store
from explorer.storage.served_roots import TableRef
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables
from tests.support.pages.open_windows import Window

CHANGE = {"kind": "set-transaction", "appId": "other", "version": 1}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    hostile_tables.empty_table(tmp_path / "w" / "t")
    hostile_tables.empty_table(tmp_path / "w" / "u")
    return tmp_path / "w"


def commit(folder: Path) -> None:
    table = explorer.open_table(folder)
    table.commit(table.plan(CHANGE))


@pytest.mark.parametrize(
    "query", ["?t=w/t&v=1&tab=act&step=receipt", "?t=w/t", "?t=w/u"], ids=["receipt", "newest", "other table"]
)
def test_a_look_leaves_the_page_that_is_awaited_as_it_was_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr("explorer.page.tables._FRESH", 0.0)
    window, gate, made = Window(Catalog([str(root)]), "?t=w/t&v=0"), threading.Event(), table_session.table_page

    def later(*values: Any, **options: Any) -> Any:
        assert gate.wait(60)
        return made(*values, **options)

    monkeypatch.setattr(table_session, "table_page", later)
    commit(root / "t")
    commit(root / "u")
    heard = len(window.heard)
    window.number += 1
    window.send("go", number=window.number, query=query)
    window.session.check_table()
    while window.session._checking:
        window.turn()
    for _ in range(5):
        window.turn()
    assert window.heard[heard:] == []
    assert window.session.query == query
    gate.set()
    regions = window.answer()["regions"]
    assert "v1" in regions["bar"]
    assert window.session.view is not None
    assert window.session.view.version == 1
    assert "Committed v0" not in str(regions)


class Held(explorer.Table):
    """A table whose look at its log ends only once that is let go."""

    def __init__(self, location: str) -> None:
        super().__init__(open_store(location, None, None), read_only=True)
        self.seen, self.gate = threading.Event(), threading.Event()

    def refresh(self) -> None:
        super().refresh()
        self.seen.set()
        assert self.gate.wait(60)


class Holding(Catalog):
    """Served tables whose log is followed by one that is held."""

    held: Held | None = None

    def _opened(self, ref: TableRef) -> explorer.Table:
        if self.held is not None:
            return super()._opened(ref)
        self.held = Held(ref.location)
        return self.held


@pytest.mark.parametrize("reopen", [False, True])
def test_a_change_that_comes_during_a_look_is_seen_by_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch, reopen: bool
) -> None:
    monkeypatch.setattr("explorer.page.tables._FRESH", 0.0)
    catalog = Holding([str(root)])
    before = catalog.facts("w/t")
    assert catalog.held is not None
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(catalog.facts, "w/t")
        assert catalog.held.seen.wait(60)
        commit(root / "t")
        catalog.check_again("w/t", reopen=reopen)
        catalog.held.gate.set()
        assert looking.result() is before
    monkeypatch.setattr("explorer.page.tables._FRESH", 3_600.0)
    assert catalog.facts("w/t").last == 1
