"""An audit on a page that checks more than the log: an address restores the choice, and a button runs it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.versions.delta_log import DeltaLog
from explorer.page.address import Address
from explorer.page.entry import OpenEntry
from explorer.page.kept_results import KeptResults
from explorer.report import verify_report
from explorer.rights import Right
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.changing_table import written
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import Elements

QUERY = "?t=w/t&tab=audit&checks="
_HREF = re.compile(r'role="checkbox"[^>]*href="([^"]*)"')


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """``w/t``, of which one live file was deleted behind the log, and one file is in no log."""
    table = tmp_path / "w" / "t"
    written(table)
    live = explorer.open_table(table).snapshot().files(["path"]).column(0).to_pylist()
    (table / live[0]).unlink()
    (table / "left-over.parquet").write_bytes(b"PAR1")
    return Catalog([str(tmp_path / "w")])


def _lead(window: Window) -> str:
    return str(window.session.shown.regions["lead"])


def _ran(window: Window, message: str = "audit-run") -> str:
    window.ask(message)
    window.until(lambda _: "Run again" in _lead(window) or "inline-problem" in _lead(window))
    return _lead(window)


def test_an_address_restores_the_choice_and_reads_nothing(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "verify,files")
    chosen = re.findall(r'aria-checked="(\w+)"[^>]*>([\w ]+)</a>', _lead(window))
    assert chosen == [
        ("true", "stored files"),
        ("true", "log replay"),
        ("false", "Parquet footers"),
        ("false", "rows"),
    ]
    assert "the findings below are from the log alone" in _lead(window)
    assert 'data-do="audit-run"' in _lead(window)
    assert "--files --verify" in _lead(window)
    assert "--rows" not in _lead(window)
    # Each box leads to the address without it, or with it as well.
    links = [Address.parse(unescape(each)).checks for each in _HREF.findall(_lead(window))]
    assert links == ["verify", "files", "files,verify,footers", "files,verify,rows"]


def test_a_check_that_is_not_known_is_named_with_those_that_are(catalog: Catalog) -> None:
    assert Address.parse("?t=w/t&checks=rows, files").checks == "files,rows"
    with pytest.raises(RequestError, match=r"checks=soon is not known\. It can be: files, verify, footers, rows"):
        Address.parse("?t=w/t&checks=soon")
    assert "What to do" in Window(catalog, QUERY + "soon").session.shown.regions["lead"]


def test_a_run_finds_what_the_log_cannot_tell_and_goes_into_the_report(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "files")
    before = Elements(_lead(window)).text
    assert "live file is missing" not in before
    text = Elements(_ran(window)).text
    assert "1 live file is missing" in text
    assert "from the log and the stored files" in text
    window.ask("download", list="report", format="html")
    parts = [each for each in window.heard if each.get("kind") == "file"]
    report = "".join(part["text"] for part in parts)
    assert verify_report(report.encode()).valid
    assert "1 live file is missing" in report
    # Without the choice the findings are those of the log again.
    window.ask("go", query="?t=w/t&tab=audit")
    assert "from the log alone" in _lead(window)


def test_a_chosen_check_that_could_not_be_made_is_named_with_its_reason(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "footers")
    assert 'role="note"' not in _lead(window)
    _ran(window, "audit-rows")
    # The footer of the deleted file; the rules that nobody chose are not named beside it.
    notes = re.findall(r'<div class="inline-problem warning" role="note">(.*?)</div>', _lead(window))
    assert len(notes) == 1
    assert "cannot be read (it is not there)" in notes[0]


def test_nothing_that_is_found_outside_the_log_is_offered_to_a_case(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "files")
    pinned = set(re.findall(r'data-rule="([^"]*)"', _lead(window)))
    assert set(re.findall(r'data-rule="([^"]*)"', _ran(window))) == pinned


def test_a_colleague_opens_the_shared_audit_without_another_reading(catalog: Catalog, tmp_path: Path) -> None:
    mine = Window(catalog, QUERY + "files,verify")
    found = _ran(mine)
    link = mine.ask("audit-share")["query"]
    assert Address.parse(link).result.startswith("audit-")
    (tmp_path / "w" / "t" / "left-over.parquet").unlink()
    theirs = Window(catalog, link)
    assert "kept for others until" in _lead(theirs)
    titles = re.findall(r"<h3>(.*?)</h3>", found)
    assert re.findall(r"<h3>(.*?)</h3>", _lead(theirs)) == titles
    # Another choice is another audit, which nobody ran.
    theirs.ask("go", query=Address.parse(link).to(checks="files"))
    assert "not kept here any more" in _lead(theirs)


def test_a_check_that_reads_nothing_that_was_chosen_says_so(catalog: Catalog) -> None:
    window = Window(catalog, "?t=w/t&tab=audit")
    window.ask("audit-run")
    assert "Choose what to check in addition to the log" in json.dumps(window.heard)


class _Auditor(OpenEntry):
    """Someone who may read reports, and no rows."""

    def may(self, right: Right, shown: object) -> bool:
        return right is not Right.ROWS


def test_who_may_not_read_rows_checks_what_shows_none(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "footers", entry=_Auditor())
    assert "needs the right to read rows" in _lead(window)
    assert "deeper-go" not in _lead(window)
    window.ask("audit-run")
    assert "needs the right to read rows of this table" in json.dumps(window.heard[-3:])
    window.ask("go", query=QUERY + "files")
    assert "missing" in Elements(_ran(window)).text
    assert "audit-share" not in _lead(window)


def test_rows_of_a_table_without_rules_are_checked_without_spark_and_footers_with_them(tmp_path: Path) -> None:
    written(tmp_path / "w" / "t")
    window = Window(Catalog([str(tmp_path / "w")]), QUERY + "rows")
    assert 'data-do="audit-rows"' in _lead(window)
    text = Elements(_ran(window, "audit-rows")).text
    assert "from the log, the rows and the footers" in text


def test_results_of_audits_are_bounded_like_all_that_is_shared(catalog: Catalog) -> None:
    window = Window(catalog, QUERY + "files")
    _ran(window)
    assert isinstance(catalog.kept, KeptResults)
    link = window.ask("audit-share")["query"]
    kept = catalog.kept._kept[Address.parse(link).result]
    assert 1_000 < kept.size < 1_000_000


def test_however_often_a_window_asks_it_reads_once_at_a_time(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cancelled reads on to the end of its step: a button that is pressed again and again must not add up."""
    replayed, going, most, go_on = DeltaLog.verify, 0, 0, threading.Event()
    counting = threading.Lock()

    def slow(log: DeltaLog, *, check_cancelled: Callable[[], None]) -> IntegrityReport:
        nonlocal going, most
        with counting:
            going += 1
            most = max(most, going)
        go_on.wait(30)
        with counting:
            going -= 1
        return replayed(log, check_cancelled=check_cancelled)

    monkeypatch.setattr(DeltaLog, "verify", slow)
    window = Window(catalog, QUERY + "verify")
    for _ in at_least_one(range(5)):
        window.ask("audit-run")
        window.until(lambda _: going > 0)
    waits = "Waiting for what was begun before"
    window.until(lambda _: waits in _lead(window) or going > 1)
    go_on.set()
    window.until(lambda _: "Run again" in _lead(window))
    assert most == 1
