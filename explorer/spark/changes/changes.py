"""What changed in a range of versions, row by row, as a lazy Spark DataFrame.

Protocol sections: Add CDC File (Reader Requirements), Row Tracking. One plan for the whole range: one read of all files
that were added, removed or re-masked, and one of all recorded change files, unioned. Invariants: what a version
recorded comes from its change files alone (CDF-005); every row carries the version and the time of its commit
(CDF-010); versions without a recorded feed are refused, or inferred from their files and named in
`Changes.inferred_versions`, with copies left out and updates paired as `explorer.spark.changes.pairing` says; only what
`Changes.sources` names as skipped is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.changed_rows.change_preview import CHANGE_COLUMNS
from explorer.changed_rows.key_columns import check_keys, check_names
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.versions.change_feed.feed import ChangeSources
from explorer.core.versions.change_feed.sources import ReadEstimate, read_estimate
from explorer.spark.changes.comparable import SIGN, are_few, by_place
from explorer.spark.changes.pairing import (
    REWRITTEN,
    ROW_ID,
    changes_in,
    kinds_in,
    pairs_by_id,
    pairs_by_key,
    unpaired,
)
from explorer.spark.changes.source_rows import FilePart, SourceRows, failure_of_reads, file_parts, source_rows
from explorer.spark.scan.compared import matching
from explorer.spark.scan.layout import Layout, layout_of
from explorer.spark.scan.results import PlannedRows, Reading, to_arrow
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

_CHANGE: Final = "__explorer_change"
_VERSION: Final = "__explorer_version"
_TIME: Final = "__explorer_time"
_BASE: Final = "__explorer_base_row_id"
_MATERIALISED: Final = "__explorer_materialised_row_id"
_KINDS: Final = ("version", "change_type", "rows")


@dataclass(frozen=True, slots=True)
class ChangeTally:
    """How many rows changed.

    Attributes:
        changes: version, change_type, rows; ascending.
        rewritten: version, rows: those that an inferred version wrote to another file as they were; ascending.
    """

    changes: pa.Table
    rewritten: pa.Table


@dataclass(frozen=True, slots=True)
class Changes(PlannedRows):
    """The changes of a range of versions, planned and not run.

    Attributes:
        frame: The rows: the table's columns in schema order, logical names, exact types, then ``_change_type``
            (``insert``, ``delete``, ``update_preimage``, ``update_postimage``), ``_commit_version`` and
            ``_commit_timestamp``; in no order.
        sources: Where they come from, version by version, and which versions were skipped.
        schema: The table's columns, those of `ChangeSources.schema_version`.
        parts: The reads that make up the frame.
        kinds: version, kind and rows, not summed up; kinds are change types, and ``rewritten``.
    """

    frame: DataFrame
    sources: ChangeSources
    schema: StructType
    parts: tuple[SourceRows, ...]
    kinds: DataFrame

    @property
    def inferred_versions(self) -> tuple[int, ...]:
        """Versions with changes that no feed recorded: inferred from the files that were added and removed.

        Equal rows that such a commit deleted and inserted cancel out, so a row that it only copied from one file to
        another is not a change. An update has its two images where the old and the new row share the key columns
        requested, or without such columns a row ID; otherwise it is a delete and an insert.
        """
        return self.sources.inferred_versions

    @property
    def estimate(self) -> ReadEstimate:
        """Files and bytes to be read, by the log."""
        return read_estimate(self.sources.files)

    def tally(self) -> ChangeTally:
        """Run it and count the changes, and the rows that were only rewritten; errors as of `to_arrow`."""
        summed = self.kinds.groupBy("version", "change_type").agg(sf.sum("rows").alias("rows"))
        counted = to_arrow(Reading(summed, self.failure))
        counted = counted.sort_by([("version", "ascending"), ("change_type", "ascending")])
        copies = pc.equal(counted.column("change_type"), REWRITTEN)
        return ChangeTally(counted.filter(pc.invert(copies)), counted.filter(copies).drop_columns(["change_type"]))

    def counts(self) -> pa.Table:
        """Run it and count: version, change_type, rows; ascending; errors as of `to_arrow`."""
        return self.tally().changes

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception out of Spark."""
        return failure_of_reads(self.parts, error)


