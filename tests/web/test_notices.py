"""The notices on the list of tables: who sees which, who may deal with them, and what is recorded of that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.activity.newest import NewestEntries
from explorer.activity.reading import entries
from explorer.activity.record import ActivityRecord
from explorer.core.errors import RequestError
from explorer.given_roles import GivenRole, resolved_roles
from explorer.notices.book import NoticeBook
from explorer.notices.store import NoticeStore
from explorer.page.host import Identity, KnownBy
from explorer.rights import ROLES, PersonalRights, Right
from explorer.web.notice_board import MOST_SHOWN, NoticeBoard, ServedNotices
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.visible_tables import visible_catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.notices.books import Clock, book_at, notice
from tests.support.pages.open_windows import Window

SECRET = "Geheimnis"
TABLES = {"own": "lake/eu/own", "other": "lake/us/other", "hidden": f"lake/{SECRET}/table"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    for name in TABLES.values():
        created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA]
        small_logs.write_log(root / name, [created])
    return root


@pytest.fixture
def record(tmp_path: Path) -> ActivityRecord:
    return ActivityRecord(tmp_path / "record.jsonl", program="tests/1")


@pytest.fixture
def book(tmp_path: Path, root: Path) -> NoticeBook:
    book = book_at(tmp_path / "notices", Clock())
    for kind, name in TABLES.items():
        mark = SECRET if kind == "hidden" else kind
        book.post(notice(kind, title=f"{mark}-title", text=f"{mark}-text", table=str(root / name), name=name))
    book.post(notice("elsewhere", title="elsewhere-title", table="/elsewhere/orders"))
    book.post(notice("beside", title="beside-title", table=str(root / "lake2" / "orders")))
    return book


class Server:
    """The list of tables with notices, and the windows of its people."""

    def __init__(self, root: Path, book: NoticeBook, record: ActivityRecord, role: str = "") -> None:
        places = [str(root / "lake")]
        self.record = record
        self.catalog = Catalog(
            places, allow_commits=True, record=NewestEntries(record.files), notices=ServedNotices(book)
        )
        given = [
            GivenRole(role, people=("ana",), tables=("lake/eu",)),
            GivenRole("viewer", people=("ana",), tables=("lake/us",)),
            GivenRole("admin", people=("root",)),
        ]
        self.roles = resolved_roles(given, self.catalog.roots) if role else None

    def rights(self, name: str) -> PersonalRights:
        return PersonalRights() if self.roles is None else self.roles.of(name, ())

    def board(self, name: str) -> NoticeBoard:
        board = visible_catalog(self.catalog, self.rights(name)).notices
        assert board is not None
        return board

    def window(self, name: str = "ana", known_by: KnownBy = KnownBy.LOGIN) -> Window:
        rights = self.rights(name)
        visible: Any = visible_catalog(self.catalog, rights)
        identity = Identity("s", name, known_by)
        recorder = Recorder(self.record, identity)
        entry = PersonalEntry(PersonalTables(visible, recorder, rights), recorder)
        window = Window(visible, "", identity=identity, entry=entry)
        return window.settle()


def told(window: Window) -> str:
    return json.dumps([window.heard, window.session.shown.regions], default=str)


def deal(window: Window, book: NoticeBook, key: str, choice: str = "acknowledge", reason: str = "known") -> str:
    before = len(window.heard)
    window.ask("notice", notice=book.find(key).id, choice=choice, reason=reason)
    window.settle()
    return json.dumps(window.heard[before:], default=str)


@pytest.mark.parametrize("role", sorted(ROLES))
def test_no_role_sees_or_deals_with_more_notices_than_its_rights(
    root: Path, book: NoticeBook, record: ActivityRecord, role: str
) -> None:
    server, checked = Server(root, book, record, role), 0
    window = server.window()
    assert SECRET not in told(window)
    assert ("own-title" in told(window), "other-title" in told(window)) == (True, True)
    assert "elsewhere-title" not in told(window)
    assert "beside-title" not in told(window)
    for kind in at_least_one(TABLES):
        allowed = kind == "own" and Right.NOTICES in ROLES[role]
        for choice in at_least_one(("acknowledge", "4 hours")):
            answer = deal(window, book, kind, choice)
            state = book.find(kind).state
            assert state == ("open" if not allowed else {"acknowledge": "acknowledged"}.get(choice, "snoozed"))
            assert SECRET not in answer
            checked += 1
    assert checked == 6
    events = [entry.event for entry in entries(record.files)]
    assert {event.table for event in events if event.kind == "notice"} == (
        {TABLES["own"]} if Right.NOTICES in ROLES[role] else set()
    )
    refused = {event.table for event in events if event.kind == "refusal"}
    assert refused == {TABLES["other"]} | (set() if Right.NOTICES in ROLES[role] else {TABLES["own"]})


def test_an_unknown_and_a_hidden_notice_are_answered_alike(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    board = Server(root, book, record, "admin").board("ana")
    messages = []
    for name in at_least_one((book.find("hidden").id, "0" * 16, "")):
        with pytest.raises(RequestError) as found:
            board.find(name)
        messages.append(str(found.value))
    assert len(set(messages)) == 1


def test_how_messages_are_sent_is_for_those_who_may_see_everything(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    from explorer.notices.channel import ChannelAnswer
    from explorer.notices.sender import Sender

    class Failing:
        name, place = "chat", "https://example.org"

        def send(self, *_: object) -> ChannelAnswer:
            return ChannelAnswer(False, f"{SECRET}.example.org cannot be connected to")

    Sender(book, [Failing()]).send_due()
    server = Server(root, book, record, "admin")
    assert server.board("ana").board().failing == ()
    assert SECRET not in told(server.window())
    assert server.board("root").board().failing[0].channel == "chat"
    assert "is not accepting notices" in told(server.window("root"))


def test_a_person_acknowledges_a_notice_and_the_record_says_so_without_the_reason(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    window = Server(root, book, record).window()
    assert "own-title" in window.session.shown.regions["lead"]
    deal(window, book, "own", reason="the reason of ana")
    assert "own-title" not in window.session.shown.regions["lead"]
    done = book.find("own")
    assert (done.state, done.by, done.reason) == ("acknowledged", "ana", "the reason of ana")
    (event,) = (entry.event for entry in entries(record.files) if entry.event.kind == "notice")
    assert (event.person, event.what, event.table, event.detail) == ("ana", "acknowledge", TABLES["own"], done.id)


def test_what_is_not_complete_is_refused(root: Path, book: NoticeBook, record: ActivityRecord) -> None:
    window = Server(root, book, record).window()
    assert "A reason is missing" in deal(window, book, "own", reason="  ")
    assert "Choose what to do" in deal(window, book, "own", choice="forever")
    assert book.find("own").state == "open"


def test_somebody_whom_the_server_does_not_know_deals_with_nothing(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    window = Server(root, book, record).window("", KnownBy.LOCAL)
    assert 'data-send=\\"notice\\"' not in told(window)
    assert "does not know who you are" in deal(window, book, "own")
    assert book.find("own").state == "open"


def test_while_the_record_cannot_be_written_nothing_is_acknowledged(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    window = Server(root, book, record).window()
    record.files.current.unlink()
    record.files.current.mkdir()
    assert "activity record" in deal(window, book, "own")
    assert book.find("own").state == "open"


def test_notices_that_cannot_be_read_are_said_and_hide_no_table(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    book.store.path.write_bytes(b"no database" * 50)
    shown = Server(root, book, record).window().session.shown.regions["lead"]
    assert "Notices cannot be shown" in shown
    assert "own" in shown


def test_a_hostile_notice_is_text(root: Path, book: NoticeBook, record: ActivityRecord) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    book.post(notice("hostile", title=hostile, text=hostile, table=str(root / TABLES["own"]), severity="error"))
    shown = Server(root, book, record).window().session.shown.regions["lead"]
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>" not in shown
    assert "\u202e" not in shown


def test_many_notices_are_counted_and_not_all_drawn(root: Path, book: NoticeBook, record: ActivityRecord) -> None:
    with book.changes() as changes:
        for number in range(300):
            changes.post(notice(f"many {number}", table=str(root / TABLES["own"])))
    board = Server(root, book, record).board("ana").board()
    assert (len(board.lines), board.more) == (MOST_SHOWN, 300 + 3 - MOST_SHOWN)
    assert "303 open notices" in Server(root, book, record).window().session.shown.regions["lead"]


class CountedStore(NoticeStore):
    """A file of notices that counts how often it is opened to be read."""

    opened = 0

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        self.opened += 1
        with super().reading() as connection:
            yield connection


def test_all_windows_share_one_reading_until_something_is_written(
    root: Path, book: NoticeBook, record: ActivityRecord
) -> None:
    clock, store = Clock(), CountedStore(book.store.path.parent)
    server = Server(root, NoticeBook(store, clock), record, "committer")
    windows = [server.window(name) for name in at_least_one(("ana", "root", "ben", "ana", "root"))]
    read = store.opened
    for _ in range(3):
        for window in windows:
            window.session._look_for_notices()
            window.settle()
    assert store.opened == read, "nothing was written since"
    # Another program posts one, and each window is told.
    book.post(notice("new", title="new-title", text="new-text", table=str(root / TABLES["own"]), name=TABLES["own"]))
    for window in windows:
        window.session._look_for_notices()
        window.settle()
    assert store.opened == read + 2, "the notices, and how messages are sent"
    assert ["new-title" in told(window) for window in windows] == [True, True, False, True, True], "ben has no right"
    # What one window does, the others see with the next look; the time alone ends a snooze.
    deal(windows[0], book, "new", choice="1 hour")
    windows[1].session._look_for_notices()
    assert "new-title" not in windows[1].settle().session.drawing.shown.regions.get("home-notices", "")
    assert "new" not in {line.posted.notice.key for line in server.board("root").board().lines}
    clock.pass_(3 * 3_600)
    assert "new" in {line.posted.notice.key for line in server.board("root").board().lines}


def test_threads_that_ask_at_once_wait_for_one_reading(root: Path, book: NoticeBook, record: ActivityRecord) -> None:
    store = CountedStore(book.store.path.parent)
    board = Server(root, NoticeBook(store, Clock()), record).board("ana")
    with ThreadPoolExecutor(16) as threads:
        shown = list(threads.map(lambda _: board.board(), range(64)))
    assert {len(each.lines) for each in shown} == {3}
    assert store.opened == 2, "the notices, and how messages are sent"


def test_without_notices_the_page_says_nothing_of_them(root: Path) -> None:
    window = Window(Catalog([str(root / "lake")]), "").settle()  # type: ignore[arg-type]
    assert "notice" not in window.session.shown.regions["lead"].replace('id="home-notices"', "")
