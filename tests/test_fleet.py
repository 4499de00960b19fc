"""Many tables: each answers by itself, a broken one stops no other, and what is done is not done again."""

import json
import os
import shutil
import threading
import time
from datetime import datetime, timedelta
from multiprocessing import active_children
from pathlib import Path

import pytest

import explorer
from explorer.auditing.options import AuditOptions
from explorer.core.errors import RequestError
from explorer.fleet import TableAudit, audits
from explorer.fleet.one_table import state_of
from explorer.fleet.processes import pooled
from explorer.storage.served_root import ServedRoot
from explorer.table import open_table
from tests.support.comparison.audited_tables import DAY, NOW, ago
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL

CREATED = [PROTOCOL, METADATA]


def _tables(root: Path, count: int) -> list[Path]:
    return [small_logs.write_log(root / f"t{number:02}", [CREATED]) for number in range(count)]


def test_tables_are_ranked_the_worst_first(tmp_path: Path, demo_warehouse: Path) -> None:
    empty = tmp_path / "nothing"
    empty.mkdir()
    seen: list[TableAudit] = []
    found = explorer.audit([demo_warehouse, empty], each=seen.append)
    rows = found.to_pylist()
    assert len(rows) == len(seen) == 7
    assert (rows[0]["table"], rows[0]["error"]) == (str(empty), "TableNotFound")
    assert (rows[1]["errors"], rows[1]["findings"]) == (1, ["unreadable-log"])
    assert rows[1]["table"].endswith("sensors-damaged")
    counts = [(row["errors"], row["warnings"], row["notes"]) for row in rows[1:]]
    assert counts == sorted(counts, reverse=True)


def test_a_document_is_that_of_the_table_alone(demo_warehouse: Path) -> None:
    from explorer.auditing.document import audit_document

    table = explorer.open_table(demo_warehouse / "sales" / "orders")
    (found,) = audits([demo_warehouse / "sales" / "orders"], now=NOW)
    assert found.document == audit_document(table.audit(NOW), table.location)


def test_processes_answer_as_one_does_and_a_broken_table_stops_none(tmp_path: Path) -> None:
    _tables(tmp_path, 17)
    (tmp_path / "zz" / "_delta_log").mkdir(parents=True)
    one = {each.location: each for each in audits([tmp_path], processes=1, now=NOW)}
    many = {each.location: each for each in audits([tmp_path], processes=2, now=NOW)}
    assert len(one) == 18
    assert {name: each.document for name, each in one.items()} == {name: each.document for name, each in many.items()}
    errors = {name: type(each.error).__name__ for name, each in many.items() if each.error is not None}
    assert errors == {str(tmp_path / "zz"): "TableNotFound"}


def _dies_on_three(place: ServedRoot) -> TableAudit:
    if place.place.endswith("3"):
        os._exit(9)
    return TableAudit(place.place)


@pytest.mark.parametrize("folder", ["", "s3://bucket/"])
def test_a_table_that_ends_its_process_is_named_and_the_others_are_done(folder: str) -> None:
    given = [f"{folder}{number}" for number in range(6)]
    found = list(pooled(iter(map(ServedRoot, given)), _dies_on_three, 1))
    assert sorted(each.location for each in found) == given
    (failed,) = (each for each in found if each.error is not None)
    assert failed.location == f"{folder}3"
    assert failed.error is not None
    assert "ended" in failed.error.message


_FOUR = threading.Barrier(4)


def _waits_for_three_others(place: ServedRoot) -> TableAudit:
    _FOUR.wait(60)
    return TableAudit(place.place)


def test_a_process_reads_tables_of_a_store_several_at_a_time() -> None:
    given = [f"s3://bucket/{number}" for number in range(8)]
    found = pooled(iter(map(ServedRoot, given)), _waits_for_three_others, 1)
    assert sorted(each.location for each in found) == given


def _takes_long_but_for_one(place: ServedRoot) -> TableAudit:
    if place.place != "0":
        time.sleep(120)
    return TableAudit(place.place)


def test_an_audit_that_nobody_goes_on_with_ends_its_processes_whatever_they_read() -> None:
    before = {process.pid for process in active_children()}
    found = pooled(iter(map(ServedRoot, map(str, range(9)))), _takes_long_but_for_one, 2)
    assert next(found).location == "0"
    started = {process.pid for process in active_children()} - before
    assert len(started) == 2
    found.close()  # type: ignore[attr-defined]
    until = time.monotonic() + 30
    while (left := started & {process.pid for process in active_children()}) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == set()


