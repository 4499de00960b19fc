"""What is sent when: once, again, not in quiet hours; whatever ends the program, fills the disk, or sets the clock."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer.activity.event import Event
from explorer.core.errors import StorageError
from explorer.core.protocol.times import DayHours
from explorer.notices.book import NoticeBook
from explorer.notices.sender import Sender, SendingRules, deliveries
from explorer.notices.webhook import Webhook
from explorer.variables import WEBHOOK_SECRET_VARIABLE
from tests.support.notices.books import Clock, book_at, notice
from tests.support.notices.receiver import SECRET, Receiver, receiving, status
from tests.support.shared_tables import REPOSITORY


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEBHOOK_SECRET_VARIABLE, SECRET)


def now_clock() -> Clock:
    """The verifier of a receiver takes times of the present alone."""
    return Clock(time.time_ns() // 1_000_000)


def sender_to(receiver: Receiver, book: NoticeBook, told: list[Event] | None = None, **rules: Any) -> Sender:
    tell = (lambda _: None) if told is None else told.append
    return Sender(book, [Webhook("chat", receiver.url)], SendingRules(**rules), tell, chance=lambda: 0.5)


def titles(body: bytes) -> list[str]:
    return [each["title"] for each in json.loads(body)["data"]["notices"]]


def test_a_key_is_sent_once_and_what_is_over_is_sent_too(tmp_path: Path) -> None:
    clock, told = now_clock(), list[Event]()
    book = book_at(tmp_path, clock)
    with receiving() as receiver:
        sender = sender_to(receiver, book, told)
        assert book.post(notice())
        assert not book.post(notice(title="the same again"))
        assert (sender.send_due(), sender.send_due()) == (1, 0)
        clock.pass_(1)
        assert book.resolve(notice(title="it is over"))
        assert not book.resolve(notice(title="it is over"))
        assert sender.send_due() == 1
        states = [json.loads(body)["data"]["notices"][0]["state"] for _, body in receiver.got]
    assert states == ["open", "resolved"]
    assert [(event.kind, event.what, event.outcome) for event in told] == [("notice", "sent", "done")] * 2
    # What comes again after that is new.
    assert book.post(notice())


def test_what_is_acknowledged_is_not_sent(tmp_path: Path) -> None:
    book = book_at(tmp_path, now_clock())
    with receiving() as receiver:
        book.post(notice())
        done = book.acknowledge(notice().key, by="ana", reason="known")
        assert (done.state, done.by, done.reason) == ("acknowledged", "ana", "known")
        assert not book.post(notice())
        assert sender_to(receiver, book, remind=1).send_due() == 0


def test_a_message_is_tried_again_after_longer_and_longer_waits_with_one_id_and_one_body(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    with receiving(status(500), status(500), status(500)) as receiver:
        sender = sender_to(receiver, book)
        book.post(notice())
        waits = []
        for _ in range(3):
            assert sender.send_due() == 1
            (line,) = deliveries(book)
            assert (line.status, line.due is not None) == ("waiting", True)
            assert line.due is not None
            due = datetime.fromisoformat(line.due).timestamp() * 1000
            waits.append(due - clock.now)
            assert sender.send_due() == 0, "not before it is due"
            clock.now = round(due) + 1000
        assert sender.send_due() == 1
        assert deliveries(book)[0].status == "sent"
        assert len(set(receiver.ids())) == 1
        assert len({body for _, body in receiver.got}) == 1
    assert waits == sorted(waits)
    assert waits[-1] > 10 * waits[0]


def test_waits_differ_between_senders(tmp_path: Path) -> None:
    waits = set()
    for number, chance in enumerate((0.0, 0.5, 1.0)):
        clock = now_clock()
        book = book_at(tmp_path / str(number), clock)
        with receiving(status(500), status(500)) as receiver:
            sender = Sender(book, [Webhook("chat", receiver.url)], chance=lambda chance=chance: chance)
            book.post(notice())
            sender.send_due()
            clock.pass_(60)
            sender.send_due()
        due = deliveries(book)[0].due
        assert due is not None
        waits.add(round(datetime.fromisoformat(due).timestamp() - clock.now / 1000))
    assert len(waits) == 3


def test_a_receiver_that_asks_to_wait_is_left_alone_also_with_what_is_new(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    with receiving(status(429, retry_after="600"), at_any_time=True) as receiver:
        sender = sender_to(receiver, book)
        book.post(notice())
        assert sender.send_due() == 1
        book.post(notice("another"))
        for _ in range(9):
            clock.pass_(60)
            assert sender.send_due() == 0
        clock.pass_(90)
        assert sender.send_due() == 2


def test_a_message_is_given_up_and_that_is_said_and_recorded(tmp_path: Path) -> None:
    clock, told = now_clock(), list[Event]()
    book = book_at(tmp_path, clock)
    with receiving(*(status(500) for _ in range(9))) as receiver:
        sender = sender_to(receiver, book, told, tries=3)
        book.post(notice())
        for _ in range(6):
            sender.send_due()
            clock.pass_(80)
        assert len(receiver.got) == 3
    (line,) = deliveries(book)
    assert (line.status, line.tries, line.due) == ("given up", 3, None)
    assert "answered 500" in line.answer
    (event,) = told
    assert (event.outcome, event.what, event.table) == ("failed", "given up", "lake/orders")
    assert book.notices()[0].state == "open", "it is still on the page"


def test_a_receiver_that_is_gone_is_not_tried_again(tmp_path: Path) -> None:
    book = book_at(tmp_path, now_clock())
    with receiving(status(410)) as receiver:
        book.post(notice())
        sender_to(receiver, book).send_due()
    assert deliveries(book)[0].status == "given up"


def test_a_failing_channel_keeps_nothing_from_another_one(tmp_path: Path) -> None:
    book = book_at(tmp_path, now_clock())
    with receiving(status(500)) as failing, receiving() as working:
        book.post(notice())
        channels = [Webhook("a", failing.url), Webhook("b", working.url)]
        assert Sender(book, channels).send_due() == 2
    assert [(line.channel, line.status) for line in deliveries(book)] == [("a", "waiting"), ("b", "sent")]


# --- hours, snoozes, reminders

NIGHT = DayHours.read("22:00-07:00", "Europe/Berlin")


def test_quiet_hours_hold_notices_back_and_end_with_one_digest(tmp_path: Path) -> None:
    clock = Clock(round(datetime(2026, 5, 28, 21, 0, tzinfo=UTC).timestamp() * 1000))  # 23:00 in Berlin
    book = book_at(tmp_path, clock)
    with receiving(at_any_time=True) as receiver:
        sender = sender_to(receiver, book, quiet=NIGHT)
        book.post(notice("first", title="first"))
        book.post(notice("second", title="second"))
        book.post(notice("third", title="third"))
        book.acknowledge("third", by="ana", reason="I am awake")
        book.post(notice("urgent", title="urgent", severity="error"))
        assert sender.send_due() == 1, "what is urgent passes"
        clock.pass_(7 * 3600)
        book.resolve(notice("second", title="second is over"))
        assert sender.send_due() == 0, "06:00 in Berlin"
        clock.pass_(3600)
        assert sender.send_due() == 1
        assert sender.send_due() == 0
    assert [titles(body) for _, body in receiver.got] == [["urgent"], ["first", "second is over"]]
    assert [json.loads(body)["data"]["digest"] for _, body in receiver.got] == [False, True]


def test_a_snooze_ends_and_the_notice_is_sent_again(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    with receiving() as receiver:
        sender = sender_to(receiver, book)
        book.post(notice())
        sender.send_due()
        ends = datetime.fromtimestamp(clock.now / 1000 + 60, UTC)
        done = book.snooze(notice().key, ends, by="ana", reason="after lunch")
        assert (done.state, done.reason) == ("snoozed", "after lunch")
        clock.pass_(30)
        assert sender.send_due() == 0
        clock.pass_(31)
        assert sender.send_due() == 1
        assert book.notices()[0].state == "open"
        assert book.notices()[0].reason == "after lunch"
    assert len(set(receiver.ids())) == 2


def test_what_nobody_acknowledged_is_sent_again_if_that_is_set(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    with receiving() as receiver:
        sender = sender_to(receiver, book, remind=60_000)
        book.post(notice())
        sent = 0
        for _ in range(10):
            sent += sender.send_due()
            clock.pass_(20)
        assert sent == 4
        book.acknowledge(notice().key, by="ana", reason="seen")
        clock.pass_(100)
        assert sender.send_due() == 0


def test_a_channel_that_is_new_is_told_what_is_open_and_not_what_was_over_before(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    book.post(notice("over"))
    book.resolve(notice("over"))
    book.post(notice("open", title="open"))
    clock.pass_(1)
    with receiving() as receiver:
        assert sender_to(receiver, book).send_due() == 1
    assert titles(receiver.got[0][1]) == ["open"]


# --- clocks, disks, and ends of programs


def test_a_clock_that_went_back_puts_nothing_off(tmp_path: Path) -> None:
    clock = now_clock()
    book = book_at(tmp_path, clock)
    clock.pass_(200)
    with receiving(status(500), status(500)) as receiver:
        sender = sender_to(receiver, book)
        book.post(notice())
        assert sender.send_due() == 1
        clock.pass_(-300)
        assert sender.send_due() == 1, "due was in a future that was none"
        assert sender.send_due() == 0
        clock.pass_(60)
        assert sender.send_due() == 1
        book.post(notice("another"))
        assert sender.send_due() == 1
    assert deliveries(book)[0].status == "sent"


_SENDING = """
import sys
from explorer.notices.book import NoticeBook
from explorer.notices.sender import Sender
from explorer.notices.store import NoticeStore
from explorer.notices.webhook import Webhook
book = NoticeBook(NoticeStore(sys.argv[1]))
print(Sender(book, [Webhook("chat", sys.argv[2])]).send_due())
"""


def test_a_program_that_is_killed_in_the_midst_of_sending_loses_nothing_and_repeats_one_message(tmp_path: Path) -> None:
    book = book_at(tmp_path, now_clock())
    for number in range(3):
        book.post(notice(f"key {number}", title=f"notice {number}"))

    def killed_there(handler: Any) -> None:
        os.kill(program.pid, signal.SIGKILL)
        program.wait()

    with receiving(killed_there) as receiver:
        command = [sys.executable, "-c", _SENDING, str(tmp_path), receiver.url]
        program = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE)
        receiver.wait(1)
        assert program.wait() == -signal.SIGKILL
        assert program.stdout is not None
        program.stdout.close()
        again = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        assert again.stdout.strip() == "1"
        assert subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip() == "0"
    assert len(receiver.got) == 2
    assert len(set(receiver.ids())) == 1, "the receiver knows the message by its ID"
    assert receiver.got[0][1] == receiver.got[1][1]
    assert len(titles(receiver.got[0][1])) == 3


def test_one_program_sends_at_a_time(tmp_path: Path) -> None:
    book, other = book_at(tmp_path, now_clock()), book_at(tmp_path, now_clock())
    book.post(notice())
    with receiving() as receiver:
        with other.store.sending() as mine:
            assert mine
            assert sender_to(receiver, book).send_due() == 0
        assert sender_to(receiver, book).send_due() == 1


_FULL = """
import resource, sys
from explorer.core.errors import StorageError
from tests.support.notices.books import book_at, notice
from pathlib import Path
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
book = book_at(folder)
book.post(notice("first"))
size = book.store.path.stat().st_size
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
posted = 1
try:
    for number in range(1000):
        book.post(notice(f"key {number}", text="x" * 3000))
        posted += 1
