"""What people do on the pages is in the record before it is done; while it cannot be, it is not done."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.activity.event import Event
from explorer.activity.newest import NewestEntries
from explorer.activity.reading import check_record, entries
from explorer.activity.record import ActivityRecord
from explorer.activity.writer import RecordWriter
from explorer.page.act.form import ActDesk
from explorer.page.host import Identity, KnownBy
from explorer.page.window import Message
from explorer.views.act.desk.state import Committing, Ready
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.serving.people.password_file import write_user
from tests.support.at_least_one import at_least_one
from tests.support.lines_of_records import lines_once
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window
from tests.support.pages.raw_pages import Pages, served_here

DESCRIBE = "?t=w/orders&tab=act&act=set-description&f.description=Secret+words&step=plan"
ANA = Identity("session-secret", "ana", KnownBy.LOGIN, address="10.0.0.7")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created])
    return tmp_path / "w"


@pytest.fixture
def record(tmp_path: Path) -> ActivityRecord:
    return ActivityRecord(tmp_path / "record.jsonl", program="tests/1")


def opened(root: Path, record: ActivityRecord, query: str) -> Window:
    recorder = Recorder(record, ANA)
    catalog = Catalog([str(root)], allow_commits=True, record=NewestEntries(record.files))
    tables = PersonalTables(catalog, recorder)
    shown: Any = tables if "?t=" in query else catalog
    return Window(shown, query, identity=ANA, entry=PersonalEntry(tables, recorder))


def commit(window: Window) -> None:
    desk = window.session.work.of(ActDesk)
    until(window, lambda: isinstance(desk.state, Ready))
    window.ask("commit", name="orders", reason="Secret reason", digest=desk.state.draft.plan.digest)
    until(window, lambda: not isinstance(desk.state, Committing))
    window.settle()


def until(window: Window, holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        window.turn()


def events(record: ActivityRecord) -> list[Event]:
    assert record.writer.flush(60)
    return [entry.event for entry in reversed(list(entries(record.files)))]


def newest(root: Path) -> int:
    return explorer.open_table(root / "orders").latest_version()


def test_a_commit_is_announced_and_its_outcome_follows(root: Path, record: ActivityRecord) -> None:
    commit(opened(root, record, DESCRIBE).settle())
    assert newest(root) == 1
    plan, begun, ended = events(record)
    assert (plan.kind, plan.what, plan.table, plan.digest) == ("plan", "set-description", "w/orders", begun.digest)
    assert (begun.kind, begun.outcome, begun.version) == ("commit", "begun", 1)
    assert (ended.kind, ended.outcome, ended.version, ended.refers_to) == ("commit", "committed", 1, 2)
    for event in at_least_one([plan, begun, ended]):
        assert (event.person, event.known_by, event.address) == ("ana", "login", "10.0.0.7")
    text = record.files.current.read_text()
    assert "Secret" not in text
    assert "session-secret" not in text
    assert check_record(record.files).problems == []


def test_nothing_is_committed_while_the_record_cannot_be_written(root: Path, record: ActivityRecord) -> None:
    window = opened(root, record, DESCRIBE).settle()
    # A folder in the place of the file: the system refuses every write, also of a privileged user.
    aside = record.files.current.with_suffix(".aside")
    record.files.current.rename(aside)
    record.files.current.mkdir()
    commit(window)
    assert newest(root) == 0
    assert "activity record" in str(window.session.shown.regions)
    record.files.current.rmdir()
    aside.rename(record.files.current)
    window.ask("go", query=DESCRIBE)
    commit(window.settle())
    assert newest(root) == 1
    assert check_record(record.files).problems == []


def test_rows_that_a_tab_opens_are_one_line_however_often_it_is_drawn(root: Path, record: ActivityRecord) -> None:
    window = opened(root, record, "?t=w/orders&tab=data").settle()
    for theme in ("dark", "light"):
        window.ask("theme", theme=theme)
        window.settle()
    window.ask("go", query="?t=w/orders&tab=data&masked=1")
    window.settle()
    assert [(event.kind, event.what, event.version) for event in events(record)] == 2 * [("rows", "data", 0)]


def test_the_loop_goes_on_while_another_program_writes_and_messages_keep_their_order(
    root: Path, record: ActivityRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine takes its time.
    monkeypatch.setattr("explorer.activity.record.PATIENCE", 600)
    record._writer = RecordWriter(record, patience=600)
    window = opened(root, record, "?t=w/orders&tab=overview").settle()
    heard, handled = len(window.heard), list[str]()
    handlers = window.session._handlers

    def noted(kind: str, message: Message) -> None:
        handled.append(kind)
        handlers[kind](message)

    window.session._handlers = {kind: partial(noted, kind) for kind in handlers}
    with record.files.lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        window.send("download", number=2, list="schema", format="json")
        window.send("go", number=3, query="?t=w/orders&tab=files")
        window.number = 3
        # The loop returned at once; what came after the export waits for it, and other windows do not.
        window.settle()
        assert not {2, 3} & {message.get("number") for message in window.heard[heard:]}
        assert not handled
        other = opened(root, record, "?t=w/orders&tab=files").settle()
        assert "Files" in other.session.shown.title
    window.answer()
    window.settle()
    assert handled == ["download", "go"]
    # The work of both is done beside each other, and either may be done first.
    assert {2, 3} <= {message.get("number") for message in window.heard[heard:]}
    assert [event.what for event in events(record)] == ["schema"]


def test_an_export_that_cannot_be_recorded_is_not_made(root: Path, record: ActivityRecord) -> None:
    window = opened(root, record, "?t=w/orders&tab=overview").settle()
    record.files.current.unlink(missing_ok=True)
    record.files.current.mkdir()
    heard = len(window.heard)
    window.ask("download", list="schema", format="json")
    assert "activity record" in str(window.heard[heard:])
    assert not any("schema-" in str(message) for message in window.heard[heard:])
    record.files.current.rmdir()


def test_an_export_is_recorded(root: Path, record: ActivityRecord) -> None:
    window = opened(root, record, "?t=w/orders&tab=overview").settle()
    window.ask("download", list="schema", format="json")
    (event,) = events(record)
    assert (event.kind, event.what, event.table) == ("export", "schema", "w/orders")


def test_the_page_joins_the_record_and_the_logs(root: Path, record: ActivityRecord) -> None:
    commit(opened(root, record, DESCRIBE).settle())
    assert record.writer.flush(60)
    record.add(Event(kind="refusal", outcome="refused", person="<script>alert(1)</script>", what="commit"))
    lead = opened(root, record, "?show=activity").settle().session.shown.regions["lead"]
    assert lead.count("<tr>") == 1 + 3, "the commit is one line, with its reason out of the log"
    assert "Secret reason" in lead
    assert "Receipt" in lead
    assert "<script>" not in lead
    refused = opened(root, record, "?show=activity&kind=refusal").settle().session.shown.regions["lead"]
    assert "Secret reason" not in refused
    assert "1 entry of 3" in refused


@pytest.fixture
def pages(root: Path, tmp_path: Path) -> Iterator[Pages]:
    users = tmp_path / "users.json"
    write_user(users, "ana", "right password")
    with served_here(root, basic_auth=users, activity=tmp_path / "record.jsonl") as pages:
        yield pages


def test_sign_ins_and_failed_ones_are_recorded(pages: Pages, record: ActivityRecord) -> None:
    cookie = pages.signed_in("ana", "right+password")
    pages.ask("/login", "POST", "name=ana&password=wrong", Origin=pages.origin)
    pages.ask("/logout", "POST", "", Origin=pages.origin, Cookie=cookie)
    lines = reversed(lines_once(record.files, 3))
    told = [(event.kind, event.outcome, event.person, event.address) for event in lines]
    assert told == [
        ("sign-in", "done", "ana", "127.0.0.1"),
        ("sign-in", "refused", "ana", "127.0.0.1"),
        ("sign-out", "done", "ana", "127.0.0.1"),
    ]
    assert "password" not in record.files.current.read_text()


def test_a_record_that_was_changed_stops_the_server_at_its_start(root: Path, record: ActivityRecord) -> None:
    record.add(Event(kind="rows"))
    os.truncate(record.files.current, 0)
    with pytest.raises(explorer.core.errors.StorageError, match="does not end as its head says"):
        explorer.web.serve(root, activity=record.files.current, start=False)
