"""From when each readable version may be lost, to the millisecond, where the record does not begin with version 0."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.protocol.actions import DeletionVectorDescriptor, Protocol
from explorer.core.protocol.deletion_vectors import location, z85_encode
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import (
    FOREVER,
    Terms,
    expiries,
    last_needed,
    log_risk,
    readable_spans,
    retention_terms,
)
from explorer.core.versions.retention.horizon import horizon
from explorer.core.versions.retention.readable_until import FolderScan
from explorer.core.versions.retention.version_states import VersionRisks
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late

DAY = 86_400_000
WEEK = 7 * DAY
# 100 ms before a midnight, UTC, and 100 ms after one.
BEFORE, AFTER = 20_000 * DAY - 100, 20_000 * DAY + 100
TERMS = Terms(WEEK, 30 * DAY, ())


def _begun_late() -> explorer.Table:
    """Versions 2 to 5: files a and b are of the checkpoint 2, which removed c; a leaves in 3, and d is from 4."""
    created = [small_logs.PROTOCOL, small_logs.METADATA]
    a, b, c, d = map(small_logs.add, "abcd")
    commits: dict[int, list[Any]] = {
        0: [*created, a, b, c],
        1: [],
        2: [small_logs.remove("c")],
        3: [small_logs.remove("a")],
        4: [d],
        5: [],
    }
    return begun_late(commits, 2, [*created, a, b, small_logs.remove("c")], gone=2)


def test_each_file_lives_in_a_span_of_the_versions_that_can_be_read() -> None:
    life = _begun_late().history_record().lifetimes
    assert (life.readable_from, life.last) == (2, 5)
    start, stop, rows = readable_spans(life, life.added >= -5)
    named = life.take(rows, ["path"]).column(0).to_pylist()
    spans = sorted(zip(named, start.tolist(), stop.tolist(), strict=True))
    assert spans == [("a", 0, 1), ("b", 0, 4), ("d", 2, 4)]


def test_the_log_of_a_version_is_at_risk_by_the_commit_of_the_next_checkpoint() -> None:
    life = _begun_late().history_record().lifetimes
    times = {2: BEFORE, 3: BEFORE + 1, 4: AFTER, 5: AFTER + 1}
    # The times of the files of checkpoints do not count, where those of their commits are known.
    found = log_risk(small_logs.listed({2: AFTER + 9 * DAY, 4: AFTER + 9 * DAY}, times), life, TERMS)
    assert found.first.tolist() == [4, 4, -1, -1]
    assert found.since.tolist() == [20_001 * DAY + 30 * DAY] * 2 + [FOREVER] * 2
    # The commit of the newest version is gone, so that its checkpoint alone tells its time.
    del times[5]
    late = log_risk(small_logs.listed({2: AFTER, 5: BEFORE}, times), life, TERMS)
    assert late.first.tolist() == [5, 5, 5, -1]
    assert late.since.tolist() == [20_000 * DAY + 30 * DAY] * 3 + [FOREVER]


def test_without_a_clean_up_no_log_is_at_risk() -> None:
    life = _begun_late().history_record().lifetimes
    found = log_risk(small_logs.listed({4: BEFORE}, {4: BEFORE}), life, msgspec.structs.replace(TERMS, log=None))
    assert (found.first.tolist(), found.since.tolist()) == ([-1] * 4, [FOREVER] * 4)


def test_a_file_that_was_removed_twice_was_needed_until_its_last_removal() -> None:
    removal = msgspec.structs.replace(small_logs.remove("a"), deletion_timestamp=BEFORE)
    untimed = msgspec.structs.replace(removal, deletion_timestamp=None)
    created = [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")]
    for last, until in at_least_one(((untimed, 0), (msgspec.structs.replace(removal, deletion_timestamp=5), 5))):
        table = small_logs.table({0: created, 1: [removal], 2: [small_logs.add("a")], 3: [last]})
        needed = last_needed(table.history_record().lifetimes, TERMS)
        assert needed.paths.tolist() == [until, until]
        assert needed.vectors.tolist() == [FOREVER, FOREVER]
        assert expiries(needed, TERMS).tolist() == [until + WEEK] * 2


def _history(*actions: Any) -> History:
    return small_logs.table({0: list(actions)}).history_record()


def test_names_of_partition_folders_are_those_of_the_schema_and_of_the_files() -> None:
    field = {"name": "day", "type": "string", "nullable": True}
    mapped = field | {"metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "_day"}}
    metadata = msgspec.structs.replace(
        small_logs.METADATA,
        schema_string=msgspec.json.encode({"type": "struct", "fields": [mapped]}).decode(),
        partition_columns=("day",),
        configuration={"delta.columnMapping.mode": "name"},
    )
    protocol = Protocol(min_reader_version=2, min_writer_version=5)
    assert retention_terms(_history(protocol, metadata)).partition_columns == ("day", "_day")
    unmapped = msgspec.structs.replace(metadata, configuration={})
    assert retention_terms(_history(protocol, unmapped)).partition_columns == ("day", "day")


def test_terms_ask_for_no_schema_where_there_is_no_partition() -> None:
    broken = msgspec.structs.replace(small_logs.METADATA, schema_string="{")
    assert retention_terms(_history(small_logs.PROTOCOL, broken)) == TERMS
    unsaid = msgspec.structs.replace(small_logs.METADATA, schema_string=None, partition_columns=("day",))
    assert retention_terms(_history(small_logs.PROTOCOL, unsaid)).partition_columns == ("day",)


def test_terms_of_a_log_without_metadata_are_the_protocol_s() -> None:
    assert retention_terms(_history(small_logs.PROTOCOL, small_logs.add("a"))) == TERMS


@pytest.mark.parametrize(("removed", "state", "by_data"), [(0, "at risk", False), (-1, "readable", True)])
def test_at_the_moment_at_which_both_may_go_the_log_goes_first(removed: int, state: str, by_data: bool) -> None:
    """A checkpoint is the cut-off at its midnight, a tombstone expires a millisecond later."""
    midnight = 20_000 * DAY
    since = midnight + 30 * DAY
    removal = msgspec.structs.replace(small_logs.remove("a"), deletion_timestamp=since - WEEK + removed)
    commits: dict[int, list[Any]] = {0: [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")], 1: [removal]}
    history = small_logs.table(commits).history_record()
    risks = VersionRisks(history, small_logs.listed({1: BEFORE}, {0: BEFORE - 1, 1: BEFORE}))
    found = risks.at(since + removed)
    assert (found.state(0), bool(found.by_data[0]), found.lost_at(0)) == (state, by_data, since + removed)
    assert risks.at(since + removed - 1).state(0) == "readable"
    assert risks.at(since + 1).state(0) == "at risk"


def test_a_file_of_vectors_is_old_only_once_it_was_written_long_enough_ago() -> None:
    now = datetime(2026, 3, 10, tzinfo=UTC)
    present = int(now.timestamp() * 1000)
    vector = DeletionVectorDescriptor("u", z85_encode(b"v" * 16), 34, 1, 1)
    stored = location(vector.id)
    assert stored is not None
    removal = small_logs.remove("a", vector=vector)
    commits: dict[int, list[Any]] = {
        0: [small_logs.MASKED, small_logs.METADATA, small_logs.add("a", records=9, vector=vector)],
        1: [msgspec.structs.replace(removal, deletion_timestamp=present - 20 * DAY)],
    }
    history = small_logs.table(commits).history_record()
    written = {"a": present - DAY, stored: present - 15 * DAY}
    files = pa.table(
        {
            "path": [*written],
            "size": [1, 1],
            "modified": pa.array([*written.values()], pa.int64()),
            "state": ["needed", "needed"],
            "needed_until": pa.array([None, None], pa.int64()),
        }
    )
    risks = VersionRisks(history, small_logs.listed({}, {0: present - 40 * DAY, 1: present - 20 * DAY}))
    found = horizon(history, risks, now, FolderScan(files, frozenset(), {}))
    dates = found.what_if(WEEK).dates.column("lost_from").to_pylist()
    assert dates == [datetime.fromtimestamp((present - 8 * DAY) / 1000, UTC), None]
