"""What changed in a range of versions, row by row, as a lazy Spark DataFrame.

Protocol section: Add CDC File (Reader Requirements). One plan for the whole range: one read of all files that were
added, removed or re-masked, and one of all recorded change files, unioned. Invariants: what a version recorded comes
from its change files alone (CDF-005); every row carries the version and the time of its commit (CDF-010); versions
without a recorded feed are refused, or inferred from their files and named in `Changes.inferred_versions`; only what
`Changes.sources` names as skipped is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.versions.change_feed.feed import ChangeSources
from explorer.core.versions.change_feed.sources import ReadEstimate, read_estimate
from explorer.spark.changes.comparable import by_place
from explorer.spark.changes.source_rows import Part, SourceRows, failure_of_reads, file_parts, source_rows
from explorer.spark.changes.surplus import SIGN, are_few, surplus
from explorer.spark.scan.layout import layout_of

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

__all__ = ["CHANGE_COLUMNS", "Changes", "changes", "changes_of"]

CHANGE_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
"""Columns after the table's own."""

_CHANGE: Final = "__explorer_change"
_VERSION: Final = "__explorer_version"
_TIME: Final = "__explorer_time"
_COPY: Final = "__explorer_copy"


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a range of versions, planned and not run.

    Attributes:
        frame: The rows: the table's columns in schema order, logical names, exact types, then ``_change_type``
            (``insert``, ``delete``, ``update_preimage``, ``update_postimage``), ``_commit_version`` and
            ``_commit_timestamp``; in no order.
        sources: Where they come from, version by version, and which versions were skipped.
        schema: The table's columns, those of `ChangeSources.schema_version`.
        parts: The reads that make up the frame.
    """

    frame: DataFrame
    sources: ChangeSources
    schema: StructType
    parts: tuple[SourceRows, ...]

    @property
    def inferred_versions(self) -> tuple[int, ...]:
        """Versions with changes that no feed recorded: inferred from the files that were added and removed.

        Equal rows that such a commit deleted and inserted cancel out, so a row that it only copied from one file to
        another is no change. An update is a delete and an insert.
        """
        return self.sources.inferred_versions

    @property
    def estimate(self) -> ReadEstimate:
        """Files and bytes to be read, by the log."""
        return read_estimate(self.sources.files)

    def to_arrow(self, limit: int | None = None, *, readable: bool = False) -> pa.Table:
        """Run it.

        Args:
            limit: Number of rows to stop at; None takes all, which must fit into memory.
            readable: True gives variants as JSON text instead of their binaries, for people.

        Raises:
            ExplorerError: What Spark raised, typed, naming the file and the version.
        """
        from explorer.spark.scan.results import to_arrow

        return to_arrow(self, limit, readable=readable)

    def counts(self) -> pa.Table:
        """Run it and count: version, change_type, rows; ascending.

        Raises:
            ExplorerError: As `to_arrow`.
        """
        from explorer.spark.scan.results import Reading, to_arrow

        change, version = (sf.col(name) for name in CHANGE_COLUMNS[:2])
        counted = self.frame.groupBy(version.alias("version"), change.alias("change_type")).agg(
            sf.count(sf.lit(1)).alias("rows")
        )
        found = to_arrow(Reading(counted, self.failure))
        return found.sort_by([("version", "ascending"), ("change_type", "ascending")])

    def failure(self, error: Exception) -> ExplorerError:
        """The typed error for an exception out of Spark."""
        return failure_of_reads(self.parts, error)


def changes(
    log: DeltaLog,
    from_version: int,
    to_version: int | None = None,
    *,
    inferred: bool = False,
    skip: bool = False,
    schema_version: int | None = None,
) -> Changes:
    """Plan the changes of a range of versions.

    Args:
        log: The table's log.
        from_version: The first version whose changes are given.
        to_version: The last one; None is the newest.
        inferred: Infer the changes of versions in which the feed was off from their adds, removes and deletion vectors;
            equal rows that such a commit deleted and inserted cancel out.
        skip: Leave out versions whose changes are not known, and name them, instead of refusing the range.
        schema_version: Version whose schema the rows are shown with; see
            `explorer.core.versions.change_feed.feed.change_sources`.

    Raises:
        ChangeFeedGap: The range has a hole: the feed was off, the schema changed, a commit or a file is gone.
        RequestError: The range runs backwards, or the table has a column of a name that the feed adds.
        VersionNotFound: The range goes beyond the versions that the log holds.
        StorageError, CorruptTable, UnsupportedFeature: As of `explorer.spark.scan.scan.rows`.
        EngineUnavailable: Spark or Java is missing.
    """
    last = log.latest_version() if to_version is None else to_version
    sources = log.change_sources(from_version, last, inferred, schema_version=schema_version, skip=skip)
    return changes_of(log, sources)


def changes_of(log: DeltaLog, sources: ChangeSources) -> Changes:
    """Plan the changes that some sources hold; errors as `changes`."""
    layout = layout_of(log.snapshot(sources.schema_version))
    _check_names(layout.schema, sources.schema_version)
    files, reads = sources.files, list[SourceRows]()
    parts = file_parts(log, files)
    told = [part for part in parts if part.change is not None]
    recorded = [part for part in parts if part.change is None]
    version_of = files.column("version").to_pylist()
    copying = _copying_versions(sources, [(version_of[part.source], part.change) for part in told])
    plain = [part for part in told if version_of[part.source] not in copying]
    copied = [part for part in told if version_of[part.source] in copying]

    def read(chosen: list[Part], *, recorded: bool) -> DataFrame:
        reads.append(source_rows(log, layout.with_marks(_Marks(recorded=recorded)), files, chosen))
        return reads[-1].frame

    frames = []
    if plain or not parts:
        frames.append(read(plain, recorded=False))
    if recorded:
        frames.append(read(recorded, recorded=True))
    if copied:
        few = are_few(files.take(pa.array([part.source for part in copied], pa.int64())))
        frames.append(_without_copies(read(copied, recorded=False), layout.schema, few=few))
    return Changes(reduce(DataFrame.union, frames), sources, layout.schema, tuple(reads))


def _copying_versions(sources: ChangeSources, changes: Sequence[tuple[int, str | None]]) -> frozenset[int]:
    """The inferred versions whose commit may have copied rows: of its changes some delete and some insert."""
    deleting, inserting = ({version for version, side in changes if side == kind} for kind in ("delete", "insert"))
    return frozenset(sources.inferred_versions) & deleting & inserting


def _without_copies(frame: DataFrame, schema: StructType, *, few: bool) -> DataFrame:
    """Cancel out equal rows that one version deleted and inserted."""
    change, version, time = CHANGE_COLUMNS
    names = frame.columns
    sign = sf.when(sf.col(change) == "insert", sf.lit(1)).otherwise(sf.lit(-1))
    rows = by_place(frame, schema, keep=len(CHANGE_COLUMNS)).withColumn(SIGN, sign).drop(change)
    left = surplus(rows, schema, (version, time), few=few)
    each = left.withColumn(_COPY, sf.explode(sf.sequence(sf.lit(1), sf.abs(SIGN).cast("int"))))
    kind = sf.when(sf.col(SIGN) > 0, "insert").otherwise("delete").alias(change)
    places = [f"c{place}" for place in range(len(schema.fields))]
    return each.select(*places, kind, version, time).toDF(*names)


def _check_names(schema: StructType, version: int) -> None:
    for field in schema.fields:
        if field.name.lower() in CHANGE_COLUMNS:
            raise RequestError(
                f"The table has a column {field.name!r} at version {version}, which is the name of a column of its "
                "changes. Rename it to read them.",
                column=field.name,
                version=version,
            )


@dataclass(frozen=True, slots=True)
class _Marks:
    """What happened to a row, and when: from the log, or for recorded changes from their file."""

    recorded: bool

    def read_fields(self) -> list[st.StructField]:
        return [st.StructField(CHANGE_COLUMNS[0], st.StringType())] if self.recorded else []

    def read_columns(self) -> list[Column]:
        return [sf.col(CHANGE_COLUMNS[0]).alias(_CHANGE)] if self.recorded else []

    def fact_fields(self) -> list[st.StructField]:
        told = [] if self.recorded else [st.StructField(_CHANGE, st.StringType())]
        return [*told, st.StructField(_VERSION, st.LongType()), st.StructField(_TIME, st.TimestampType())]

    def facts(self, files: pa.Table) -> dict[str, Any]:
        told = {} if self.recorded else {_CHANGE: files.column("change")}
        times = files.column("timestamp").cast(pa.timestamp("us", "UTC"))
        return told | {_VERSION: files.column("version"), _TIME: times}

    def columns(self, row_index: Column) -> list[Column]:
        del row_index
        return [sf.col(name).alias(out) for name, out in zip((_CHANGE, _VERSION, _TIME), CHANGE_COLUMNS, strict=True)]

    def no_columns(self) -> list[Column]:
        kinds = ("string", "long", "timestamp")
        return [sf.lit(None).cast(kind).alias(out) for kind, out in zip(kinds, CHANGE_COLUMNS, strict=True)]
