"""Version checksums of our own: bins, what is given when, and when none can be told from the one before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.log.table_state import TableState, VersionChecksum, decode_checksum
from explorer.core.log.writing.checksum import SIZE_BINS, next_checksum, version_checksum, write_checksum
from explorer.core.protocol.actions import Action, Add, CommitInfo, DomainMetadata, TransactionAction
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    add,
    lines,
    new_store,
    remove,
    vector,
    write,
    write_log,
)

TIMED = msgspec.structs.replace(METADATA, configuration={"delta.enableInCommitTimestamps": "true"})


def _state(store: LogStore) -> tuple[TableState, LogicalFiles, CommitInfo | None]:
    segment = list_log(store).segment()
    commits = list(read_commits(store, segment.commits))
    base = checkpoint_reader(store, segment)
    return replay_state(base, commits, segment.version), replay_files(base, commits), commits[-1].commit_info()


def _full(*commits: tuple[Action, ...]) -> VersionChecksum | None:
    store = new_store()
    write(store, dict(enumerate(commits)))
    return version_checksum(*_state(store))


def _next(
    before: tuple[Action, ...], after: tuple[Action, ...], *, vouched: bool = False, known: bool = False, **changes: Any
) -> tuple[VersionChecksum | None, VersionChecksum | None]:
    """The checksum by the step, with members of the one before replaced, and in full."""
    store = new_store()
    write(store, {0: before})
    first_state, first_files, info = _state(store)
    first = version_checksum(first_state, first_files, info)
    assert first is not None
    previous = json.loads(msgspec.json.encode(first)) | changes
    kept = {name: item for name, item in previous.items() if item is not None}
    write(store, {1: after})
    state, files, info = _state(store)
    live = first_files if known else None
    found = next_checksum(json.dumps(kept).encode(), _commit(after), state, live, vouched=vouched)
    return found, version_checksum(state, files, info)


def _commit(actions: tuple[Action, ...]) -> Commit:
    return decode_commit(lines(actions), 1, commit_name(1))


def _sized(path: str, size: int) -> Add:
    return Add(path=path, size=size, modification_time=1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"tableSizeBytes":"x"}', "Expected `int`, got `str` - at `$.tableSizeBytes`"),
        (b"{", "Input data was truncated"),
        (b"{}", "Object missing required field `tableSizeBytes`"),
    ],
)
def test_what_is_no_checksum_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        decode_checksum(data)


@pytest.mark.conformance("CRC-004")
def test_sizes_are_counted_in_bins_that_are_closed_on_the_left() -> None:
    assert SIZE_BINS[0] == 0
    assert len(SIZE_BINS) == 95
    sizes = (0, 8191, 8192, 16383, 1 << 38, 1 << 50)
    found = _full((PROTOCOL, METADATA, *(_sized(str(size), size) for size in sizes)))
    assert found is not None
    histogram = found.file_size_histogram
    assert histogram is not None
    assert [histogram.file_counts[place] for place in (0, 1, 94)] == [2, 2, 2]
    assert [histogram.total_bytes[place] for place in (0, 1, 94)] == [8191, 24575, (1 << 38) + (1 << 50)]
    assert sum(histogram.file_counts) == found.num_files == 6
    assert sum(histogram.total_bytes) == found.table_size_bytes == sum(sizes)


@pytest.mark.conformance("CRC-005")
def test_masked_rows_are_counted_in_ten_bins() -> None:
    edges = (10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)
    counts = (1, *(count for edge in edges for count in (edge - 1, edge)))
    masked = (add(str(count), vector=vector(str(count), count)) for count in counts)
    found = _full((MASKED, METADATA, add("whole"), *masked))
    assert found is not None
    assert found.deleted_record_counts_histogram_opt is not None
    assert found.deleted_record_counts_histogram_opt.deleted_record_counts == (1, 2, 2, 2, 2, 2, 2, 2, 2, 1)
    assert found.num_deleted_records_opt == sum(counts)
    assert found.num_deletion_vectors_opt == len(counts)
    plain = _full((PROTOCOL, METADATA, add("whole")))
    assert plain is not None
    assert plain.num_deleted_records_opt is None


@pytest.mark.conformance("CRC-002", "CRC-003", "CRC-008")
def test_what_is_optional_is_given_exactly_when_it_is_due() -> None:
    info = CommitInfo(in_commit_timestamp=77, txn_id="x-1", operation="WRITE")
    gone = DomainMetadata(domain="gone", configuration="{}")
    timed = _full(
        (PROTOCOL, TIMED, gone),
        (info, TransactionAction(app_id="b", version=2), msgspec.structs.replace(gone, removed=True)),
    )
    assert timed is not None
    value = json.loads(msgspec.json.encode(timed))
    assert (value["inCommitTimestampOpt"], value["txnId"]) == (77, "x-1")
    assert value["setTransactions"] == [{"appId": "b", "version": 2}]
    assert value["domainMetadata"] == []
    assert (value["numMetadata"], value["numProtocol"]) == (1, 1)
    assert value["metadata"]["id"] == METADATA.id
    assert value["protocol"] == {"minReaderVersion": 1, "minWriterVersion": 2}
    untimed = _full((PROTOCOL, METADATA), (info,))
    assert untimed is not None
    assert "inCommitTimestampOpt" not in json.loads(msgspec.json.encode(untimed))


def test_there_is_no_checksum_where_a_size_is_not_known() -> None:
    bare = b'{"add":{"path":"a","partitionValues":{},"modificationTime":1,"dataChange":true}}'
    assert _full((PROTOCOL, METADATA, bare)) is None


BASE = (MASKED, METADATA, add("a"), add("b"), add("c", vector=vector("v1", 5)))


@pytest.mark.parametrize(
    "after",
    [
        (add("d"),),
        (add("empty", 0, size=0),),
        (remove("a", size=100), add("d")),
        (remove("b", size=100), add("b", vector=vector("v2", 3))),
        (remove("c", size=100, vector=vector("v1", 5)), add("c", vector=vector("v3", 6))),
        (remove("b"), add("b", vector=vector("v2", 3))),
        (msgspec.structs.replace(METADATA, name="other"), TransactionAction(app_id="app", version=1)),
        (DomainMetadata(domain="d", configuration="{}"), CommitInfo(txn_id="t")),
        (PROTOCOL,),
    ],
)
@pytest.mark.conformance("CRC-004")
def test_the_step_from_the_one_before_gives_what_the_whole_state_gives(after: tuple[Action, ...]) -> None:
    for options in ({"vouched": True}, {"known": True}):
        found, full = _next(BASE, after, **options)
        assert found == full is not None
    listed = [{"path": "a", "size": 100}, {"path": "b", "size": 100}]
    listed.append({"path": "c", "size": 100, "deletionVector": msgspec.to_builtins(vector("v1", 5))})
    found, full = _next(BASE, after, allFiles=listed)
    assert found == full


@pytest.mark.parametrize(
    "after",
    [
        (add("a", records=9),),
        (remove("nowhere", size=7),),
        (msgspec.structs.replace(add("a"), data_change=False, base_row_id=4),),
        (remove("c", size=100),),
        (msgspec.structs.replace(remove("a"), data_change=False), remove("b")),
    ],
)
def test_what_a_commit_does_not_say_is_told_by_the_files_before_and_else_not_at_all(after: tuple[Action, ...]) -> None:
    found, full = _next(BASE, after, known=True)
    assert found == full is not None
    assert _next(BASE, after)[0] is None


@pytest.mark.parametrize(
    "after",
    [
        (msgspec.structs.replace(add("a"), data_change=False, base_row_id=4),),
        (msgspec.structs.replace(remove("a", size=100), data_change=False),),
        (remove("a"),),
    ],
)
def test_not_everything_is_taken_at_its_word(after: tuple[Action, ...]) -> None:
    assert _next(BASE, after, vouched=True)[0] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": None},
        {"metadata": {"id": "another"}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 1}},
        {"fileSizeHistogram": None},
        {"fileSizeHistogram": {"sortedBinBoundaries": [0], "fileCounts": [3], "totalBytes": [300]}},
        {"numDeletedRecordsOpt": None},
        {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1]}},
        {"numFiles": "three"},
    ],
)
def test_a_checksum_before_that_lacks_something_or_differs_is_not_gone_by(changes: dict[str, Any]) -> None:
    assert _next(BASE, (add("d"),), vouched=True, **changes)[0] is None


MOST = (1 << 63) - 1


@pytest.mark.conformance("CRC-002")
def test_there_is_no_checksum_where_64_bits_do_not_hold_the_bytes_of_all_files() -> None:
    """The field is required and a long, so another reader refuses a file with more in it."""
    half = (PROTOCOL, METADATA, _sized("a", MOST - 1))
    fits = _full((*half, _sized("b", 1)))
    assert fits is not None
    assert (fits.table_size_bytes, fits.num_files) == (MOST, 2)
    assert _full((*half, _sized("b", 2))) is None
    assert _full((*half, _sized("b", MOST))) is None
    assert _next(half, (_sized("b", MOST),), vouched=True) == (None, None)
    step, whole = _next(half, (_sized("b", 1),), vouched=True)
    assert step == whole == fits


def test_masked_rows_that_64_bits_do_not_hold_are_left_out_as_their_number_is_optional() -> None:
    many = [add(name, None, vector=vector(name, MOST)) for name in ("a", "b")]
    created = (MASKED, METADATA, many[0])
    fits, found = _full(created), _full((*created, many[1]))
    assert fits is not None
    assert fits.num_deleted_records_opt == MOST
    assert found is not None
    assert (found.num_deleted_records_opt, found.num_deletion_vectors_opt, found.num_files) == (None, 2, 2)
    assert _next(created, (many[1],), vouched=True) == (found, found)


@pytest.mark.conformance("CRC-001")
def test_a_commit_after_which_sizes_do_not_fit_is_made_and_has_no_checksum(tmp_path: Path) -> None:
    table = explorer.open_table(write_log(tmp_path / "t", [[PROTOCOL, METADATA, _sized("a", MOST), _sized("b", MOST)]]))
    result = table.commit(table.plan({"kind": "set-description", "description": "large"}), reason="to see")
    assert (result.outcome, result.version, result.notes) == ("committed", 1, ())
    assert sorted(path.name for path in (tmp_path / "t" / "_delta_log").glob("*.crc")) == []
    # A sum that fits has one.
    small = explorer.open_table(write_log(tmp_path / "s", [[PROTOCOL, METADATA, _sized("a", MOST)]]))
    small.commit(small.plan({"kind": "set-description", "description": "large"}), reason="to see")
    (written,) = (tmp_path / "s" / "_delta_log").glob("*.crc")
    assert json.loads(written.read_bytes())["tableSizeBytes"] == MOST


@pytest.mark.conformance("CRC-001")
def test_a_checksum_is_written_once() -> None:
    store = new_store()
    found = _full((PROTOCOL, METADATA))
    assert found is not None
    assert write_checksum(store, 0, found)
    data = store.read("_delta_log/00000000000000000000.crc")
    assert isinstance(json.loads(data), dict)
    assert not write_checksum(store, 0, msgspec.structs.replace(found, num_files=9))
    assert store.read("_delta_log/00000000000000000000.crc") == data
