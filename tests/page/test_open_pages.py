"""What becomes of an open page while its table is deleted, replaced or half written, or its store does not answer."""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.log_store import LogStore
from explorer.page.tabs import TABS
from explorer.storage import open_store
from explorer.views import TableFacts
from explorer.web.served_tables import Catalog
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window

ROWS = "?t=w/t&tab=files"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("explorer.page.tables._FRESH", 0.0)
    return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "w" / "t", 3)


def write(folder: Path, versions: int, name: str = "a") -> Path:
    info, protocol, metadata = hostile_tables.created({"id": "long"})
    assert isinstance(metadata, Metadata)
    created = [info, protocol, msgspec.structs.replace(metadata, id=f"the table {name}")]
    adds = [[small_logs.commit_info("WRITE"), small_logs.add(f"{name}{n}.parquet", n + 1)] for n in range(versions)]
    return small_logs.write_log(folder, [created, *adds])


def opened(folder: Path, query: str = ROWS) -> Window:
    return Window(Catalog([str(folder.parent)]), query)


def noticed(window: Window, words: str) -> str:
    """Look at the table, and wait for a notice."""
    window.session.check_table()
    found = window.until(lambda message: words in message.get("regions", {}).get("notice", ""))
    return str(found["regions"]["notice"])


def test_a_table_that_is_deleted_under_an_open_page_is_said_once_and_comes_back(folder: Path, tmp_path: Path) -> None:
    window = opened(folder)
    shutil.move(folder, tmp_path / "away")
    said = noticed(window, "The table no longer exists")
    assert "was deleted or moved while it was open" in said
    assert "The last successful reading is still shown" in said
    assert 'data-do="retry"' in said
    heard = len(window.heard)
    window.session.check_table()
    for _ in range(30):
        window.turn()
    assert len(window.heard) == heard, "the same cause is said once"
    # A second try shows why, with a way on; when the table is back, the page is too, by itself.
    lead = window.ask("go", query=ROWS)["regions"]["lead"]
    assert "No Delta table here" in lead
    assert 'data-do="retry"' in lead
    shutil.move(tmp_path / "away", folder)
    window.session.check_table()
    back = window.until(lambda message: "a2.parquet" in message.get("regions", {}).get("lead", ""))
    assert back["title"].startswith("t v3")


def test_a_page_whose_table_is_back_before_anything_was_asked_drops_its_notice(folder: Path, tmp_path: Path) -> None:
    window = opened(folder)
    shutil.move(folder, tmp_path / "away")
    noticed(window, "The table no longer exists")
    shutil.move(tmp_path / "away", folder)
    window.session.check_table()
    window.until(lambda message: message.get("regions", {}).get("notice") == "")


@pytest.mark.parametrize("versions", [3, 1, 6])
def test_another_table_in_the_same_place_is_called_one(folder: Path, versions: int) -> None:
    window = opened(folder, ROWS + "&v=2&c=1")
    shutil.rmtree(folder)
    write(folder, versions, "other")
    said = noticed(window, "The table was replaced")
    assert f"v{versions} of what is there now is shown" in said
    shown = "".join(str(message.get("regions", {}).get("lead", "")) for message in window.heard)
    assert "other0.parquet" in shown
    assert window.session.query == "?t=w/t&tab=files"
    assert window.ask("go", query=ROWS)["regions"]["notice"] == ""


def test_a_log_whose_files_were_only_touched_is_the_same_table(folder: Path) -> None:
    window = opened(folder)
    newest = max((folder / "_delta_log").glob("*.json"))
    os.utime(newest, (1_772_460_311, 1_772_460_311))
    heard = len(window.heard)
    window.session.check_table()
    window.until(lambda message: message is window.heard[-1] and len(window.heard) > heard)
    assert "replaced" not in str(window.heard)


def test_a_plan_for_a_table_that_was_replaced_writes_nothing(folder: Path) -> None:
    catalog = Catalog([str(folder.parent)], allow_commits=True)
    query = "?t=w/t&tab=act&act=set-description&f.description=mine&step=plan"
    window = Window(catalog, query)
    lead = window.session.shown.regions["lead"]
    digest = lead.partition('data-plan="')[2].partition('"')[0]
    shutil.rmtree(folder)
    write(folder, 3, "other")
    window.ask("commit", name="t", reason="x", digest=digest)
    window.until(lambda message: "data-outcome" in message.get("regions", {}).get("lead", ""))
    table = explorer.open_table(folder)
    assert table.latest_version() == 3
    assert table.snapshot().metadata.description != "mine"


