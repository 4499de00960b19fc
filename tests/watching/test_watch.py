"""Rounds over real logs: what is new, what is over, what cannot be read, and what clients can no longer do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from explorer.auditing.tripwires.records import read_tripwires
from explorer.catalogs.folders import served_roots
from explorer.notices.book import NoticeBook
from explorer.notices.webhook import PREFIX
from explorer.variables import CLIENTS_VARIABLE
from explorer.watching.watch import Watch
from tests.support.comparison.audited_tables import DAY, committed, timed_log
from tests.support.logs import small_logs
from tests.support.notices.books import book_at
from tests.support.notices.receiver import SECRET, receiving
from tests.support.shared_tables import REPOSITORY

RULES = """
[[tripwire]]
name = "many rows gone"
when = "rows-removed"
share = 0.2
severity = "error"

[[tripwire]]
name = "late"
when = "silence"
longer = "20 days"
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    loads = [committed(10 * DAY), *(small_logs.add(f"{n}.parquet", 100) for n in range(4))]
    small_logs.write_log(tmp_path / "lake" / "orders", timed_log([loads]))
    small_logs.write_log(tmp_path / "lake" / "items", timed_log([loads]))
    return tmp_path / "lake"


@pytest.fixture
def book(tmp_path: Path) -> NoticeBook:
    import time

    return book_at(tmp_path / "notices", lambda: time.time_ns() // 1_000_000)  # type: ignore[arg-type]


def watch_of(lake: Path, book: NoticeBook) -> Watch:
    return Watch(served_roots([str(lake)]), read_tripwires(RULES, "rules"), book, "https://example.org/lake/")


def lose(table: Path, version: int, name: str, before: int = DAY) -> None:
    small_logs.write_log(table, [[committed(before, "DELETE", "ben"), small_logs.remove(name)]], version)


def titles(book: NoticeBook, *, everything: bool = False) -> list[str]:
    return [each.notice.title for each in book.notices(everything=everything)]


def test_what_is_new_is_told_once_and_what_was_before_is_not(lake: Path, book: NoticeBook) -> None:
    lose(lake / "orders", 2, "0.parquet")
    assert watch_of(lake, book).look().tables == 2
    assert titles(book) == []
    lose(lake / "orders", 3, "1.parquet")
    assert [watch_of(lake, book).look().posted for _ in range(2)] == [1, 0]
    (posted,) = book.notices()
    notice = posted.notice
    assert (notice.title, notice.severity, notice.version) == ("lake/orders: many rows gone, v3", "error", 3)
    assert notice.text == "v3 by ben: 100 rows removed, 33.3 % of them."
    assert notice.address == "https://example.org/lake/?t=lake/orders&v=3"
    assert notice.table == str(lake / "orders")


def test_a_table_that_cannot_be_read_is_a_notice_and_not_the_end(lake: Path, book: NoticeBook) -> None:
    watch_of(lake, book).look()
    whole = (lake / "orders" / "_delta_log" / f"{1:020}.json").read_bytes()
    (lake / "orders" / "_delta_log" / f"{1:020}.json").write_bytes(b"{")
    lose(lake / "orders", 2, "0.parquet")
    lose(lake / "items", 2, "0.parquet")
    done = watch_of(lake, book).look()
    assert (done.tables, done.unreadable, done.posted) == (2, 1, 2)
    assert titles(book) == ["lake/orders: cannot be read", "lake/items: many rows gone, v2"] or set(titles(book)) == {
        "lake/orders: cannot be read", "lake/items: many rows gone, v2"
    }  # fmt: skip
    assert watch_of(lake, book).look().posted == 0
    (lake / "orders" / "_delta_log" / f"{1:020}.json").write_bytes(whole)
    assert watch_of(lake, book).look().posted == 1, "what happened meanwhile is told then"
    assert set(titles(book)) == {"lake/orders: many rows gone, v2", "lake/items: many rows gone, v2"}
    assert "lake/orders: can be read again" in titles(book, everything=True)


def test_a_silence_is_over_with_the_next_commit(lake: Path, book: NoticeBook) -> None:
    shutil.rmtree(lake / "orders")
    loads = [committed(30 * DAY), *(small_logs.add(f"{n}.parquet", 100) for n in range(4))]
    small_logs.write_log(lake / "orders", timed_log([loads]))
    watch_of(lake, book).look()
    assert titles(book) == ["lake/orders: late, v1"]
    small_logs.write_log(lake / "orders", [[committed(1), small_logs.add("4.parquet", 100)]], 2)
    watch_of(lake, book).look()
    assert titles(book) == []
    assert titles(book, everything=True) == ["lake/orders: late: commits have resumed"]


def test_a_log_that_went_back_and_a_table_that_is_gone_are_told(lake: Path, book: NoticeBook) -> None:
    lose(lake / "orders", 2, "0.parquet")
    watch_of(lake, book).look()
    (lake / "orders" / "_delta_log" / f"{2:020}.json").unlink()
    assert [watch_of(lake, book).look().posted for _ in range(2)] == [1, 0]
    assert titles(book) == ["lake/orders: its log ends at v1, but v2 was there before"]
    shutil.move(lake / "items", lake.parent / "elsewhere")
    assert [watch_of(lake, book).look().posted for _ in range(2)] == [1, 0]
    assert "lake/items: is gone" in titles(book)
    shutil.move(lake.parent / "elsewhere", lake / "items")
    watch_of(lake, book).look()
    assert "lake/items: is gone" not in titles(book)


def test_a_client_that_loses_a_table_and_one_that_has_it_again_are_told(
    lake: Path, book: NoticeBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = tmp_path / "clients.toml"
    clients.write_text('[[client]]\nname = "delta-spark"\nversion = "0.8.0"\nrole = "reader"\n')
    monkeypatch.setenv(CLIENTS_VARIABLE, str(clients))
    watch_of(lake, book).look()
    assert titles(book) == []
    raised = [committed(1, "UPGRADE PROTOCOL"), small_logs.MASKED]
    small_logs.write_log(lake / "orders", [raised], 2)
    assert [watch_of(lake, book).look().posted for _ in range(2)] == [1, 0]
    (posted,) = book.notices()
    assert posted.notice.title == "lake/orders: delta-spark 0.8.0 can no longer read it"
    assert posted.notice.text.startswith("At v1 it could; at v2 it refuses.")
    assert (posted.notice.kind, posted.notice.severity) == ("verdict", "error")
    small_logs.write_log(lake / "orders", [[committed(1, "DROP FEATURE"), small_logs.PROTOCOL]], 3)
    watch_of(lake, book).look()
    assert titles(book) == []
    (over,) = book.notices(everything=True)
    assert over.notice.title == "lake/orders: delta-spark 0.8.0 can read it again"


def test_what_cannot_be_written_is_seen_again(lake: Path, book: NoticeBook) -> None:
    """A round whose notices are not on the disk has not seen anything."""
    watch_of(lake, book).look()
    lose(lake / "orders", 2, "0.parquet")
    kept = book.store.path.read_bytes()
    watch_of(lake, book).look()
    book.store.path.write_bytes(kept)
    assert titles(book) == []
    assert watch_of(lake, book).look().posted == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_sends_what_is_new_and_ends_when_it_is_told(lake: Path, tmp_path: Path, number: int) -> None:
    rules, secret = tmp_path / "rules.toml", tmp_path / "secret"
    rules.write_text(RULES)
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with receiving() as receiver:
        configuration = tmp_path / "explorer.toml"
        configuration.write_text(
            f'[notices]\nfolder = "notices"\nrules = "rules.toml"\n'
            f'[[roots]]\nplace = "{lake}"\n'
            f'[[webhooks]]\nname = "chat"\nurl = "{receiver.url}"\nsecret_file = "secret"\n'
        )
        program = subprocess.Popen(
            [sys.executable, "-m", "explorer.cli", "tripwires", "--watch", "--every", "1 second", "--json",
             "--config", str(configuration)],
            cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("DELTA_")},
        )  # fmt: skip
        assert program.stdout is not None
        assert json.loads(program.stdout.readline()) == {"tables": 2, "unreadable": 0, "posted": 0}
        lose(lake / "orders", 2, "0.parquet")
        receiver.wait(1)
        program.send_signal(number)
        _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (0, "")
    (sent,) = json.loads(receiver.got[0][1])["data"]["notices"]
    assert sent["title"] == "lake/orders: many rows gone, v2"
    assert len(receiver.got) == 1
    assert PREFIX not in err


def test_a_round_that_is_stopped_ends(lake: Path, book: NoticeBook) -> None:
    watch = watch_of(lake, book)
    watch.stop()
    began = book.clock()
    watch.run(timedelta(hours=1))
    assert book.clock() - began < 600_000
