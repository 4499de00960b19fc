"""What breaks a change feed: schemas that do not show its rows, files that are gone, commits that no feed recorded."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, CorruptTable
from explorer.core.protocol.actions import AddCDCFile, CommitInfo, DeletionVectorDescriptor, Metadata
from explorer.core.versions.change_feed.feed import (
    ChangeSources,
    ChangeVersion,
    FeedHole,
    change_feed_holes,
    change_sources,
    check_sources,
    without_vacuumed,
)
from explorer.core.versions.change_feed.schema_breaks import why_not_readable_as, why_rows_do_not_fit
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, add, new_store, remove, table
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import array, field, mapping, struct

FEED = protocol(1, 4)
MAPPED = protocol(2, 5)
TRACKED = protocol(1, 7, w="changeDataFeed rowTracking domainMetadata")
ENABLED = "delta.enableChangeDataFeed"


def columns(*fields: dict[str, Any], partitions: tuple[str, ...] = (), mode: str = "none") -> Metadata:
    mapped = {"delta.columnMapping.mode": mode}
    return Metadata(
        id="t", schema_string=json.dumps(struct(*fields)), partition_columns=partitions, configuration=mapped
    )


def stored(name: str, physical: str, kind: Any = "long", *, nullable: bool = True) -> dict[str, Any]:
    names = {"delta.columnMapping.id": int(physical[1:]), "delta.columnMapping.physicalName": physical}
    return field(name, kind, nullable=nullable, metadata=names)


K, M = field("k"), field("m", nullable=False)
GONE = "is not in the schema to read with (dropped, or replaced by another column)"


@pytest.mark.parametrize(
    ("written", "read", "why"),
    [
        ([K, M], [K, M], None),
        ([K], [K, field("new")], None),
        ([K, M], [M, K], None),
        ([K, field("a b")], [K], f"column `a b` {GONE}"),
        ([field("K")], [K], f"column K {GONE}"),
        ([field("k", "long")], [field("k")], "column k is long, but integer in the schema to read with"),
        ([field("k")], [field("k", "long")], "column k is integer, but long in the schema to read with"),
        ([K], [field("k", nullable=False)], "column k may be null, but not in the schema to read with"),
        ([field("k", nullable=False)], [K], None),
        ([K], [K, M], "column m did not exist and may not be null in the schema to read with"),
        ([field("s", struct(K))], [field("s", struct(K, M))], None),
        ([field("s", struct(K, field("x.y")))], [field("s", struct(K))], f"column s.`x.y` {GONE}"),
        (
            [field("l", array(struct(K)))],
            [field("l", array(struct(field("k", "date"))))],
            "column l.element.k is integer, but date in the schema to read with",
        ),
        (
            [field("l", array("long"))],
            [field("l", mapping("string", struct(K)))],
            "column l is array<long>, but map<string,struct<k:integer>> in the schema to read with",
        ),
        ([field("k", comment="a")], [field("k", comment="b")], None),
    ],
)
def test_rows_are_shown_with_another_schema_only_where_each_column_is_in_it(
    written: list[dict[str, Any]], read: list[dict[str, Any]], why: str | None
) -> None:
    before, after = columns(*written), columns(*read)
    assert why_rows_do_not_fit((FEED, before), (FEED, after)) == why
    history = table({0: [FEED, before], 1: [after]}).history_record()
    assert why_not_readable_as(history, 0, 1) == why
    assert why_not_readable_as(history, 1, 1) is None


@pytest.mark.parametrize(
    ("written", "read", "partitions", "why"),
    [
        ([stored("a", "p1")], [stored("b", "p1")], None, "column a is named b in the schema to read with"),
        ([stored("a", "p1")], [stored("a", "p2")], None, f"column a {GONE}"),
        (
            [stored("s", "p1", struct(stored("x.y", "p2")))],
            [stored("s", "p1", struct(stored("z", "p2")))],
            None,
            "column s.`x.y` is named s.z in the schema to read with",
        ),
        (
            [stored("s", "p1", struct(stored("x", "p2")))],
            [stored("t", "p1", struct(stored("x", "p2", "date")))],
            None,
            "column s is named t in the schema to read with",
        ),
        (
            [stored("a", "p1"), stored("b", "p2")],
            [stored("a", "p1"), stored("b", "p2")],
            (("a",), ("b",)),
            "the table is partitioned by other columns",
        ),
        (
            [stored("a", "p1"), stored("b", "p2")],
            [stored("a", "p1"), stored("b", "p2")],
            (("a", "b"), ("b", "a")),
            "the table is partitioned by other columns",
        ),
        ([stored("a", "p1")], [stored("a", "p1")], (("a", "gone"), ("a", "gone")), None),
        (
            [stored("a", "p1")],
            [stored("a", "p1")],
            (("gone",), ("lost",)),
            "the table is partitioned by other columns",
        ),
    ],
)
def test_columns_of_a_mapping_are_matched_by_where_they_are_stored(
    written: list[dict[str, Any]],
    read: list[dict[str, Any]],
    partitions: tuple[tuple[str, ...], tuple[str, ...]] | None,
    why: str | None,
) -> None:
    first, last = partitions or ((), ())
    before, after = (columns(*fields, partitions=by, mode="name") for fields, by in ((written, first), (read, last)))
    assert why_rows_do_not_fit((MAPPED, before), (MAPPED, after)) == why


def test_a_renamed_partition_column_is_the_same_one_and_a_mode_counts_where_it_is_allowed() -> None:
    before = columns(stored("a", "p1"), partitions=("a",), mode="name")
    after = columns(stored("a", "p1"), partitions=("a",), mode="id")
    assert why_rows_do_not_fit((MAPPED, before), (MAPPED, after)) is None
    assert why_rows_do_not_fit((MAPPED, before), (FEED, after)) == f"column a {GONE}"
    plain = columns(field("p1", "long"), partitions=("p1",))
    named = "column p1 is named a in the schema to read with"
    assert why_rows_do_not_fit((MAPPED, plain), (MAPPED, before)) == named
    nothing = msgspec.structs.replace(plain, schema_string=None, partition_columns=())
    assert why_rows_do_not_fit((FEED, plain), (FEED, nothing)) == f"column p1 {GONE}"
    assert why_rows_do_not_fit((FEED, nothing), (FEED, columns(K))) is None


def fed(value: str = "true", **more: str) -> Metadata:
    return msgspec.structs.replace(METADATA, configuration={ENABLED: value} | more)


def sources(found: explorer.Table, first: int, last: int, **more: Any) -> ChangeSources:
    return change_sources(found.store, found.listing, found.history_record(), first, last, **more)


def kinds(found: ChangeSources) -> list[tuple[int, str, str]]:
    columns = (found.files.column(name).to_pylist() for name in ("version", "kind", "path"))
    return list(zip(*columns, strict=True))


def broken() -> explorer.Table:
    """Changes of versions 1 to 5, of which some files are gone: a change file, a data file, a file of vectors."""
    store = new_store()
    masks = DeletionVectorDescriptor("p", f"{store.root}/v.bin", 34, 1, 1)
    features = protocol(3, 7, r="deletionVectors", w="deletionVectors changeDataFeed")
    commits: dict[int, list[Any]] = {
        0: [features, fed()],
        1: [add("a", 3)],
        2: [AddCDCFile(path="_change_data/z", size=1), AddCDCFile(path="_change_data/c", size=1), add("b", 3)],
        3: [remove("a"), add("a", 3, vector=masks)],
        4: [fed("false"), remove("b")],
        5: [fed(), add("d", 1)],
    }
    for key in ("a", "d", "_change_data/x"):
        store.put(key, b"x")
    return table(commits, store)


def test_files_that_are_gone_are_counted_with_the_first_of_them_named() -> None:
    found = broken()
    whole = sources(found, 0, 5, inferred=True)
    with pytest.raises(ChangeFeedGap) as refused:
        check_sources(whole, found.look_for)
    error = refused.value
    assert str(error) == (
        "The changes of version 2 cannot be read: their file _change_data/c is no longer in the table's folder, most "
        "likely deleted by VACUUM. 4 files are missing, of 3 versions. The changes of version 5 can still be read."
    )
    assert (error.version, error.versions, error.path, error.missing) == (2, [2, 3, 4], "_change_data/c", 4)
    with pytest.raises(ChangeFeedGap) as ending:
        check_sources(sources(found, 2, 2), found.look_for)
    assert str(ending.value).endswith("deleted by VACUUM. 2 files are missing, of 1 version.")
    check_sources(sources(found, 5, 5), found.look_for)
    assert kinds(found.change_sources(5, 5)) == [(5, "insert", "d")]


def test_versions_whose_files_are_gone_are_left_out_and_named_among_the_holes() -> None:
    found = broken()
    left = without_vacuumed(sources(found, 0, 5, skip=True), found.look_for)
    gone = "is no longer in the table's folder"
    place = sources(found, 3, 3).files.column("dv_path_or_inline")[0].as_py().removeprefix("file://")
    assert left.skipped == (
        FeedHole("vacuumed", 2, 2, f"the file _change_data/c {gone}"),
        FeedHole("vacuumed", 3, 3, f"the file {place} {gone}"),
        FeedHole("off", 4, 4, f"the change feed was off ({ENABLED} was not true)"),
    )
    assert kinds(left) == [(1, "insert", "a"), (5, "insert", "d")]
    assert [(each.version, each.source, each.num_sources) for each in left.versions] == [
        (0, "none", 0),
        (1, "files", 1),
        (5, "files", 1),
    ]
    assert (left.from_version, left.to_version, left.schema_version) == (0, 5, 5)
    assert found.change_sources(0, 5, skip=True) == left
    unbroken = sources(found, 5, 5)
    assert without_vacuumed(unbroken, found.look_for) is unbroken


def inferred() -> explorer.Table:
    ids = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_ids"}
    other = ids | {"delta.rowTracking.materializedRowIdColumnName": "_other"}
    commits: dict[int, list[Any]] = {
        0: [TRACKED, fed("false", **ids), add("a")],
        1: [remove("a"), add("b"), add("c")],
        2: [fed("true", **ids), add("d")],
        3: [fed("false", **ids)],
        4: [fed("false", **other), remove("c"), add("e")],
        5: [remove("e")],
        6: [fed("false"), remove("b")],
        7: [add("f")],
    }
    return table(commits)


def test_a_version_that_no_feed_recorded_says_where_the_ids_of_its_rows_are() -> None:
    found = sources(inferred(), 0, 7, inferred=True)
    assert [(each.version, each.recorded, each.num_sources, each.row_id_column) for each in found.versions] == [
        (0, False, 1, None),
        (1, False, 3, "_ids"),
        (2, True, 1, None),
        (3, False, 0, None),
        (4, False, 2, None),
        (5, False, 1, "_other"),
        (6, False, 1, None),
        (7, False, 1, None),
    ]
    assert found.inferred_versions == (0, 1, 4, 5, 6, 7)
    assert ChangeVersion(1, 2, "none", True, 0).row_id_column is None


@pytest.mark.parametrize(
    ("end", "place"), [(0, 0), (1, 1), (2, 4), (3, 4), (4, 4), (5, 5), (6, 7), (7, 7), (8, 8), (10, 10), (11, 11)]
)
def test_sources_are_cut_between_versions_that_no_feed_recorded_and_anywhere_else(end: int, place: int) -> None:
    found = sources(inferred(), 0, 7, inferred=True)
    assert found.files.column("version").to_pylist() == [0, 1, 1, 1, 2, 4, 4, 5, 6, 7]
    assert found.whole_until(end) == place
    recorded = sources(table({0: [FEED, fed()], 1: [add("a"), add("b")]}), 0, 1)
    assert recorded.whole_until(1) == 1


def late(*second: Any, values: dict[str, str | None] | None = None) -> explorer.Table:
    """A partitioned table that begins with the checkpoint of version 5, and removes files that this does not know."""
    store = new_store()
    partitioned = Metadata(
        id="t",
        schema_string=json.dumps(struct(field("p", "string"), K)),
        partition_columns=("p",),
        configuration={ENABLED: "true"},
    )
    write_checkpoint(store, 5, [FEED, partitioned], "classic")
    gone = [remove(name, partition_values=values or {}, extended_file_metadata=True) for name in ("x%20x", "y")]
    return table({5: [*gone, *second], 6: [add("b", partition_values={"p": "1"})]}, store)


def test_a_removed_file_of_no_known_partition_is_a_hole() -> None:
    said = "the partition values of the removed file x%20x are neither in its remove nor in an add of the log"
    hole = FeedHole("unresolved", 5, 5, said)
    history = late().history_record()
    assert change_feed_holes(history, 5, 6) == (hole,)
    assert change_feed_holes(history, 5, 5) == (hole,)
    assert change_feed_holes(history, 6, 6) == ()
    with pytest.raises(ChangeFeedGap) as refused:
        sources(late(), 5, 6)
    assert str(refused.value) == (
        f"The changes of versions 5 to 6 cannot be read: at version 5 {said}. Request a range that begins later."
    )
    assert change_feed_holes(late(values={"p": None}).history_record(), 5, 6) == ()
    recorded = late(AddCDCFile(path="c", size=1)).history_record()
    assert change_feed_holes(recorded, 5, 6) == ()
    plain = table({0: [FEED, fed(), add("a")], 1: [remove("a")]}).history_record()
    assert change_feed_holes(plain, 0, 1) == ()


def test_a_version_without_its_time_is_refused_by_its_number() -> None:
    timed = fed(**{"delta.enableInCommitTimestamps": "true"})
    stamp = CommitInfo(in_commit_timestamp=5)
    found = table({0: [FEED, timed, stamp], 1: [stamp, add("a")], 2: [add("b")], 3: [add("c")]})
    assert kinds(sources(found, 0, 1)) == [(1, "insert", "a")]
    with pytest.raises(CorruptTable) as refused:
        sources(found, 1, 3)
    assert refused.value.version == 2
    assert str(refused.value) == (
        "Version 2 has no inCommitTimestamp, though delta.enableInCommitTimestamps is true, so its changes have no "
        "time. A faulty client wrote the commit. Request a range without it."
    )
