"""The rows in which two versions differ, compared in this process where they are few.

The rules are those of `explorer.spark.changes.row_diff`: only files, and rows of files, that one version has alone are
read; rows of both sides cancel out; key columns match the rest. Invariant: all differences are counted, or Spark
compares them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from explorer.changed_rows.comparable import comparable_rows
from explorer.changed_rows.difference_preview import KINDS, RowDiffCounts, RowDiffPreview, difference_preview
from explorer.changed_rows.key_columns import check_difference_keys
from explorer.changed_rows.pairing import Matched, matched_by_key, surplus
from explorer.changed_rows.part_rows import MOST_ROWS, check_budget, check_values, read_parts
from explorer.changed_rows.parts import SourcePart, source_parts
from explorer.core.protocol.arrow.arrays import int32s, int64s, mask, strings
from explorer.core.protocol.arrow.arrow_types import json_variant_schema
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.versions.change_feed.sources import ReadEstimate, difference_table, read_estimate
from explorer.core.versions.column_matching import ComparedSide, UncomparedColumn, compare_columns
from explorer.data_files.column_sources import column_sources_of
from explorer.first_rows.file_rows import NotReadHere, PageMemory
from explorer.first_rows.first_rows import SparkOnly

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog


@dataclass(frozen=True, slots=True)
class _DifferenceKind:
    """One kind of rows that differ: its change, how many, whether their key is repeated, the rows before and after."""

    change: str
    count: int
    repeated: bool
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class _Ends:
    from_version: int
    to_version: int
    keys: tuple[str, ...]
    left_out: tuple[UncomparedColumn, ...]
    estimate: ReadEstimate


def small_differences(
    log: DeltaLog, from_version: int, to_version: int, keys: Sequence[str] | None = None, limit: int = 100
) -> RowDiffPreview | SparkOnly:
    """Compare the rows of two versions, or return why Spark must do it.

    Args:
        log: The table's log.
        from_version, to_version: The versions, in either order.
        keys: Names of top-level columns, as the later version has them; None compares entire rows.
        limit: Rows at most of each kind; all are counted.

    Raises:
        VersionNotFound: A version cannot be read.
        RequestError: A key is not a compared column, or is named twice.
        StorageError, CorruptTable, UnsupportedFeature, NotAllowed: As of
            `explorer.changed_rows.small_changes.small_changes`.
    """
    history = log.history_record()
    compared = compare_columns(history, log.snapshot(from_version), log.snapshot(to_version))
    chosen = check_difference_keys(keys or (), compared)
    files = difference_table(history.lifetimes, from_version, to_version)
    try:
        check_budget(files)
        parts, memory = list(source_parts(log, files)), PageMemory()
        deleted, inserted = ([part for part in parts if part.change == change] for change in ("delete", "insert"))
        before = side_rows(log, compared.before, compared.schema, files, deleted, memory=memory)
        after = side_rows(log, compared.after, compared.schema, files, inserted, memory=memory)
        columns = [pa.concat_arrays(pair) for pair in zip(before.columns, after.columns, strict=True)]
        check_values(columns)
    except NotReadHere as error:
        return SparkOnly(error.reason)
    if not columns:
        return SparkOnly("the versions share no column")
    rows = comparable_rows(columns, before.rows + after.rows)
    is_new = [False] * before.rows + [True] * after.rows
    differences = _differences(rows, is_new, _keys(columns, compared.schema, chosen, len(is_new)))
    table = _table(_some_of_each(differences, limit), columns, rows, compared.schema)
    ends = _Ends(from_version, to_version, chosen, compared.left_out, read_estimate(files))
    return difference_preview(table, _counts(differences), ends, by_spark=False)


@dataclass(frozen=True, slots=True)
class SideRows:
    """Rows of files of one version in the columns of a comparison, and where they are.

    Attributes:
        columns: The columns of the comparison.
        rows: How many rows there are.
        places: The source and the place in its file of each.
        stored_ids: The IDs in the files, where they were read.
    """

    columns: list[Any]
    rows: int
    places: list[tuple[int, int]]
    stored_ids: list[int | None]

    def row_ids(self, bases: Sequence[int | None]) -> list[int | None]:
        """Return the ID of each row: the one in its file, else by the first ID of its file and its place."""
        by_place = [None if bases[source] is None else bases[source] + place for source, place in self.places]  # type: ignore[operator]  # not None
        return [own if id_ is None else id_ for id_, own in zip(self.stored_ids, by_place, strict=True)]


def side_rows(
    log: DeltaLog,
    side: ComparedSide,
    schema: StructType,
    files: pa.Table,
    parts: Sequence[SourcePart],
    *,
    memory: PageMemory,
    more: Sequence[StructField] = (),
    most_rows: int = MOST_ROWS,
) -> SideRows:
    """Read rows of one version for a comparison.

    Args:
        log: The table's log.
        side: How to read its files.
        schema: The columns that are compared, with the types in which they are.
        files: Sources.
        parts: Which rows of them.
        memory: What all rows may take.
        more: The column of files with row IDs, if these are wanted.
        most_rows: Rows at most.

    Raises:
        NotReadHere, StorageError, CorruptTable, UnsupportedFeature, NotAllowed: As of
            `explorer.changed_rows.part_rows.read_parts`.
    """
    zone = log.snapshot(side.version).time_zone
    sources = column_sources_of(side.schema, side.partition_columns, side.version, by_id=side.by_id, zone=zone)
    read = read_parts(log, sources, files, parts, memory, more=more, most_rows=most_rows)
    kinds = json_variant_schema(schema).types
    columns = [
        pa.concat_arrays([pa.nulls(0, kind), *(_typed(rows.columns[place], kind) for rows in read)])
        for place, kind in enumerate(kinds)
    ]
    places = [(rows.part.source, place) for rows in read for place in rows.places.tolist()]
    stored_ids = [id_ for rows in read for id_ in (rows.more[0].to_pylist() if more else [])]
    return SideRows(columns, len(places), places, stored_ids)


def _typed(column: Any, kind: pa.DataType) -> Any:
    """The column in the type that is compared; one that the version lacks is null."""
    if column.type == kind:
        return column
    return pa.nulls(len(column), kind) if pa.types.is_null(column.type) else column.cast(kind)


def _keys(columns: Sequence[Any], schema: StructType, keys: tuple[str, ...], rows: int) -> Sequence[Hashable] | None:
    if not keys:
        return None
    fields = enumerate(schema.fields)
    return comparable_rows([columns[place] for place, field in fields if field.name in keys], rows)


def _differences(
    rows: Sequence[tuple[Hashable, ...]], is_new: Sequence[bool], keys: Sequence[Hashable] | None
) -> list[_DifferenceKind]:
    left = surplus(rows, is_new, range(len(rows)))
    matched = Matched((), tuple((row, count, False) for row, count in left.rows))
    if keys is not None:
        matched = matched_by_key(left, keys)
    updates = [_DifferenceKind("update", 1, False, old, new) for old, new in matched.pairs]
    others = [
        _DifferenceKind("insert", count, repeated, None, row)
        if count > 0
        else _DifferenceKind("delete", -count, repeated, row, None)
        for row, count, repeated in matched.others
    ]
    return updates + others


def _counts(differences: Sequence[_DifferenceKind]) -> RowDiffCounts:
    inserted, deleted, updated = (
        sum(each.count for each in differences if each.change == change) for change in ("insert", "delete", "update")
    )
    return RowDiffCounts(inserted, deleted, updated, sum(each.count for each in differences if each.repeated))


def _some_of_each(differences: Sequence[_DifferenceKind], limit: int) -> list[_DifferenceKind]:
    return [each for kind in KINDS for each in [each for each in differences if each.change == kind][:limit]]


def _table(
    shown: Sequence[_DifferenceKind], columns: Sequence[Any], rows: Sequence[tuple[Hashable, ...]], schema: StructType
) -> pa.Table:
    kinds = list(json_variant_schema(schema))
    return pa.table(
        {
            "change": strings([each.change for each in shown]),
            "count": int64s([each.count for each in shown]),
            "repeated_key": mask([each.repeated for each in shown]),
            "changed_columns": _changed_columns(shown, rows, [field.name for field in schema.fields]),
            "before": _images([each.before for each in shown], columns, kinds),
            "after": _images([each.after for each in shown], columns, kinds),
        }
    )


def _images(numbers: Sequence[int | None], columns: Sequence[Any], kinds: Sequence[pa.Field]) -> pa.StructArray:
    absent = [number is None for number in numbers]
    # A row that is absent has the values of another one, which the mask hides.
    taken = int64s([number or 0 for number in numbers])
    arrays = [pa.nulls(len(absent), column.type) if all(absent) else column.take(taken) for column in columns]
    return pa.StructArray.from_arrays(arrays, fields=kinds, mask=mask(absent))


def _changed_columns(
    shown: Sequence[_DifferenceKind], rows: Sequence[tuple[Hashable, ...]], names: Sequence[str]
) -> pa.ListArray:
    changed: list[list[str]] = []
    for each in shown:
        old, new = (() if row is None else rows[row] for row in (each.before, each.after))
        changed.append([name for name, was, now in zip(names, old, new, strict=False) if was != now])
    ends = int32s(list(accumulate(map(len, changed), initial=0)))
    values = strings([name for of_row in changed for name in of_row])
    no_update = mask([each.change != "update" for each in shown])
    kind = pa.list_(pa.field("element", pa.string()))
    return pa.ListArray.from_arrays(ends, values, type=kind, mask=no_update)
