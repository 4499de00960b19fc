"""The change feed at its edges: sources to the last column, holes and refusals in their words, what is on and off."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, CorruptDeletionVector, RequestError, VersionNotFound
from explorer.core.protocol.actions import AddCDCFile, CommitInfo, DeletionVectorDescriptor, Metadata
from explorer.core.protocol.deletion_vectors import encode_bitmap, z85_encode
from explorer.core.versions.change_feed import feed
from explorer.core.versions.change_feed.feed import ChangeSources, ChangeVersion, FeedHole, FeedSpan
from explorer.core.versions.change_feed.sources import (
    ReadEstimate,
    difference_table,
    locations,
    masked_difference,
    read_estimate,
)
from explorer.core.versions.history import History
from tests.support.logs.checkpoint_shapes import begun_late, write_checkpoint
from tests.support.logs.small_logs import LONG_AGO, METADATA, add, metadata, new_store, remove, table, vector
from tests.support.logs.small_proposals import protocol

FEED = protocol(1, 4)
MASKED = protocol(3, 7, r="deletionVectors", w="deletionVectors changeDataFeed rowTracking domainMetadata")
ENABLED = "delta.enableChangeDataFeed"
OFF_DETAIL = "the change feed was off (delta.enableChangeDataFeed was not true)"


def on(
    value: str | None = "true", *partitions: str, schema: str = METADATA.schema_string or "", **more: str
) -> Metadata:
    feed_property = {} if value is None else {ENABLED: value}
    return Metadata(id="t", schema_string=schema, partition_columns=partitions, configuration=feed_property | more)


def inline(*rows: int) -> DeletionVectorDescriptor:
    data = encode_bitmap(np.array(rows, np.uint64))
    return DeletionVectorDescriptor("i", z85_encode(data), len(data), len(rows))


def told(found: explorer.Table, first: int, last: int, **more: Any) -> ChangeSources:
    return feed.change_sources(found.store, found.listing, found.history_record(), first, last, **more)


def rows_of(files: pa.Table) -> list[dict[str, Any]]:
    """The rows without what is null."""
    return [{name: value for name, value in row.items() if value is not None} for row in files.to_pylist()]


def stamped(time: int) -> CommitInfo:
    return CommitInfo(in_commit_timestamp=time)


TIMED = {"delta.enableInCommitTimestamps": "true"}


def test_sources_say_of_every_file_what_reading_it_needs() -> None:
    one, two = vector("one", 2), inline(4, 6)
    written: dict[str, Any] = {"partition_values": {"p": "1"}, "size": 7}
    found = table(
        {
            0: [MASKED, on(**TIMED), stamped(LONG_AGO), add("kept%20one", 9, base_row_id=5, vector=one, **written)],
            1: [stamped(LONG_AGO + 1), AddCDCFile(path="_change_data/c%20c", size=3, partition_values={"p": None})],
            2: [
                stamped(LONG_AGO + 2),
                remove("kept%20one", vector=one),
                add("kept%20one", 9, base_row_id=5, vector=two, **written),
                add("new", None),
            ],
            3: [stamped(LONG_AGO + 3), remove("kept%20one", vector=two)],
            4: [stamped(LONG_AGO + 4)],
        }
    )
    sources = told(found, 0, 4)
    first = {
        "dv_unique_id": one.unique_id,
        "dv_storage_type": "p",
        "dv_cardinality": 2,
        "dv_path_or_inline": one.path_or_inline_dv,
        "dv_offset": 1,
        "dv_size_in_bytes": 34,
    }
    second = {
        "dv_unique_id": two.unique_id,
        "dv_storage_type": "i",
        "dv_cardinality": 2,
        "dv_path_or_inline": two.path_or_inline_dv,
        "dv_size_in_bytes": two.size_in_bytes,
    }
    place = {"path": "kept one", "raw_path": "kept%20one", "partition_values": [("p", "1")], "size": 7}
    whole = {**place, "num_records": 9, "base_row_id": 5}
    new = {"path": "new", "raw_path": "new", "partition_values": [], "size": 100}
    change = {
        "path": "_change_data/c c",
        "raw_path": "_change_data/c%20c",
        "partition_values": [("p", None)],
        "size": 3,
    }
    before = {f"before_{name}": value for name, value in first.items()}
    assert [{name: row[name] for name in row if name != "timestamp"} for row in rows_of(sources.files)] == [
        {"version": 0, "kind": "insert", **whole, **first},
        {"version": 1, "kind": "cdc", **change},
        {"version": 2, "kind": "difference", **whole, **second, **before},
        {"version": 2, "kind": "insert", **new},
        {"version": 3, "kind": "delete", **whole, **second},
    ]
    stamps = sources.files.column("timestamp")
    assert stamps.type == pa.timestamp("ms", "UTC")
    assert stamps.cast(pa.int64()).to_pylist() == [LONG_AGO + version for version in (0, 1, 2, 2, 3)]
    of_vector = ["unique_id", "storage_type", "cardinality", "path_or_inline", "offset", "size_in_bytes"]
    assert sources.files.column_names == [
        *("version", "timestamp", "kind", "path", "raw_path", "partition_values", "size", "num_records"),
        *("base_row_id", *(f"dv_{name}" for name in of_vector), *(f"before_dv_{name}" for name in of_vector)),
    ]
    kinds: list[tuple[Literal["cdc", "files", "none"], int]] = [
        ("files", 1),
        ("cdc", 1),
        ("files", 2),
        ("files", 1),
        ("none", 0),
    ]
    versions = [ChangeVersion(at, LONG_AGO + at, kind, True, count) for at, (kind, count) in enumerate(kinds)]
    assert msgspec.structs.replace(sources, files=None) == ChangeSources(0, 4, 4, tuple(versions), None)
    assert locations(sources.files) == [
        (0, "/vectors/one.bin"),
        (0, "kept one"),
        (1, "_change_data/c c"),
        (2, "/vectors/one.bin"),
        (2, "kept one"),
        (2, "new"),
        (3, "kept one"),
    ]
    assert read_estimate(sources.files) == ReadEstimate(3, 110)
    assert told(found, 4, 4).files.num_rows == 0
    assert read_estimate(told(found, 4, 4).files) == ReadEstimate(0, 0)


def test_bytes_to_read_are_not_known_where_those_of_a_file_are_not() -> None:
    files = pa.table({"path": ["a", "b", "a"], "size": pa.array([1, None, 1], pa.int64())})
    assert read_estimate(files) == ReadEstimate(2, None)
    assert read_estimate(files.slice(0, 1)) == ReadEstimate(1, 1)


def test_a_difference_of_versions_holds_the_rows_of_either() -> None:
    one = vector("one")
    found = table(
        {
            0: [MASKED, on(), add("a", 5), add("b", 5), add("same", 2), add("kept", 2, vector=one)],
            1: [remove("b"), remove("a"), add("a", 5, vector=one), remove("same"), add("same", 2), add("c", 3)],
        }
    )
    life = found.history_record().lifetimes
    keys = ("version", "kind", "path", "dv_unique_id", "before_dv_unique_id")

    def differ(first: int, last: int) -> list[tuple[Any, ...]]:
        return [tuple(row[key] for key in keys) for row in difference_table(life, first, last).to_pylist()]

    assert differ(0, 1) == [
        (0, "delete", "b", None, None),
        (1, "difference", "a", one.unique_id, None),
        (1, "insert", "c", None, None),
    ]
    assert differ(1, 0) == [
        (1, "delete", "c", None, None),
        (0, "difference", "a", None, one.unique_id),
        (0, "insert", "b", None, None),
    ]
    assert difference_table(life, 0, 1).column_names[:3] == ["version", "kind", "path"]
    with pytest.raises(VersionNotFound):
        difference_table(life, 0, 2)


def test_rows_whose_masking_changed_are_told_apart_and_a_broken_vector_is_named() -> None:
    store = new_store()
    none = masked_difference(store, None, None)
    assert [(each.tolist(), str(each.dtype)) for each in none] == [([], "uint64")] * 2
    gone, back = masked_difference(store, None, inline(3, 1))
    assert (gone.tolist(), back.tolist()) == ([1, 3], [])
    broken = DeletionVectorDescriptor("i", z85_encode(b"12345678"), 8, 1)
    for before, after in ((broken, None), (None, broken), (inline(1), broken)):
        with pytest.raises(CorruptDeletionVector) as refused:
            masked_difference(store, before, after, "the file", 7)
        assert (refused.value.path, refused.value.version) == ("the file", 7)


def test_the_versions_that_record_changes_are_those_between_what_turns_it_on_and_off() -> None:
    spans = table(
        {
            0: [protocol(1, 2), on()],
            1: [FEED],
            2: [on("TRUE")],
            3: [add("a")],
            4: [on(None)],
            5: [on("false")],
            6: [on()],
            7: [on("true", more="x")],
        }
    )
    assert feed.change_feed_coverage(spans.history_record()) == (FeedSpan(1, 3), FeedSpan(6, 7))
    late = begun_late({v: [add(f"{v}")] for v in range(1, 6)} | {0: [FEED, on()]}, 3, [FEED, on(), add("x")], gone=2)
    history = late.history_record()
    assert ([record.version for record in history.commits], history.first_readable) == ([2, 3, 4, 5], 3)
    assert feed.change_feed_coverage(history) == (FeedSpan(3, 5),)
    alone = begun_late({0: [FEED, on()]}, 0, [FEED, on()])
    assert feed.change_feed_coverage(alone.history_record()) == ()


@pytest.mark.parametrize(
    ("versions", "asked", "nearest"), [((1, 4), 1, 3), ((2, 3), 2, 3), ((3, 6), 6, 5), ((4, 9), 9, 5), ((9, 9), 9, 5)]
)
def test_a_range_that_leaves_the_log_is_refused_with_what_there_is(
    versions: tuple[int, int], asked: int, nearest: int
) -> None:
    late = begun_late({v: [add(f"{v}")] for v in range(1, 6)} | {0: [FEED, on()]}, 3, [FEED, on(), add("x")], gone=2)
    with pytest.raises(VersionNotFound) as refused:
        told(late, *versions)
    assert str(refused.value) == (
        f"The changes of version {asked} are not in the log; it has those of 3 to 5. The nearest is {nearest}."
    )
    error = refused.value
    assert (error.version, error.earliest, error.latest, error.nearest) == (asked, 3, 5, nearest)


def test_a_log_of_a_checkpoint_alone_has_no_changes_and_names_no_version_that_has() -> None:
    store = new_store()
    write_checkpoint(store, 5, [FEED, on()], "classic")
    alone = explorer.Table(store)
    for version in (4, 5, 6):
        with pytest.raises(VersionNotFound) as refused:
            told(alone, version, version)
        error = refused.value
        assert str(error) == f"The changes of version {version} are not in the log; it has those of no version."
        assert (error.version, error.earliest, error.latest, error.nearest) == (version, None, 5, None)


def test_a_range_that_runs_backwards_is_refused_where_its_ends_exist() -> None:
    found = table({0: [FEED, on()], 1: [add("a")]})
    with pytest.raises(RequestError) as refused:
        feed.change_feed_holes(found.history_record(), 1, 0)
    assert str(refused.value) == "The range 1 to 0 is reversed. Give the earlier version first."
    with pytest.raises(VersionNotFound, match=r"^The changes of version 9 are not in the log"):
        feed.change_feed_holes(found.history_record(), 9, 1)
    for version in (-1, 2):
        with pytest.raises(VersionNotFound) as unknown:
            told(found, 0, 1, schema_version=version)
        assert str(unknown.value) == (
            f"The schema of version {version} is not in the log, whose newest version is 1. "
            "Give another schema version."
        )
        assert (unknown.value.version, unknown.value.latest) == (version, 1)


def switched(*values: bool) -> explorer.Table:
    commits: dict[int, list[Any]] = {v: [on("true" if value else "false")] for v, value in enumerate(values)}
    commits[0].insert(0, FEED)
    return table(commits)


@pytest.mark.parametrize(
    ("values", "first", "last", "where", "advice"),
    [
        ("0", 0, 0, "version 0", "The feed was never on."),
        ("00", 0, 1, "versions 0 to 1", "The feed was never on."),
        ("01", 0, 0, "version 0", "The feed was on in version 1."),
        (
            "1010101010110",
            0,
            12,
            "version 1",
            "The feed was on in versions 2, 4, 6, 8, 10 to 11.",
        ),
    ],
)
def test_a_range_in_which_the_feed_was_off_is_refused_with_where_it_was_on(
    values: str, first: int, last: int, where: str, advice: str
) -> None:
    found = switched(*(value == "1" for value in values))
    with pytest.raises(ChangeFeedGap) as refused:
        told(found, first, last)
    holes = feed.change_feed_holes(found.history_record(), first, last)
    assert str(refused.value) == (
        f"The changes of versions {first} to {last} cannot be read: at {where} {OFF_DETAIL}. {advice} "
        "Infer the changes from the files: inferred=True in Python, --inferred in the command."
    )
    assert (refused.value.version, refused.value.holes) == (
        holes[0].from_version,
        [{"kind": h.kind, "fromVersion": h.from_version, "toVersion": h.to_version, "detail": h.detail} for h in holes],
    )


def test_holes_of_several_kinds_come_in_the_order_of_their_versions() -> None:
    columns = metadata({"id": "long", "x": "date"}, configuration={ENABLED: "true"})
    found = table({0: [FEED, columns], 1: [on()], 2: [columns], 3: [on("false")], 4: [on()]})
    history = found.history_record()
    gone = "column x is not in the schema to read with (dropped, or replaced by another column), that of version"
    assert feed.change_feed_holes(history, 0, 4) == (
        FeedHole("schema", 0, 0, f"{gone} 4"),
        FeedHole("schema", 2, 2, f"{gone} 4"),
        FeedHole("off", 3, 3, OFF_DETAIL),
    )
    assert feed.change_feed_holes(history, 2, 4, inferred=True, schema_version=3) == (
        FeedHole("schema", 2, 2, f"{gone} 3"),
    )
    with pytest.raises(ChangeFeedGap) as refused:
        told(found, 0, 1)
    assert str(refused.value) == (
        f"The changes of versions 0 to 1 cannot be read: at version 0 {gone} 4. Request a range that begins after the "
        "change, or read this one with the schema of another version: schema_version in Python, --schema-version in "
        "the command."
    )
    skipped = told(found, 0, 4, skip=True)
    assert [each.version for each in skipped.versions] == [1, 4]


def test_a_commit_that_is_gone_is_a_hole_of_its_own() -> None:
    found = table({v: [add(f"{v}")] for v in range(1, 5)} | {0: [FEED, on()]})
    whole = found.history_record()
    left = [record for record in whole.commits if record.version not in (1, 3)]
    history = History(left, whole.lifetimes, None, versions=(0, 4))
    said = "the commit is no longer in the log"
    holes = tuple(FeedHole("gone", version, version, said) for version in (1, 3))
    assert feed.change_feed_holes(history, 0, 4) == holes
    assert feed.change_feed_holes(history, 3, 3) == holes[1:]
    with pytest.raises(ChangeFeedGap) as refused:
        feed.change_sources(found.store, found.listing, history, 1, 4)
    assert str(refused.value) == (
        f"The changes of versions 1 to 4 cannot be read: at version 1 {said}. Request a range without it."
    )
