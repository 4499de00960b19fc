"""Two people and a file of rows: what a second person approved is what its file contained, byte for byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.transaction.commit_plan import CommitResult
from explorer.spark.writes import incoming
from tests.approvals.conftest import TARGET, Office
from tests.approvals.conftest import office as office  # noqa: PLC0414  # a fixture
from tests.support.at_least_one import at_least_one

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]


def parquet(path: Path, amount: int) -> None:
    """Write three rows; files of two amounts have the same size."""
    rows = pa.table({"id": pa.array([7, 8, 9], pa.int64()), "amount": pa.array([amount] * 3, pa.int64())})
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_statistics=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    parquet(tmp_path / "rows.parquet", 1)
    return tmp_path / "rows.parquet"


def append(source: Path) -> dict[str, Any]:
    return {"kind": "append", "source": str(source)}


def in_place(source: Path) -> None:
    """Write other rows into the file, of the same number and size, and set its time back."""
    status, size = source.stat(), source.stat().st_size
    parquet(source, 9)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert source.stat().st_size == size


def by_link(source: Path) -> None:
    """Let the name of the file be a link to another one."""
    parquet(other := source.with_name("other.parquet"), 9)
    source.unlink()
    source.symlink_to(other)


CHANGES: tuple[Callable[[Path], None], ...] = (in_place, by_link)


def commit(office: Office, plan: Any = None, source: Path | None = None) -> CommitResult:
    result = office.guarded().commit(plan or office.plan(append(source or Path())))
    assert isinstance(result, CommitResult)
    return result


@pytest.mark.always
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_the_approval_makes_the_request_stale(
    office: Office, source: Path, change: Callable[[Path], None]
) -> None:
    number = office.ask(append(source)).number
    office.approve(number)
    before = office.plan(append(source))
    version = office.opened().latest_version()
    change(source)
    # The plan that is on show was made before the change; another one is made after it.
    result = commit(office, before)
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["approval"]
    request = office.shelf.get(number)
    assert (request.state, request.last.changed) == ("stale", ("source",))
    assert hashlib.sha256(source.read_bytes()).hexdigest() in request.last.note
    assert office.opened().latest_version() == version
    # Asked for again, the new rows are what is approved.
    again = office.ask(append(source)).number
    office.approve(again)
    assert commit(office, source=source).outcome == "committed"
    assert office.opened().latest_version() == version + 1


def test_a_file_that_changes_before_the_decision_is_not_approved(office: Office, source: Path) -> None:
    number = office.ask(append(source)).number
    in_place(source)
    request = office.approve(number)
    assert (request.state, request.last.changed) == ("stale", ("source",))


@pytest.mark.always
def test_the_commit_says_what_was_approved(office: Office, source: Path) -> None:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    asked = office.ask(append(source))
    assert asked.answers["source"] == {"files": 1, "bytes": source.stat().st_size, "sha256": digest}
    office.approve(asked.number)
    office.move()  # a newer version with the same answers
    result = commit(office, source=source)
    assert result.outcome == "committed"
    info = result.plan.actions[0]["commitInfo"]
    assert isinstance(info, dict)
    assert info["tags"]["deltaTableExplorer.approvedSource"] == digest


def test_a_file_that_is_swapped_while_spark_reads_it_is_not_committed(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the digest was compared, and put back before anything looks again."""
    office.approve(office.ask(append(source)).number)
    written, status = incoming.write_files, source.stat()

    def swapped(*arguments: Any, **options: Any) -> Any:
        good = source.read_bytes()
        parquet(source, 9)
        try:
            return written(*arguments, **options)
        finally:
            source.write_bytes(good)
            os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))

    monkeypatch.setattr(incoming, "write_files", swapped)
    version = office.opened().latest_version()
    result = commit(office, source=source)
    assert (result.outcome, [guard.name for guard in result.plan.blocking]) == ("rejected", ["source-unchanged"])
    assert office.opened().latest_version() == version
    request = office.shelf.get(1)
    assert request.state == "approved", "nothing was written, and the approval is still of the same bytes"
    monkeypatch.undo()
    assert commit(office, source=source).outcome == "committed"
    assert [step.what for step in office.shelf.get(1).steps] == [
        "asked", "approved", "begun", "failed", "begun", "committed",
    ]  # fmt: skip


def test_overwrites_and_folders_are_bound_too(office: Office, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    parquet(folder / "1.parquet", 1)
    for number, kind in enumerate(at_least_one(("append", "overwrite")), 1):
        intent = {"kind": kind, "source": str(folder)}
        office.approve(office.ask(intent).number)
        parquet(folder / f"more{number}.parquet", 5)
        result = office.guarded().commit(office.plan(intent))
        assert result.outcome == "rejected"
        assert "source" in office.shelf.get(number).last.changed
        assert TARGET.name == office.shelf.get(number).table