def test_a_log_that_is_half_written_says_so_and_is_read_when_it_is_whole(folder: Path) -> None:
    window = opened(folder)
    whole = small_logs.lines([small_logs.commit_info("WRITE"), small_logs.add("late.parquet", 9)])
    path = folder / "_delta_log" / f"{4:020d}.json"
    path.write_bytes(whole[: len(whole) // 2])
    window.session.check_table()
    window.until(lambda message: message.get("say") == "New: v4")
    window.ask("go", query=ROWS)
    heard = "".join(str(message.get("regions", {})) for message in window.heard)
    assert "cannot be read" in heard
    assert f"{4:020d}.json" in heard
    assert 'data-do="retry"' in heard
    path.write_bytes(whole)
    window.session.check_table()
    window.until(lambda message: "late.parquet" in message.get("regions", {}).get("lead", ""))


@pytest.mark.sampled(cases=5)
@pytest.mark.parametrize("tab", [tab.key for tab in TABS])
def test_clocks_that_run_back_break_no_tab(tmp_path: Path, tab: str) -> None:
    created = [*hostile_tables.created({"id": "long"})]
    times = [1_700_000_000_000, 1_600_000_000_000, 4_000_000_000_000, -5]
    later = [
        [msgspec.structs.replace(small_logs.commit_info("WRITE"), timestamp=time), small_logs.add(f"{n}.parquet", 1)]
        for n, time in enumerate(times)
    ]
    folder = small_logs.write_log(tmp_path / "w" / "t", [created, *later])
    window = opened(folder, f"?t=w/t&tab={tab}")
    assert window.session.shown.regions["notice"] == ""
    for version in range(5):
        assert window.ask("go", query=f"?t=w/t&tab={tab}&v={version}")["regions"].get("notice", "") == ""


class Slow(Catalog):
    """Served tables whose store stops answering from some request on."""

    store: FaultyStore

    def facts(self, name: str) -> TableFacts:
        table = explorer.Table(self._store(self.roots.locate(name).location), read_only=True)
        return TableFacts(table, name)

    def _store(self, location: str) -> LogStore:
        self.store = FaultyStore(open_store(location, None, None), self.store.faults if self.silent else {})
        return self.store

    silent = False


def test_a_store_that_stops_answering_is_a_notice_and_the_page_recovers(folder: Path) -> None:
    catalog = Slow([str(folder.parent)])
    window = Window(catalog, ROWS)
    assert "a2.parquet" in window.session.shown.regions["lead"]
    catalog.store.faults, catalog.silent = {-1: "fails"}, True
    said = noticed(window, "The table cannot be read now: storage error")
    assert 'data-do="retry"' in said
    lead = window.ask("go", query=ROWS)["regions"]["lead"]
    assert "Storage error" in lead
    catalog.silent = False
    assert window.ask("go", query=ROWS)["title"].startswith("w/t v3")


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "commit"},
        {"kind": "commit", "name": "t", "reason": "x", "digest": "0" * 64},
        {"kind": "commit", "name": ["t"], "reason": {"a": 1}, "digest": None},
        {"kind": "look"},
        {"kind": "accept", "name": hostile_tables.HOSTILE},
        {"kind": "try-again"},
        {"kind": "plan-again"},
        {"kind": "cancel-commit"},
        {"kind": "person", "name": hostile_tables.HOSTILE * 9},
        {"kind": "draft", "query": "?t=../../etc&tab=act&act=vacuum", "pairs": 1 << 40},
        {"kind": "rows", "where": "1=1); DROP TABLE t; --"},
        {"kind": "changes", "keys": "`" * 9_000},
        {"kind": "go", "query": "?t=../../../etc/passwd"},
        {"kind": "visible", "visible": "no"},
    ],
)
def test_a_message_made_by_hand_is_answered_in_words_and_does_nothing(folder: Path, message: dict[str, Any]) -> None:
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    window = Window(Catalog([str(folder.parent)], allow_commits=True), "?t=w/t&tab=act")
    kind = message["kind"]
    if kind == "visible":
        window.send(**message)
    else:
        answer = window.ask(**message)
        html = "".join(answer["regions"].values())
        assert "Traceback" not in html
        assert "This failed unexpectedly" not in html
        assert "<img src=x" not in html
    window.session.work.stop_reading()
    assert window.ask("go", query=ROWS)["title"].startswith("t v3")
    assert {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()} == before


def test_a_look_lists_the_end_of_the_log_and_reads_nothing(folder: Path) -> None:
    """Whatever the length of the log: the cost of a page that is only open."""
    store = FaultyStore(open_store(str(folder), None, None))
    table = explorer.Table(store, read_only=True)
    TableFacts(table)
    store.requests.clear()
    table.refresh()
    assert store.requests == ["list _delta_log"]


def test_what_a_look_raises_by_a_fault_of_ours_is_said_and_logged(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Catalog):
        broken = False

        def facts(self, name: str) -> TableFacts:
            if self.broken:
                raise KeyError("shapes")
            return super().facts(name)

    catalog = Broken([str(folder.parent)])
    window = Window(catalog, ROWS)
    catalog.broken = True
    with caplog.at_level(logging.ERROR, "explorer"):
        assert "KeyError" in noticed(window, "This failed unexpectedly")
    (record,) = [each for each in caplog.records if each.name.startswith("explorer")]
    assert record.getMessage() == f"a check of the table of {ROWS} failed: KeyError: 'shapes'."
    assert record.exc_info is None


def test_what_work_on_a_thread_raises_is_said_and_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    window = opened(folder)
    with caplog.at_level(logging.ERROR, "explorer"):
        window.session.begin(lambda: 1 / 0)
        found = window.until(lambda message: "ZeroDivisionError" in message.get("regions", {}).get("notice", ""))
    assert 'data-do="retry"' in found["regions"]["notice"]
    own = [each for each in caplog.records if each.name.startswith("explorer")]
    assert ROWS in own[0].getMessage()


@pytest.mark.spark
def test_a_job_that_fails_is_shown_in_words_and_logged_with_its_name(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    window = opened(folder, "?t=w/t&tab=data")
    with caplog.at_level(logging.WARNING, "explorer.views"):
        window.ask("rows", where="")
        # Beside it the page warns of the version's lost data, also while it reads.
        found = window.until(lambda message: "A file is missing" in message.get("regions", {}).get("lead", ""), 90)
    assert "Read again" in found["regions"]["lead"] or "Show 100 rows" in found["regions"]["lead"]
    assert "t at version 3" in caplog.text
