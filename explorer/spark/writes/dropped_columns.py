"""Live files that still hold a column which the table has dropped, by their footers.

Protocol sections: Column Mapping, Row Tracking. Invariants: the tasks read the footers; a column is known by its
physical name, or by its Parquet field id where the table is read by ids; the columns that row tracking keeps are the
table's own; a footer that cannot be read is an error that names the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType
from explorer.core.protocol.schema.nested_types import Path, walk
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import check_present
from explorer.spark.engine.session import engine
from explorer.spark.scan.object_files import read_footers
from explorer.spark.scan.plan import addresses_of
from explorer.spark.scan.results import Reading, to_arrow

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["files_with_dropped_columns"]


def files_with_dropped_columns(log: DeltaLog, snapshot: Snapshot) -> frozenset[str]:
    """Find the live files that hold a column, or a nested field, that the schema lacks; their decoded paths.

    Raises:
        CorruptTable: The footer of a file cannot be read.
        EngineUnavailable: Spark or Java is missing.
    """
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
                "Restore the file, or the version before it came, and purge again.",
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
        # What a variant is made of has no names in the schema.
        inside = any(path[:length] in self._open for length in range(1, len(path)))
        return inside or path in self._paths or column["id"] in self._ids


def _parts(kind: DataType, above: Path) -> Iterator[tuple[Path, DataType]]:
    """Every part of a type with its physical path."""
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