def changes(
    log: DeltaLog,
    from_version: int,
    to_version: int | None = None,
    *,
    inferred: bool = False,
    skip: bool = False,
    schema_version: int | None = None,
    keys: Sequence[str] = (),
    where: str | None = None,
    by_id: bool = False,
) -> Changes:
    """Plan the changes of a range of versions.

    Args:
        from_version: The first version whose changes are given.
        to_version: The last one; None is the newest.
        inferred: Infer the changes of versions in which the feed was off from their adds, removes and deletion vectors;
            see `Changes.inferred_versions`.
        skip: Leave out versions whose changes are not known, and name them, instead of refusing the range.
        schema_version: Version whose schema the rows are shown with; see
            `explorer.core.versions.change_feed.feed.change_sources`.
        keys: Names of top-level columns that identify a row: inferred updates are paired by them, not by row id.
        where: SQL of one boolean expression over the columns that are shown; only rows for which it is TRUE, each image
            of an update by itself. Rows that were only rewritten are then not counted.
        by_id: Read across renames of columns; see `explorer.core.versions.change_feed.feed.change_sources`.

    Raises:
        ChangeFeedGap: The range has a gap: the feed was off, the schema changed, a commit or a file is missing.
        RequestError: The range runs backwards, the table has a column of a name that the feed adds, or a key is not
            one of its columns.
        VersionNotFound: The range goes beyond the versions that the log holds.
        StorageError, CorruptTable, UnsupportedFeature: As of `explorer.spark.scan.scan.rows`.
        EngineUnavailable: Spark or Java is missing.
    """
    last = log.latest_version() if to_version is None else to_version
    sources = log.change_sources(from_version, last, inferred, schema_version=schema_version, skip=skip, by_id=by_id)
    return changes_of(log, sources, keys, where)


def changes_of(log: DeltaLog, sources: ChangeSources, keys: Sequence[str] = (), where: str | None = None) -> Changes:
    """Plan the changes that some sources hold; ``keys``, ``where`` and errors as in `changes`."""
    layout = layout_of(log.snapshot(sources.schema_version))
    check_names(layout.schema, sources.schema_version)
    paired_by = check_keys(
        keys, layout.schema, sources.schema_version, f"at version {sources.schema_version} to pair rows by"
    )
    files, reads = sources.files, list[SourceRows]()
    parts = file_parts(log, files)
    inferred = [part for part in parts if part.change is not None]
    recorded = [part for part in parts if part.change is None]
    version_of = files.column("version").to_pylist()
    copying = _copying_versions(sources, [(version_of[part.source], part.change) for part in inferred])
    plain = [part for part in inferred if version_of[part.source] not in copying]

    def read(chosen: list[FilePart], marks: RowMarks) -> DataFrame:
        reads.append(source_rows(log, layout.with_marks(marks), files, chosen))
        return reads[-1].frame

    frames, kinds = list[DataFrame](), list[DataFrame]()
    if plain or not parts:
        frames.append(read(plain, _marks(recorded=False)))
    if recorded:
        frames.append(read(recorded, _marks(recorded=True)))
    kinds += [frame.select(*_kind_of_rows()) for frame in frames]
    for row_ids, versions in _by_row_ids(sources, copying, layout, paired_by):
        copied = [part for part in inferred if version_of[part.source] in versions]
        few = are_few(files.take(pa.array([part.source for part in copied], pa.int64())))
        rows = read(copied, _marks(recorded=False, row_ids=row_ids))
        compared = _compared(rows, layout.schema, paired_by, row_ids, few=few)
        frames.append(changes_in(compared, layout.schema, CHANGE_COLUMNS[1:]).toDF(*_names(layout.schema)))
        kinds.append(kinds_in(compared, CHANGE_COLUMNS[1]).toDF(*_KINDS))
    union = DataFrame.union
    if where is not None:
        matched = matching(reduce(union, frames), layout, where, marks=len(CHANGE_COLUMNS))
        return Changes(matched, sources, layout.schema, tuple(reads), matched.select(*_kind_of_rows()))
    return Changes(reduce(union, frames), sources, layout.schema, tuple(reads), reduce(union, kinds))


