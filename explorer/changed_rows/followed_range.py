"""The files of a range of versions in which a row is followed, and how each of them is read.

Invariants: columns are those of the last version, matched as `explorer.core.versions.column_matching` says; a column
that some file cannot give is left out and named; every file that was live at a version of the range is considered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from explorer.changed_rows.row_key import checked_key
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import mask
from explorer.core.protocol.schema.data_types import VOID, PrimitiveType, StructType, format_column, type_name
from explorer.core.versions.change_feed.key_files import KeyFiles, key_condition, live_between
from explorer.core.versions.column_matching import ComparedSide, UncomparedColumn, compare_columns

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

_IDS: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Epoch:
    """Files that are read in one way, columns as of `live_between`."""

    side: ComparedSide
    files: pa.Table


@dataclass(frozen=True, slots=True)
class FollowedRange:
    """A range of versions in which a row is followed.

    Attributes:
        first, last: The versions, both inclusive.
        key: The checked values of the key columns; empty where the row is followed by its ID.
        row_id: The ID of the row; None where it is followed by a key.
        row_id_column: Physical name of the column of files with IDs of rows that were moved; None where it has none.
        schema: The columns that all files have, with the types and names of the last version.
        files: All files that were live at a version of the range; columns as of `live_between`.
        epochs: Those that may hold the row, by how they are read.
        left_out: Columns that cannot be shown over the whole range, and why.
    """

    first: int
    last: int
    key: Mapping[str, Any]
    row_id: int | None
    row_id_column: str | None
    schema: StructType
    files: pa.Table
    epochs: tuple[Epoch, ...]
    left_out: tuple[UncomparedColumn, ...]

    @property
    def may_hold(self) -> pa.Table:
        """The files that may hold the row."""
        return pa.concat_tables([epoch.files for epoch in self.epochs] or [self.files.slice(0, 0)])

    @property
    def files_total(self) -> int:
        """How many files were live at a version of the range."""
        return len(set(self.files.column("path").to_pylist()))


def followed_range(
    log: DeltaLog,
    key: Mapping[str, Any] | int,
    from_version: int | None = None,
    to_version: int | None = None,
) -> FollowedRange:
    """Find the files of a range in which a row is followed.

    Args:
        log: The table's log.
        key: Values by column name, names of ``to_version``; or the ID of a row.
        from_version: The first version; None is the oldest that can be read.
        to_version: The last version; None is the newest.

    Raises:
        RequestError: The key names no column or one that cannot be a key, a value does not fit its column, rows are not
            tracked, or the range runs backwards.
        VersionNotFound: A version cannot be read.
    """
    first = log.version_range()[0] if from_version is None else from_version
    last = log.latest_version() if to_version is None else to_version
    if first > last:
        raise RequestError(f"The range {first} to {last} is reversed. Give the earlier version first.")
    shown = log.snapshot(last)
    by_id = isinstance(key, int)
    if isinstance(key, int) and not 0 <= key < _IDS:
        raise RequestError(f"{str(key)[:40]} is not a row ID: IDs are whole numbers from 0, of 64 bits.", field="row")
    if by_id and not shown.row_tracking.enabled:
        raise RequestError(
            f"Rows have no IDs at version {last}: row tracking is off. Follow the row by key columns.", field="row"
        )
    column = shown.row_tracking.row_id_column if by_id else None
    if by_id and (column is None or column.lower() in {each.physical_name.lower() for each in shown.schema.fields}):
        raise RequestError(
            f"The properties of version {last} do not name the column with the IDs of rows that were moved. Follow the "
            "row by key columns.",
            field="row",
        )
    values = {} if isinstance(key, int) else checked_key(key, shown)
    files = live_between(log.history_record().lifetimes, first, last)
    epochs, left_out = _epochs(log, files, first, shown)
    schema = _common_schema(shown, epochs, left_out)
    _check_followed(values, schema, left_out, first, last)
    epochs = _that_may_hold(log, epochs, values, shown, first)
    given = {format_column((field.name,)) for field in schema.fields}
    left_out = [column for column in left_out if column.version != last or column.column not in given]
    row_id = key if isinstance(key, int) else None
    return FollowedRange(first, last, values, row_id, column, schema, files, tuple(epochs), tuple(left_out))


def _epochs(log: DeltaLog, files: pa.Table, first: int, shown: Snapshot) -> tuple[list[Epoch], list[UncomparedColumn]]:
    """Group files by the schema under which they were last live; also return columns that some of these lack."""
    history = log.history_record()
    starts = history.layout_changes(first, shown.version)
    ends = [start - 1 for start in starts[1:]] + [shown.version]
    lasts = files.column("last").to_pylist()
    epochs: list[Epoch] = []
    left_out: dict[tuple[str, int], UncomparedColumn] = {}
    for start, end in zip(starts, ends, strict=True):
        chosen = files.filter(mask([start <= last <= end for last in lasts]))
        then = shown if end == shown.version else log.snapshot(start)
        compared = compare_columns(history, then, shown)
        for column in compared.left_out:
            left_out.setdefault((column.column, column.version), column)
        if not chosen.num_rows:
            continue
        side = msgspec.structs.replace(compared.before, version=shown.version)
        same_side = next((place for place, epoch in enumerate(epochs) if epoch.side == side), None)
        if same_side is None:
            epochs.append(Epoch(side, chosen))
        else:
            epochs[same_side] = Epoch(side, pa.concat_tables([epochs[same_side].files, chosen]))
    return epochs, list(left_out.values())


def _common_schema(shown: Snapshot, epochs: Sequence[Epoch], left_out: list[UncomparedColumn]) -> StructType:
    """Return the columns of the last version that all files have; add to ``left_out`` those that narrowed."""
    common = []
    for field in shown.schema.fields:
        kinds = [there.type for epoch in epochs if (there := epoch.side.schema.field(field.name)) is not None]
        wider = next((kind for kind in kinds if kind != VOID and type_name(kind) != type_name(field.type)), None)
        if wider is not None:
            reason = f"it was {type_name(wider)}, which holds more than its {type_name(field.type)}"
            left_out.append(UncomparedColumn(format_column((field.name,)), shown.version, reason))
        elif len(kinds) == len(epochs):
            common.append(field)
    return StructType(tuple(common))


def _check_followed(
    key: Mapping[str, Any], schema: StructType, left_out: Sequence[UncomparedColumn], first: int, last: int
) -> None:
    for name in key:
        if schema.field(name) is None:
            reason = next((c.reason for c in left_out if c.column == format_column((name,))), "not in all of them")
            raise RequestError(
                f"The key column {name!r} cannot be followed from version {first} to {last}: {reason}. Take a shorter "
                "range.",
                column=name,
            )


def _that_may_hold(
    log: DeltaLog, epochs: list[Epoch], values: dict[str, Any], shown: Snapshot, first: int
) -> list[Epoch]:
    """Return the epochs with only those files that may hold the key."""
    # A timestamp as a partition value depends on a zone; statistics and all other values do not.
    zoned = {field.name for field in shown.schema.fields if field.type == PrimitiveType("timestamp")}
    where = key_condition({name: value for name, value in values.items() if name not in zoned})
    if where is None:
        return epochs
    known = KeyFiles(log.snapshot(first).file_columns, first, log.commits(first + 1, shown.version))
    by_partition = len({epoch.side.partition_columns for epoch in epochs}) <= 1
    candidates = [
        replace(epoch, files=known.candidates(epoch.files, epoch.side, where, by_partition=by_partition))
        for epoch in epochs
    ]
    return [epoch for epoch in candidates if epoch.files.num_rows]
