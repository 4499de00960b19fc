"""The work of an audit that checks more than the log: a cancel ends what it reads, not only what it shows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import explorer
from explorer.auditing.erasure.stored_files import stored_files
from explorer.core.errors import Cancelled
from explorer.storage.locate import open_store
from explorer.views.audit_work import AuditWork, audit_checks
from explorer.views.table.facts import TableFacts
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, write_log

_COMMITS = 600


def _folder(tmp_path: Path) -> Path:
    commits = [(commit_info("WRITE"), add(f"{version}.parquet")) for version in range(_COMMITS)]
    return write_log(tmp_path / "t", [(commit_info("CREATE TABLE"), PROTOCOL, METADATA), *commits])


@pytest.mark.parametrize("check", ["verify", "footers"])
def test_a_cancel_ends_the_reading_within_a_few_requests(tmp_path: Path, check: str) -> None:
    store = FaultyStore(open_store(_folder(tmp_path)))
    facts = TableFacts(explorer.Table(store))
    facts.snapshot(facts.last).files(["path"])
    before, work = len(store.requests), AuditWork(lambda: None)
    cancelled_at: list[int] = []

    def cancel(number: int) -> None:
        if number == before + 20:
            work.cancel()
            cancelled_at.append(number)

    store.between = cancel
    work.start(facts, audit_checks(check))
    for thread in threading.enumerate():
        if thread.name.startswith(("explorer-job", "job-begin")):
            thread.join(30)
    for thread in threading.enumerate():
        if thread.name.startswith("explorer-job"):
            thread.join(30)
    assert work.state(facts, audit_checks(check)).state == "cancelled"
    assert cancelled_at == [before + 20]
    # Several files are read at a time, and a busy machine lets their threads go on for a while.
    assert len(store.requests) - before < _COMMITS // 2


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_listing_of_files_ends_at_the_file_at_which_it_is_cancelled(tmp_path: Path, *, on_disk: bool) -> None:
    store = open_store(_folder(tmp_path) if on_disk else f"memory://cancelled-{tmp_path.name}/t")
    if not on_disk:
        for name in map(str, range(_COMMITS)):
            store.put_if_absent(name, b"1")
    seen: list[int] = []

    def check() -> None:
        seen.append(1)
        if len(seen) == 5:
            raise Cancelled("Enough.", operation="list")

    with pytest.raises(Cancelled, match="Enough"):
        store.list_files(check)
    assert len(seen) == 5


def test_the_folder_of_an_erasure_is_listed_no_further_than_its_cancel(tmp_path: Path) -> None:
    table = explorer.open_table(_folder(tmp_path))
    table.history()

    def check() -> None:
        raise Cancelled("Enough.", operation="search")

    with pytest.raises(Cancelled, match="Enough"):
        stored_files(table, 0, check)