def _kind_of_rows() -> list[Column]:
    """Return version, kind and number of each changed row."""
    change, version = (sf.col(name) for name in CHANGE_COLUMNS[:2])
    return [version.alias("version"), change.alias("change_type"), sf.lit(1).cast("long").alias("rows")]


def _names(schema: StructType) -> list[str]:
    return [*(field.name for field in schema.fields), *CHANGE_COLUMNS]


def _copying_versions(sources: ChangeSources, changes: Sequence[tuple[int, str | None]]) -> frozenset[int]:
    """Return the inferred versions whose commit may have copied rows: of its changes some delete and some insert."""
    deleting, inserting = ({version for version, side in changes if side == kind} for kind in ("delete", "insert"))
    return frozenset(sources.inferred_versions) & deleting & inserting


def _by_row_ids(
    sources: ChangeSources, versions: frozenset[int], layout: Layout, keys: tuple[str, ...]
) -> list[tuple[str | None, frozenset[int]]]:
    """Group versions by the column with their row IDs; None where rows are not paired by ID."""
    taken = {field.physical_name.lower() for field in layout.schema.fields}
    by_column: dict[str | None, set[int]] = {}
    for each in sources.versions:
        if each.version in versions:
            column = None if keys else each.row_id_column
            # A column of the table under the name of the row ids leaves these unknown.
            by_column.setdefault(None if column is None or column.lower() in taken else column, set()).add(each.version)
    return [(column, frozenset(those)) for column, those in by_column.items()]


def _compared(
    frame: DataFrame, schema: StructType, keys: tuple[str, ...], row_ids: str | None, *, few: bool
) -> DataFrame:
    """Compare the rows that each version deleted with those that it inserted."""
    change, *commit = CHANGE_COLUMNS
    sign = sf.when(sf.col(change) == "insert", sf.lit(1)).otherwise(sf.lit(-1))
    others = len(CHANGE_COLUMNS) + (row_ids is not None)
    rows = by_place(frame, schema, keep=others).withColumn(SIGN, sign).drop(change)
    if keys:
        return pairs_by_key(rows, schema, commit, keys, few=few)
    return unpaired(rows, schema, commit, few=few) if row_ids is None else pairs_by_id(rows, schema, commit, few=few)


def _marks(*, recorded: bool, row_ids: str | None = None) -> RowMarks:
    """Return marks with what happened to a row, and when.

    Args:
        recorded: The rows are recorded changes, whose files record what happened.
        row_ids: Physical name of the column with the IDs of rows that were moved; None gives no IDs.
    """
    change, version, time = CHANGE_COLUMNS
    given: dict[str, tuple[str, Callable[[Column], Column]]] = {
        change: ("string", lambda _: sf.col(_CHANGE)),
        version: ("long", lambda _: sf.col(_VERSION)),
        time: ("timestamp", lambda _: sf.col(_TIME)),
    }
    known: dict[str, tuple[st.DataType, Callable[[pa.Table], Any]]] = {
        _VERSION: (st.LongType(), lambda files: files.column("version")),
        _TIME: (st.TimestampType(), lambda files: files.column("timestamp").cast(pa.timestamp("us", "UTC"))),
    }
    stored: dict[str, tuple[str, st.DataType]] = {}
    if recorded:
        stored[_CHANGE] = (change, st.StringType())
    else:
        known[_CHANGE] = (st.StringType(), lambda files: files.column("change"))
    if row_ids is not None:
        stored[_MATERIALISED] = (row_ids, st.LongType())
        known[_BASE] = (st.LongType(), lambda files: files.column("base_row_id"))
        given[ROW_ID] = ("long", lambda row_index: sf.coalesce(sf.col(_MATERIALISED), sf.col(_BASE) + row_index))
    return RowMarks(given, known, stored)
