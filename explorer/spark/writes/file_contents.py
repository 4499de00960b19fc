"""The contents of a version's files: columns that the table has dropped, facts of live rows, the extreme of a column.

Protocol sections: Column Mapping, Row Tracking, Per-file Statistics, Identity Columns. Invariants: masked rows count
nowhere; a column with a NaN or an infinity has no bounds; tasks read footers, in which a column is known by its
physical name, or by its Parquet field ID where the table is read by IDs; the columns of row tracking are the table's
own; a footer that cannot be read is an error that names the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_column,
)
from explorer.core.protocol.schema.nested_types import Path, walk
from explorer.core.transaction.new_files.file_facts import LiveFacts
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import check_present
from explorer.spark.engine.session import engine
from explorer.spark.scan.object_files import read_footers
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.plan import addresses_of
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

_BOUNDLESS: Final = frozenset(["boolean", "binary", "variant"])


def extreme(log: DeltaLog, snapshot: Snapshot, column: str, *, greatest: bool) -> int | None:
    """Return the minimum or the maximum of a column of whole numbers; see `RowEngine.extreme`."""
    live_rows = scan(log, snapshot)
    value = sf.col(".".join(map(quoted, parse_column(column))))
    frame = live_rows.frame.agg((sf.max(value) if greatest else sf.min(value)).alias("value"))
    result: int | None = to_arrow(Reading(frame, live_rows.failure)).column("value")[0].as_py()
    return result


def live_facts(
    log: DeltaLog, snapshot: Snapshot, files: pa.Table, leaves: Sequence[tuple[tuple[str, ...], StructField]]
) -> dict[str, LiveFacts]:
    """Describe the live rows of some files; see `RowEngine.live_facts`."""
    live_rows = scan(log, snapshot, files, row_identity=True, unpadded=True)
    columns: list[Column] = [sf.count(sf.lit(1)).alias("rows")]
    for place, (path, field) in enumerate(leaves):
        value = sf.col(".".join(map(quoted, path)))
        low, high = _ends(value, field)
        columns += [
            sf.count_if(value.isNull()).alias(f"nulls{place}"),
            low.alias(f"low{place}"),
            high.alias(f"high{place}"),
        ]
    table = to_arrow(Reading(live_rows.frame.groupBy("_file").agg(*columns), live_rows.failure)).combine_chunks()
    ends = [[table.column(f"{end}{place}").combine_chunks() for end in ("low", "high")] for place in range(len(leaves))]
    names = list(map(str, range(len(leaves))))
    facts = {}
    for row, path in enumerate(table.column("_file").to_pylist()):
        extremes = [pa.concat_arrays([end.slice(row, 1) for end in pair]) for pair in ends]
        facts[path] = LiveFacts(
            table.column("rows")[row].as_py(),
            tuple(table.column(f"nulls{place}")[row].as_py() for place in range(len(leaves))),
            pa.RecordBatch.from_arrays(extremes, names=names),
        )
    return facts


def _ends(value: Column, field: StructField) -> tuple[Column, Column]:
    """Return the least and the greatest value; null where the column gets no bounds."""
    if not isinstance(field.type, PrimitiveType) or field.type.name in _BOUNDLESS:
        return sf.lit(None), sf.lit(None)
    if field.type.name in ("float", "double"):
        odd = sf.isnan(value) | (sf.abs(value) == float("inf"))
        finite = sf.count_if(odd) == 0
        return sf.when(finite, sf.min(value)), sf.when(finite, sf.max(value))
    return sf.min(value), sf.max(value)


def files_with_dropped_columns(log: DeltaLog, snapshot: Snapshot) -> frozenset[str]:
    """Find the live files with a column, or a nested field, that the schema lacks; see `RowEngine`."""
    files = snapshot.logical_files
    if not files.num_rows:
        return frozenset()
    session = engine().session()
    addresses = addresses_of(log, files)
    check_present(addresses, files.column("size").to_pylist(), snapshot.version)
    frame = read_footers(session, addresses).select("name", "columns", "failure")
    table = to_arrow(Reading(frame, lambda error: failure_of(error, addresses, snapshot.version)))
    footers = {row["name"]: row for row in table.to_pylist()}
    known = _Known(snapshot)
    paths = files.column("path").to_pylist()
    holding = set()
    for path, address in zip(paths, addresses, strict=True):
        footer = footers[address.metadata_path]
        if footer["failure"]:
            raise CorruptTable(
                f"The columns of {path} in version {snapshot.version} cannot be listed: {footer['failure']}. "
                "Restore the file, or the version before it was added, and purge again.",
                path=path,
                version=snapshot.version,
            )
        if any(column not in known for column in footer["columns"]):
            holding.add(path)
    return frozenset(holding)


class _Known:
    """The columns of a version as its files hold them, at every level."""

    def __init__(self, snapshot: Snapshot) -> None:
        tracking, parts = snapshot.row_tracking, list(_parts(snapshot.schema, ()))
        own = (tracking.row_id_column, tracking.row_commit_version_column)
        self._paths = {_folded(path) for path, _ in parts} | {(name.lower(),) for name in own if name}
        self._open = {
            _folded(path) for path, kind in parts if isinstance(kind, PrimitiveType) and kind.name == "variant"
        }
        by_id = snapshot.column_mapping_mode == "id"
        self._ids = {field.field_id for _, field in walk(snapshot.schema)} - {None} if by_id else set()

    def __contains__(self, column: Mapping[str, Any]) -> bool:
        path = _folded(tuple(column["path"]))
        # The parts of a variant have no names in the schema.
        inside = any(path[:length] in self._open for length in range(1, len(path)))
        return inside or path in self._paths or column["id"] in self._ids


def _parts(kind: DataType, above: Path) -> Iterator[tuple[Path, DataType]]:
    """Yield every part of a type with its physical path."""
    inner: list[tuple[str, DataType]] = []
    match kind:
        case StructType():
            inner = [(field.physical_name, field.type) for field in kind.fields]
        case ArrayType():
            inner = [("element", kind.element_type)]
        case MapType():
            inner = [("key", kind.key_type), ("value", kind.value_type)]
        case PrimitiveType():
            pass
    for name, part in inner:
        yield (*above, name), part
        yield from _parts(part, (*above, name))


def _folded(path: Path) -> Path:
    return tuple(part.lower() for part in path)
