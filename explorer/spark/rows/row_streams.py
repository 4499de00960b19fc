"""Streams of rows that are planned part by part: of a version, of its changes, and of its live files.

Parts grow, so that the first rows come soon and a limit is reached in few files. The live files are replayed by Spark,
so that no process holds the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrow_types import json_variant_schema, nullable_arrow_schema
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.nested_types import holds

if TYPE_CHECKING:
    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Planned

# The size of a piece of the result: bytes of Parquet, or rows. Java holds two, compressed, several times each.
_PIECE_BYTES: Final = 8 << 20
_PIECE_ROWS: Final = 250_000
_MOST_PIECES: Final = 1_000
# Parts grow up to what Spark's disks may have to hold: the first rows come soon, and a limit is reached in few files.
_FIRST_PART_BYTES: Final = 64 << 20
_PART_GROWTH: Final = 4
_LARGEST_PART_BYTES: Final = 1 << 30
# Bytes of a checkpoint for each piece of the live files.
_CHECKPOINT_BYTES: Final = 4 << 20
_CHANGE_FIELDS: Final = (
    pa.field("_change_type", pa.string()),
    pa.field("_commit_version", pa.int64()),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC")),
)


@dataclass(frozen=True, slots=True)
class StreamPart:
    """Some of the rows, planned.

    Attributes:
        planned: The rows.
        pieces: How many pieces to divide them into, each small enough to be held several times; at least 1.
    """

    planned: Planned
    pieces: int

    @classmethod
    def of(cls, planned: Planned, files: pa.Table) -> StreamPart:
        """Return rows that are read from some files: ``size`` in bytes, ``num_records`` null where unknown."""
        size, records = (pc.sum(files.column(name)).as_py() or 0 for name in ("size", "num_records"))
        return cls.of_pieces(planned, max(size // _PIECE_BYTES, records // _PIECE_ROWS))

    @classmethod
    def of_pieces(cls, planned: Planned, pieces: int) -> StreamPart:
        """Return rows to divide into about so many pieces."""
        return cls(planned, max(1, min(_MOST_PIECES, 1 + pieces)))


@dataclass(frozen=True, slots=True)
class RowStream:
    """Rows to stream, not planned yet.

    Attributes:
        name: What it is, for people.
        phase: What is being done, for people.
        schema: The schema of the batches.
        parts: Plans them part by part.
        unstreamed: Each part is fetched in one piece, as Spark cannot stream it.
        readable: Variants are the JSON they hold instead of their binaries.
        limit: How many rows are wanted; None for all. There may be more.
    """

    name: str
    phase: str
    schema: pa.Schema
    parts: Callable[[], Iterator[StreamPart]]
    unstreamed: bool = False
    readable: bool = False
    limit: int | None = None


def result_schema(schema: StructType, *, readable: bool = False) -> pa.Schema:
    """Return a table's columns as the rows have them: in order, logical names, exact types, all nullable.

    Args:
        schema: The table's.
        readable: As in `RowStream`.
    """
    return json_variant_schema(schema) if readable else nullable_arrow_schema(schema)


def version_stream(
    log: DeltaLog, snapshot: Snapshot, where: str | None, *, readable: bool = False, limit: int | None = None
) -> RowStream:
    """Stream the rows of a version for which a condition is true; ``readable`` and ``limit`` as in `RowStream`."""
    in_one_piece = holds(snapshot.schema, "variant") and not readable

    def parts() -> Iterator[StreamPart]:
        from explorer.spark.scan.scan import files_to_read, scan

        for files in _groups(files_to_read(log, snapshot, where), single=in_one_piece):
            yield StreamPart.of(scan(log, snapshot, files, where, needed=True), files)

    return RowStream(
        f"Rows of {log.name} at version {snapshot.version}",
        f"Reading {snapshot.num_files:,} files",
        result_schema(snapshot.schema, readable=readable),
        parts,
        in_one_piece,
        readable,
        limit,
    )


def change_stream(
    log: DeltaLog,
    sources: ChangeSources,
    keys: Sequence[str] = (),
    *,
    where: str | None = None,
    readable: bool = False,
    limit: int | None = None,
) -> RowStream:
    """Stream the rows of the change feed of a range of versions.

    Args:
        sources: Where the changes are.
        keys, where: As in `explorer.spark.changes.changes.changes`.
        readable, limit: As in `RowStream`.
    """
    schema = log.snapshot(sources.schema_version).schema
    in_one_piece = holds(schema, "variant") and not readable

    def parts() -> Iterator[StreamPart]:
        from explorer.spark.changes.changes import changes_of

        for files in _groups(sources.files, sources.next_cut, single=in_one_piece):
            yield StreamPart.of(changes_of(log, msgspec.structs.replace(sources, files=files), keys, where), files)

    return RowStream(
        f"Changes of {log.name}, versions {sources.from_version} to {sources.to_version}",
        f"Reading the changes of {sources.files.num_rows:,} files",
        pa.schema([*result_schema(schema, readable=readable), *_CHANGE_FIELDS]),
        parts,
        in_one_piece,
        readable,
        limit,
    )


def file_stream(
    log: DeltaLog, snapshot: Snapshot, make: Callable[[LogicalFiles], pa.Table], limit: int | None = None
) -> RowStream:
    """Stream the rows made of the live files of a version; see `explorer.spark.log.live_files`.

    Args:
        make: Makes the rows of some files; it is sent to Spark's tasks.
        limit: As in `RowStream`.
    """

    def parts() -> Iterator[StreamPart]:
        from explorer.spark.log.replay import replayed

        files = replayed(log, snapshot.version, make)
        yield StreamPart.of_pieces(files, files.size // _CHECKPOINT_BYTES)

    return RowStream(
        f"Files of {log.name} at version {snapshot.version}",
        "Replaying the checkpoint",
        make(LogicalFiles([])).schema,
        parts,
        limit=limit,
    )


def _groups(files: pa.Table, next_cut: Callable[[int], int] = lambda end: end, *, single: bool) -> Iterator[pa.Table]:
    """Yield files in parts, each of about the size that is allowed, and of one file at least.

    No files are one part: nothing is read of it, but the request is checked when it is planned.

    Args:
        files: With their ``size`` in bytes.
        next_cut: The first place from one on at which they may be cut.
        single: Cut wherever that is allowed.
    """
    if not files.num_rows:
        yield files
    ends = np.cumsum([size or 0 for size in files.column("size").to_pylist()])
    begin, most = 0, 0 if single else _FIRST_PART_BYTES
    while begin < len(ends):
        before = ends[begin - 1] if begin else 0
        end = next_cut(max(begin + 1, int(np.searchsorted(ends, before + most, "right"))))
        yield files.slice(begin, end - begin)
        begin, most = end, min(most * _PART_GROWTH, _LARGEST_PART_BYTES)
