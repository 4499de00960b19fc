"""The row at a place in a file of a version: its values, and its ID where rows are tracked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from explorer.changed_rows.part_rows import PartRows, check_budget, read_parts
from explorer.changed_rows.parts import SourcePart
from explorer.changed_rows.small_story import all_rows_of
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import mask
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.data_files.column_sources import column_sources
from explorer.first_rows.file_rows import NotReadHere, PageMemory

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

_ANY_ROWS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row.

    Attributes:
        values: Its values by column name, as PyArrow gives them.
        row_id: Its ID; None where the version tracks no rows.
    """

    values: dict[str, Any]
    row_id: int | None


def row_at(log: DeltaLog, snapshot: Snapshot, path: str, row: int) -> PlacedRow:
    """Read the row at a place.

    Args:
        log: The table's log.
        snapshot: The version.
        path: The decoded path of the file.
        row: Its number in the file, from 0.

    Raises:
        RequestError: The version has no such file or row, or only Spark reads it.
        StorageError, CorruptTable, UnsupportedFeature, NotAllowed: As of
            `explorer.changed_rows.part_rows.read_parts`.
    """
    files = snapshot.logical_files
    is_it = [each == path for each in files.column("path").to_pylist()]
    file = files.filter(mask(is_it)).slice(0, 1)
    where = f"Version {snapshot.version} has no row {row} in a file {path}"
    if not file.num_rows:
        raise RequestError(f"{where}: the file is not live there. Choose a row in the Data tab.", field="row")
    sources = all_rows_of(file, snapshot.version)
    tracking = snapshot.row_tracking
    column = tracking.row_id_column if tracking.enabled else None
    more = [] if column is None else [StructField(column, PrimitiveType("long"))]
    part = SourcePart(0, None, np.array([row], np.uint64), inside=True)
    try:
        check_budget(sources, _ANY_ROWS)
        rows: PartRows = read_parts(log, column_sources(snapshot), sources, [part], PageMemory(), more=more)[0]
    except NotReadHere as error:
        raise RequestError(
            f"The row is not read here, as {error.reason}. Choose key columns, and enter their values.", field="row"
        ) from error
    if not len(rows.places):
        raise RequestError(f"{where}: it has fewer rows. Choose a row in the Data tab.", field="row")
    names = [field.name for field in snapshot.schema.fields]
    row_id = None
    if column is not None:
        base = file.column("base_row_id")[0].as_py()
        stored = rows.more[0][0].as_py()
        row_id = stored if stored is not None else None if base is None else base + row
    return PlacedRow({name: values[0].as_py() for name, values in zip(names, rows.columns, strict=True)}, row_id)
