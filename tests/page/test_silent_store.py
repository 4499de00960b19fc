"""A page of a table whose store does not answer says so, and can be left."""

import threading
import time
from pathlib import Path

import pytest

import explorer
from explorer.storage import silence
from explorer.storage.served_roots import TableRef
from explorer.web.served_tables import Catalog
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.open_windows import Window


class Silent(Catalog):
    """Served tables whose store answers once a gate is open."""

    def __init__(self, root: Path) -> None:
        super().__init__([str(root)])
        self.gate = threading.Event()

    def _opened(self, ref: TableRef) -> explorer.Table:
        with silence.under_way(ref.location):
            assert self.gate.wait(120)
        return super()._opened(ref)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Silent:
    monkeypatch.setattr("explorer.page.table_session.PATIENCE", 0.1)
    monkeypatch.setattr(silence, "SILENT", 0.3)
    write_log(tmp_path / "w" / "t", [[PROTOCOL, metadata({"id": "long"}), add("0.parquet", 2)]])
    return Silent(tmp_path / "w")


def _waiting(served: Silent) -> Window:
    """A window that says that it waits."""
    window = Window(served, "?t=w/t", wait=False)
    while not any("Waiting for" in str(said) for said in window.heard):
        window.session._report()
        window.turn()
    return window


def test_a_page_says_that_the_store_is_silent_and_shows_the_table_once_it_answers(served: Silent) -> None:
    window = _waiting(served)
    lead = next(said["regions"]["lead"] for said in window.heard if "Waiting for" in str(said))
    assert "/w/t: no answer for" in lead
    assert "It is given up after 60 seconds." in lead
    assert 'data-do="stop-waiting"' in lead
    served.gate.set()
    assert window.answer()["title"].startswith("t v0")


def test_the_wait_can_be_ended_before_the_store_answers(served: Silent) -> None:
    window = _waiting(served)
    ended = window.ask("stop-waiting")
    assert "The wait for the store was ended" in str(ended["regions"])
    assert not served.gate.is_set()
    served.gate.set()


def test_another_table_of_the_same_name_is_not_taken_for_it(served: Silent) -> None:
    with silence.under_way("s3://elsewhere/private/t"):
        time.sleep(0.4)
        window = _waiting(served)
    assert "elsewhere" not in str(window.heard)
    served.gate.set()
    window.answer()