def test_a_table_at_the_same_version_is_not_read_again(tmp_path: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "done.jsonl"
    same, grown = _tables(root, 2)
    small_logs.write_log(same, [[small_logs.add("b.parquet")]], 1)
    first = {each.location: each.document for each in audits([root], resume=record, now=NOW)}
    # What is not read may be broken without anybody noticing.
    (same / "_delta_log" / f"{0:020}.json").write_text("x")
    small_logs.write_log(grown, [[small_logs.add("a.parquet")]], 1)
    again = {each.location: each for each in audits([root], resume=record, now=NOW)}
    assert (again[str(same)].known, again[str(same)].document) == (True, first[str(same)])
    newer = again[str(grown)].document
    assert newer is not None
    assert (again[str(grown)].known, newer.version) == (False, 1)
    options = AuditOptions(check_files=True)
    assert not any(each.known for each in audits([root], resume=record, options=options, now=NOW))


def test_another_table_in_the_same_place_is_audited_and_so_is_one_with_other_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,), record = _tables(tmp_path / "root", 1), tmp_path / "done.jsonl"

    def known() -> bool:
        (found,) = audits([table], resume=record, now=NOW)
        assert found.error is None
        return found.known

    assert [known(), known()] == [False, True]
    shutil.rmtree(table)
    small_logs.write_log(table, [[small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("other.parquet")]])
    assert [known(), known()] == [False, True]
    clients = tmp_path / "clients.toml"
    clients.write_text('[[client]]\nname = "deltalake"\nversion = "0.15.1"\n', encoding="utf-8")
    monkeypatch.setenv("DELTA_EXPLORER_CLIENTS", str(clients))
    assert [known(), known()] == [False, True]


def test_a_table_whose_newest_commit_was_cleaned_up_is_known_by_its_id(tmp_path: Path) -> None:
    (table,) = _tables(tmp_path, 1)
    opened = open_table(table)
    opened.commit(opened.plan({"kind": "checkpoint"}))
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert state_of(open_table(table)) == f"0 {opened.snapshot().metadata.id}"


def test_on_another_day_what_depends_on_the_day_is_judged_again(tmp_path: Path) -> None:
    table, record = tmp_path / "t", tmp_path / "done.jsonl"
    gone = small_logs.remove("a.parquet", deletion_timestamp=ago(6 * DAY))
    created = [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a.parquet")]
    small_logs.write_log(table, [created, [gone], [small_logs.add("b.parquet")]])

    def at_risk(now: datetime) -> tuple[bool, bool]:
        (found,) = audits([table], resume=record, now=now)
        assert found.document is not None
        return found.known, "versions-at-risk" in {each.id for each in found.document.findings}

    # Seven days after its removal a vacuum takes the file; two days before that is said.
    week_before = NOW - timedelta(days=5)
    assert at_risk(week_before) == (False, False)
    assert at_risk(week_before + timedelta(hours=3)) == (True, False)
    assert at_risk(NOW) == (False, True)
    assert record.read_bytes().count(b"\n") == 1, "lines of earlier days count for nobody"
    assert at_risk(NOW - timedelta(days=1)) == (False, True)
    assert record.read_bytes().count(b"\n") == 2


def test_a_record_that_was_cut_off_goes_on_and_another_file_is_refused(tmp_path: Path) -> None:
    root, record = tmp_path / "root", tmp_path / "done.jsonl"
    _tables(root, 2)
    assert len(list(audits([root], resume=record))) == 2
    whole = record.read_bytes()
    record.write_bytes(whole[:-20])
    assert sorted(each.known for each in audits([root], resume=record)) == [False, True]
    assert record.read_bytes().count(b"\n") == 2
    record.write_text('{"a": 1}\n')
    with pytest.raises(RequestError, match=r"Line 1 of .*done\.jsonl"):
        next(audits([root], resume=record))


def test_no_error_holds_a_secret(tmp_path: Path) -> None:
    place = tmp_path / "k3y-of-a-store"
    (place / "_delta_log").mkdir(parents=True)
    (found,) = audits([place], {"aws_secret_access_key": "k3y-of-a-store"})
    assert found.error is not None
    text = json.dumps(found.error.facts())
    assert ("k3y-of-a-store" in text, "***" in text) == (False, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    _tables(tmp_path, 1)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    found = {each.location: each.error for each in audits([tmp_path])}
    assert {name: type(error).__name__ for name, error in found.items() if error is not None} == {
        str(closed): "StorageError"
    }


def test_a_link_that_leads_back_is_followed_once(tmp_path: Path) -> None:
    _tables(tmp_path, 1)
    (tmp_path / "again").symlink_to(tmp_path)
    assert [each.location for each in audits([tmp_path])] == [str(tmp_path / "t00")]


@pytest.mark.whole("tests/storage/test_silent_stores.py")
def test_a_place_of_two_servers_that_do_not_answer_is_two_errors() -> None:
    """One address may be of two servers, and neither hides the other."""
    options = {"aws_allow_http": "true", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    roots = [
        ServedRoot("s3://lake/shop", storage_options={**options, "aws_endpoint": f"http://127.0.0.1:{port}"})
        for port in (1, 2)
    ]
    assert [each.location for each in audits([*roots, roots[0]], processes=1)] == ["s3://lake/shop"] * 2