except StorageError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert len(book.notices()) == posted < 1000, posted
assert book.post(notice("after"))
assert not book.post(notice("first"))
print(len(book.notices()) - posted)
"""


def test_a_full_disk_posts_nothing_by_half_and_is_said(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    said, after = result.stdout.splitlines()
    assert "cannot be written" in said
    assert "Make room" in said
    assert after == "1"


_FULL_AFTERWARDS = """
import resource, signal, sys
from pathlib import Path
from explorer.core.errors import StorageError
from explorer.notices.sender import Sender
from explorer.notices.webhook import Webhook
from tests.support.notices.books import book_at, notice
from time import time_ns
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

class FullAfterwards(Webhook):
    def send(self, *arguments):
        answer = super().send(*arguments)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        return answer

book = book_at(Path(sys.argv[1]), lambda: time_ns() // 1_000_000)
book.post(notice())
sender, failed = Sender(book, [FullAfterwards("chat", sys.argv[2])]), 0
for _ in range(3):
    try:
        sender.send_due()
    except StorageError:
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(failed, sender.send_due(), sender.send_due())
"""


def test_what_was_sent_is_not_sent_again_and_again_while_the_disk_is_full(tmp_path: Path) -> None:
    with receiving() as receiver:
        command = [sys.executable, "-c", _FULL_AFTERWARDS, str(tmp_path), receiver.url]
        result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["3", "0", "0"]
    assert len(receiver.got) == 1


def test_the_outbox_is_for_its_owner_alone(tmp_path: Path) -> None:
    book = book_at(tmp_path / "notices")
    book.post(notice())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "notices").iterdir()}
    assert modes == {"notices.sqlite": 0o600}
    assert stat.S_IMODE((tmp_path / "notices").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content", [b"no database at all, and longer than a header" * 9, b"SQLite format 3\0" + b"\1" * 200]
)
def test_a_damaged_outbox_is_named_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    book = book_at(tmp_path)
    book.store.path.write_bytes(content)
    with pytest.raises(StorageError, match=r"Restore it from a backup|Make room"):
        book.post(notice())
    with pytest.raises(StorageError):
        book.notices()
    assert book.store.path.read_bytes() == content


def test_a_running_sender_sends_what_is_posted_and_ends(tmp_path: Path) -> None:
    book = book_at(tmp_path, now_clock())
    with receiving() as receiver:
        sender = sender_to(receiver, book)
        sender.begin()
        book.post(notice())
        receiver.wait(1)
        sender.end()
        sender.end()
    assert len(receiver.got) == 1
