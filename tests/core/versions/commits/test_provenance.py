"""What the small actions of commits say: what was in force, which version was current when, which rows changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable, ExplorerError, RequestError, TimestampOutOfRange
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commits.amounts import row_amounts, updated_rows
from explorer.core.versions.located import located
from explorer.core.versions.provenance import BaseState, CommitRecord, Provenance
from explorer.core.versions.record_search import Wanted, found_entries
from tests.support.logs.small_logs import METADATA, PROTOCOL, commit_info, metadata

FEED = Protocol(min_reader_version=1, min_writer_version=4)
ON, OFF = (metadata({"id": "long"}, (), {"delta.enableChangeDataFeed": value}) for value in ("true", "false"))
START = datetime(2026, 3, 2, tzinfo=UTC)
MS = int(START.timestamp()) * 1000


def record(
    version: int, said: Sequence[Metadata | Protocol] = (), time: int | None = None, **more: Any
) -> CommitRecord:
    """A commit of so many ms after the start as its version, if no time is given."""
    found = {"metadata" if isinstance(each, Metadata) else "protocol": each for each in said}
    fields: dict[str, Any] = {"metadata": None, "protocol": None, "info": None, "change_files": False, **found, **more}
    return CommitRecord(version=version, timestamp=MS + (version if time is None else time), **fields)


def provenance(*records: CommitRecord, base: BaseState | None = None, first: int = 0, **more: Any) -> Provenance:
    latest = records[-1].version if records else first
    return Provenance(records, base, **{"first_readable": first, "latest": latest, **more})


def known(version: int, protocol: Protocol, known_metadata: Metadata, **domains: DomainMetadata) -> BaseState:
    return BaseState(version, protocol, known_metadata, domains)


def test_a_provenance_has_what_it_was_given_and_makes_its_commits_once() -> None:
    made: list[int] = []

    def commits() -> list[CommitRecord]:
        made.append(1)
        return [record(3), record(4)]

    domain = DomainMetadata(domain="app", configuration="{}")
    found = Provenance(commits, known(3, PROTOCOL, METADATA, app=domain), first_readable=3, latest=9, by_catalog=True)
    assert (repr(found), found.first_readable, found.latest) == ("Provenance(versions 3 to 9 readable)", 3, 9)
    assert (found.base_domains, found.by_catalog, made) == ({"app": domain}, True, [])
    assert (found.commits, found.commits, made) == ((record(3), record(4)), (record(3), record(4)), [1])
    assert [found.timestamp(version) for version in (2, 3, 4, 5)] == [None, MS + 3, MS + 4, None]
    plain = provenance(record(0))
    assert (plain.base_domains, plain.by_catalog, plain.commits) == ({}, False, (record(0),))
    assert (record(0).time_in_commit, record(0).time_lacking) == (False, False)
    assert (record(0).change_sizes, record(0).domains) == ((), ())


@pytest.mark.parametrize(
    ("operation", "metrics", "none"),
    [
        ("MERGE", {"Inserted": "0", "Updated": 0, "Deleted": "0"}, True),
        ("MERGE", {"Inserted": "1", "Updated": "0", "Deleted": "0"}, False),
        ("MERGE", {"Inserted": "0", "Updated": "1", "Deleted": "0"}, False),
        ("MERGE", {"Inserted": "0", "Updated": "0", "Deleted": "1"}, False),
        ("MERGE", {"Inserted": "0", "Updated": "0"}, False),
        ("MERGE", None, False),
        ("UPDATE", {"Inserted": "0", "Updated": "0", "Deleted": "0"}, False),
        (None, {"Inserted": "0", "Updated": "0", "Deleted": "0"}, False),
    ],
)
def test_a_merge_that_counts_no_row_changes_none(operation: str, metrics: dict[str, Any] | None, none: bool) -> None:
    said = None if metrics is None else {f"numTargetRows{name}": value for name, value in metrics.items()}
    assert record(1, info=commit_info(operation, operation_metrics=said)).changes_no_row is none
    assert record(1).changes_no_row is False


def test_what_is_in_force_is_the_newest_that_was_said_up_to_a_version() -> None:
    later = Protocol(min_reader_version=1, min_writer_version=3)
    found = provenance(record(0), record(1, [PROTOCOL, ON]), record(2), record(3, [OFF]), record(5, [later]))
    assert [found.metadata_at(version) for version in range(6)] == [None, ON, ON, OFF, OFF, OFF]
    assert [found.protocol_at(version) for version in range(6)] == [None, *[PROTOCOL] * 4, later]
    assert found.metadata_changes() == [(1, ON), (3, OFF)]
    assert found.change_feed_enabled([5, 0, 2, 3, 1, 2]) == [False, None, True, False, True, True]
    assert found.change_feed_enabled([]) == []
    ranges = [
        ((0, 5), [0, 1, 3, 5]),
        ((1, 3), [1, 3]),
        ((1, 2), [1]),
        ((3, 3), [3]),
        ((4, 5), [4, 5]),
        ((2, 4), [2, 3]),
    ]
    assert [found.layout_changes(*asked) for asked, _ in ranges] == [changes for _, changes in ranges]


@pytest.mark.parametrize(("first", "changes"), [(3, [(3, ON), (5, OFF)]), (4, [(4, ON), (5, OFF)]), (5, [(5, OFF)])])
def test_what_a_checkpoint_said_holds_from_its_version_on(first: int, changes: list[tuple[int, Metadata]]) -> None:
    records = record(2, [METADATA, PROTOCOL]), record(3, [OFF, PROTOCOL]), record(5, [OFF])
    found = provenance(*records, base=known(3, FEED, ON), first=first)
    assert [found.metadata_at(version) for version in range(1, 6)] == [None, METADATA, ON, ON, OFF]
    assert [found.protocol_at(version) for version in range(1, 6)] == [None, PROTOCOL, FEED, FEED, FEED]
    assert found.metadata_changes() == changes
    alone = provenance(base=known(3, FEED, ON), first=3)
    assert (alone.metadata_at(2), alone.metadata_at(3), alone.protocol_at(3)) == (None, ON, FEED)


@pytest.mark.parametrize(
    ("protocol", "said", "recorded"),
    [
        (FEED, ON, True),
        (FEED, OFF, False),
        (PROTOCOL, ON, False),
        (Protocol(min_reader_version=1, min_writer_version=7, writer_features=("changeDataFeed",)), ON, True),
        (Protocol(min_reader_version=1, min_writer_version=7, writer_features=()), ON, False),
    ],
)
def test_changes_are_recorded_where_they_are_supported_and_wished_for(
    protocol: Protocol, said: Metadata, recorded: bool
) -> None:
    assert provenance(record(0, [protocol, said])).records_changes(0) is recorded


MAPPED = Protocol(min_reader_version=2, min_writer_version=5)
NAMED = metadata({"id": "long"}, (), {"delta.columnMapping.mode": "name"})


def test_columns_are_mapped_as_the_properties_say_where_the_protocol_allows_it() -> None:
    found = provenance(record(0, [MAPPED, METADATA]), record(1, [NAMED]), record(2, [PROTOCOL]))
    assert [found.mapping_mode(version) for version in range(3)] == ["none", "name", "none"]
    for said, lacking in (([METADATA], "protocol"), ([PROTOCOL], "metaData")):
        with pytest.raises(CorruptTable) as refused:
            provenance(record(4, said)).mapping_mode(4)
        assert str(refused.value) == (
            f"The log has no {lacking} action up to version 4, so its columns cannot be read."
        )
        assert refused.value.version == 4


def test_columns_are_followed_over_the_versions_that_are_asked_for() -> None:
    two = metadata({"id": "long", "v": "string"})
    unsaid = msgspec.structs.replace(METADATA, schema_string=None)
    found = provenance(
        *(record(0, [PROTOCOL, METADATA]), record(1, [ON]), record(2, [two]), record(3, [unsaid]), record(4)), first=0
    )

    def spans(lineage: Lineage) -> list[tuple[str, int, int]]:
        return [(span.name, span.from_version, span.to_version) for line in lineage.columns for span in line.spans]

    assert spans(found.lineage()) == [("id", 0, 4), ("v", 2, 4)]
    assert spans(found.lineage(1)) == [("id", 1, 4), ("v", 2, 4)]
    assert spans(found.lineage(0, 1)) == [("id", 0, 1)]
    assert spans(found.lineage(2, 3)) == [("id", 2, 3), ("v", 2, 3)]
    assert (found.lineage().first_version, found.lineage(to_version=1).last_version) == (0, 1)
    assert spans(provenance(record(0), first=0).lineage()) == []
    assert spans(provenance(record(1, [MAPPED, METADATA]), record(2, [ON]), first=1).lineage()) == [("id", 1, 2)]


def at(time: float) -> datetime:
    return START + timedelta(milliseconds=time)


@pytest.mark.parametrize(("time", "version"), [(3, 3), (3.5, 3), (3.999, 3), (4, 4), (6, 4), (7, 7), (5, 4)])
def test_the_version_at_a_time_is_the_newest_committed_by_then(time: float, version: int) -> None:
    found = provenance(record(1), record(3), record(4), record(7), first=3)
    assert found.version_at(at(time)) == version
    assert found.version_at(at(time).astimezone(timezone(timedelta(hours=5)))) == version


@pytest.mark.parametrize(
    ("time", "side", "nearest"),
    [(2, "before the oldest", 3), (8, "after the newest", 7), (2.999, "before the oldest", 3)],
)
def test_a_time_out_of_range_is_refused_with_the_nearest_version(time: float, side: str, nearest: int) -> None:
    found = provenance(record(1), record(3), record(4), record(7), first=3)
    with pytest.raises(TimestampOutOfRange) as refused:
        found.version_at(at(time).astimezone(timezone(timedelta(hours=5))))
    assert str(refused.value) == (
        f"{at(time).isoformat()} is {side} readable commit. Commits range from 2026-03-02T00:00:00.003000+00:00 "
        f"(version 3) to 2026-03-02T00:00:00.007000+00:00 (version 7); the nearest is version {nearest}."
    )
    facts = refused.value
    assert (facts.timestamp, facts.earliest, facts.latest, facts.nearest) == (at(time), at(3), at(7), nearest)


def test_where_no_commit_is_left_no_time_is_known() -> None:
    with pytest.raises(TimestampOutOfRange) as refused:
        provenance(record(1), base=known(3, FEED, ON), first=3).version_at(at(3))
    assert str(refused.value) == "No commit times are known: the log has only a checkpoint."
    facts = refused.value
    assert (facts.timestamp, facts.earliest, facts.latest, facts.nearest) == (at(3), None, None, None)


def test_a_commit_that_lacks_its_time_makes_no_version_findable_by_time() -> None:
    found = provenance(record(3, time_lacking=True), record(4), record(5, time_lacking=True), record(6), first=4)
    with pytest.raises(CorruptTable) as refused:
        found.version_at(at(4))
    assert str(refused.value) == (
        "Version 5 has no inCommitTimestamp, though delta.enableInCommitTimestamps is true, so its commit time is "
        "not known and no version can be selected by time. Select a version by its number."
    )
    assert refused.value.version == 5


def timed(since: int | None, start: int = 0, enabled: str = "true") -> Metadata:
    more = (
        {}
        if since is None
        else {
            "delta.inCommitTimestampEnablementVersion": str(since),
            "delta.inCommitTimestampEnablementTimestamp": str(MS + start),
        }
    )
    return metadata({"id": "long"}, (), {"delta.enableInCommitTimestamps": enabled, **more})


@pytest.mark.parametrize(
    ("said", "time", "version"),
    [
        (timed(2, 20), 19, 0),
        (timed(2, 20), 20, 2),
        (timed(2, 20), 29, 2),
        (timed(2, 20), 30, 3),
        (timed(2, 20, "false"), 19, 0),
        (timed(None), 10, 0),
        (timed(None), 25, 2),
    ],
)
def test_a_time_is_looked_up_on_its_side_of_the_commit_that_enabled_timestamps(
    said: Metadata, time: int, version: int
) -> None:
    """The file of version 1 was copied later, and its time is after all others."""
    copied = 25 if said.configuration["delta.enableInCommitTimestamps"] == "false" else 90
    times = (10, copied, 20, 30)
    if len(said.configuration) == 1:
        times = (10, 15, 20, 30)
    records = [record(place, time=time) for place, time in enumerate(times)]
    records[3] = msgspec.structs.replace(records[3], metadata=said)
    assert provenance(*records).version_at(at(time)) == version


def test_a_time_before_timestamps_of_which_no_commit_is_left_is_before_the_oldest() -> None:
    found = provenance(record(2, [timed(2, 20)], 20), record(3, time=30), first=2)
    with pytest.raises(TimestampOutOfRange, match=r"before the oldest readable commit.*the nearest is version 2\.$"):
        found.version_at(at(19))
    early = provenance(record(0, time=10), record(1, [timed(1, 20)], 20), first=0)
    with pytest.raises(
        TimestampOutOfRange, match=r"before the oldest.*\(version 0\).*\(version 1\).*nearest is version 0"
    ):
        early.version_at(at(9))
    assert early.version_at(at(15)) == 0
    with pytest.raises(
        TimestampOutOfRange, match=r"after the newest.*\(version 0\).*\(version 1\); the nearest is version 1"
    ):
        early.version_at(at(21))


NAMES = pa.map_(pa.string(), pa.string())
ENTRIES = pa.table(
    {
        "timestamp": pa.array([START, None, at(5), at(9)], pa.timestamp("ms", "UTC")),
        "user_name": ["Ana Größ", None, "ben", "eva"],
        "operation": ["MERGE", "WRITE", None, "optimize"],
        "said": [None, "Ana was here", "x", ""],
        "more": pa.array([[("k", "Legacy")], [("legacy", None)], None, [("a", "1"), ("b", "LEGACY")]], NAMES),
    }
)


@pytest.mark.parametrize(
    ("wanted", "texts", "rows"),
    [
        ({}, (), [0, 1, 2, 3]),
        ({"by": "ana"}, ("said",), [0]),
        ({"by": "GRÖSS"}, (), [0]),
        ({"by": ""}, (), [0, 2, 3]),
        ({"by": "n"}, (), [0, 2]),
        ({"operation": "me"}, (), [0]),
        ({"operation": "IZE"}, (), [3]),
        ({"text": "ana"}, ("said",), [1]),
        ({"text": "ana"}, (), []),
        ({"text": "legacy"}, ("said", "more"), [0, 3]),
        ({"text": "x"}, ("more", "said"), [2]),
        ({"text": "n", "by": "n"}, ("user_name",), [0, 2]),
        ({"by": "n", "operation": "e"}, (), [0]),
        ({"since": at(5)}, (), [2, 3]),
        ({"until": at(5)}, (), [0]),
        ({"since": at(0), "until": at(9), "by": "b"}, (), [2]),
    ],
)
def test_entries_are_found_by_parts_of_what_they_say(
    wanted: dict[str, Any], texts: tuple[str, ...], rows: list[int]
) -> None:
    found = found_entries(ENTRIES, Wanted(**wanted), texts)
    assert found == ENTRIES.take(pa.array(rows, pa.int64()))
    assert bool(Wanted(**wanted)) is bool(wanted)


def history(*rows: tuple[dict[str, str] | None, int | None, int | None, int | None, int | None]) -> pa.Table:
    columns = [[row[place] for row in rows] for place in range(1, 5)]
    names = ("rows_added", "rows_removed", "rows_masked", "rows_rewritten")
    metrics = pa.array([None if row[0] is None else [*row[0].items()] for row in rows], NAMES)
    numbers = {name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)}
    return pa.table({"metrics": metrics, **numbers})


UPDATED, MERGED = "numUpdatedRows", "numTargetRowsUpdated"


@pytest.mark.parametrize(
    ("said", "came", "went", "masked", "updated"),
    [
        ({UPDATED: "3"}, 3, 3, 0, 3),
        ({MERGED: "3"}, 5, 9, None, 3),
        ({UPDATED: "4"}, 3, 9, 0, 0),
        ({UPDATED: "3"}, 9, 2, 0, 0),
        ({UPDATED: "3"}, 9, 2, 1, 3),
        ({UPDATED: "3"}, 9, 3, -1, 3),
        ({UPDATED: "1", MERGED: "2"}, 3, 0, 3, 3),
        ({UPDATED: "1", MERGED: "2"}, 2, 0, 3, 0),
        ({UPDATED: "3"}, None, 3, 0, 0),
        ({UPDATED: "-3"}, 9, 9, 0, 0),
        ({UPDATED: "3.0"}, 9, 9, 0, 0),
        ({UPDATED: ""}, 9, 9, 0, 0),
        ({UPDATED: "9" * 18}, 10**18, 10**18, 0, 10**18 - 1),
        ({UPDATED: "1" + "0" * 18}, 10**18, 10**18, 0, 0),
        ({"numOutputRows": "3"}, 9, 9, 0, 0),
        ({}, 9, 9, 0, 0),
        (None, 9, 9, 0, 0),
    ],
)
def test_updated_rows_are_those_that_the_metrics_count_and_the_files_can_hold(
    said: dict[str, str] | None, came: int | None, went: int | None, masked: int | None, updated: int
) -> None:
    found = updated_rows(history(({UPDATED: "1"}, 1, 1, 0, 0), (said, came, went, masked, 0)))
    # Beyond 2^53 a count is as near as a floating-point number comes.
    assert found.tolist() == [1, pytest.approx(updated, rel=1e-15)]
    assert found.dtype == np.int64


def test_rewritten_rows_are_no_updated_ones() -> None:
    rows = ({UPDATED: "3"}, 9, 9, 0, 6), ({UPDATED: "3"}, 9, 9, 0, 9), ({UPDATED: "3"}, 9, 9, 0, 2)
    amounts = row_amounts(
        history(*rows, ({}, 9, 9, 0, None), ({}, None, 9, 0, 4), ({}, None, 0, 0, None), ({}, 1, 0, 2, 4))
    )
    assert amounts.rewritten == [6, 6, 2, None, 4, None, 0]
    assert amounts.removed == [0, 0, 4, None, 5, 0, 0], "of rows that may only have been written again it is not known"
    assert amounts.added == [0, 0, 4, 9, None, None, 1]
    assert amounts.masked == [0, 0, 0, 0, 0, 0, 2]
    empty = history()
    assert (updated_rows(empty).tolist(), str(updated_rows(empty).dtype)) == ([], "int64")


class Place:
    """A table that raises what it is told to."""

    location = "memory://here"

    @located
    def ask(self, error: Exception | None, *, more: int = 1) -> tuple[str, int]:
        """Answer, or raise."""
        if error is not None:
            raise error
        return self.location, more


def test_an_error_has_the_place_of_its_table_and_keeps_another() -> None:
    ask: Callable[..., Any] = Place().ask
    assert (ask(None), ask(None, more=4)) == (("memory://here", 1), ("memory://here", 4))
    assert (Place.ask.__name__, Place.ask.__doc__) == ("ask", "Answer, or raise.")
    for error, table in (
        (RequestError("no"), "memory://here"),
        (RequestError("no", table="memory://there"), "memory://there"),
        (RequestError("no", table=""), "memory://here"),
    ):
        with pytest.raises(ExplorerError) as raised:
            ask(error)
        assert (raised.value, raised.value.table) == (error, table)
    with pytest.raises(KeyError) as other:
        ask(KeyError("x"))
    assert not hasattr(other.value, "table")
