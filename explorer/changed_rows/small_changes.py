"""The changes of a small range of versions, read in this process where that gives what Spark gives.

Protocol sections: Add CDC File (Reader Requirements), Deletion Vectors, Row Tracking. Invariants: what a version
recorded comes from its change files alone (CDF-005); rows that an inferred version only copied are no change; the range
is read whole, or left to Spark with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from explorer.changed_rows.change_preview import CHANGE_COLUMNS, ChangePreview, preview_of
from explorer.changed_rows.comparable import comparable_rows
from explorer.changed_rows.key_columns import check_keys, check_names
from explorer.changed_rows.pairing import matched_by_key, pairs_by_id, surplus
from explorer.changed_rows.part_rows import MOST_ROWS, PartRows, check_budget, check_values, read_parts, rows_schema
from explorer.changed_rows.parts import SourcePart, source_parts
from explorer.core.errors import UnsupportedFeature
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.versions.change_feed.feed import ChangeSources
from explorer.data_files.column_sources import ColumnSources, column_sources
from explorer.first_rows.file_rows import NotReadHere, PageMemory
from explorer.first_rows.first_rows import SparkOnly
from explorer.first_rows.row_conditions import judged

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

_CHANGE_TYPE: Final = StructField(CHANGE_COLUMNS[0], PrimitiveType("string"))
_Row = tuple[int, str]
"""The number of a row among those that were read, and what happened to it."""


@dataclass(frozen=True, slots=True)
class _Copying:
    """Versions whose commits may have copied rows, and the column of files with the IDs of rows that were moved."""

    row_ids: str | None
    versions: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Compared:
    """The changes of a version, and how many of its rows were only rewritten."""

    rows: list[_Row]
    rewritten: int


def small_changes(
    log: DeltaLog, sources: ChangeSources, limit: int | None, keys: Sequence[str] = (), where: str | None = None
) -> ChangePreview | SparkOnly:
    """Read the changes of a small range, or return why Spark must read them.

    Args:
        log: The table's log.
        sources: Where the changes are.
        limit: Rows at most of the preview; None gives all. All are counted.
        keys: Names of top-level columns that identify a row: inferred updates are paired by them, not by row ID.
        where: SQL of one boolean expression over the columns that are shown; only rows for which it is TRUE, each image
            of an update by itself.

    Raises:
        RequestError: A key is not a column, or the table has a column of a name that the feed adds.
        StorageError: A file is missing, or the store does not answer.
        CorruptTable: A file's size, a partition value or a deletion vector contradicts the log.
        UnsupportedFeature, NotAllowed: The location of a file cannot be read.
    """
    snapshot = log.snapshot(sources.schema_version)
    condition = None if where is None else judged(snapshot, where)
    if isinstance(condition, str):
        return SparkOnly(condition)
    columns = column_sources(snapshot)
    shown = sources.schema_version
    check_names(columns.schema, shown)
    pairing = check_keys(keys, columns.schema, shown, f"at version {shown} to pair rows by")
    try:
        check_budget(sources.files)
        table, rewritten = _ChangeReading(log, sources, columns, pairing, PageMemory()).changes()
    except NotReadHere as error:
        return SparkOnly(error.reason)
    if condition is not None:
        # Rows that were only rewritten are not looked at, so they are not counted either.
        table, rewritten = table.filter(condition.holds(table)), rewritten.slice(0, 0)
    return preview_of(sources, table, limit, counts=_counts(table), rewritten=rewritten, complete=True, by_spark=False)


def changed_rows(log: DeltaLog, sources: ChangeSources, keys: Sequence[str] = (), where: str | None = None) -> pa.Table:
    """Return all changes of a small range; arguments and other errors as of `small_changes`.

    Raises:
        UnsupportedFeature: Only Spark reads them; the message says why.
    """
    changes = small_changes(log, sources, None, keys, where)
    if isinstance(changes, SparkOnly):
        first, last = sources.from_version, sources.to_version
        where = f"version {first}" if first == last else f"versions {first} to {last}"
        raise UnsupportedFeature(
            f"The changes of {where} are not read without Spark, as {changes.reason}. Read them with Spark: "
            "Table.changes in Python, delta-explorer changes on the command line.",
            features=[],
            operation="read changes without Spark",
            version=last,
        )
    return changes.table


@dataclass(frozen=True, slots=True)
class _ChangeReading:
    log: DeltaLog
    sources: ChangeSources
    columns: ColumnSources
    keys: tuple[str, ...]
    memory: PageMemory

    def changes(self) -> tuple[pa.Table, pa.Table]:
        """All changes, and the rows that were only rewritten."""
        files = self.sources.files
        parts = list(source_parts(self.log, files))
        versions = files.column("version").to_pylist()
        copying = self._copying([(versions[part.source], part.change) for part in parts])
        of_copying = frozenset(version for group in copying for version in group.versions)
        plain = [part for part in parts if part.change is not None and versions[part.source] not in of_copying]
        recorded = [part for part in parts if part.change is None]
        tables = [_table(self._schema(), [], []), *self._plain(plain), *self._recorded(recorded)]
        rewritten: dict[int, int] = {}
        for group in copying:
            mine = [part for part in parts if part.change is not None and versions[part.source] in group.versions]
            for version, table, copies in self._compared(mine, group.row_ids, versions):
                tables.append(table)
                if copies:
                    rewritten[version] = copies
        table = pa.concat_tables(tables)
        if table.num_rows > 2 * MOST_ROWS:
            raise NotReadHere(f"there are more than {2 * MOST_ROWS:,} changes")
        ordered = sorted(rewritten.items())
        counted = {"version": int64s([each for each, _ in ordered]), "rows": int64s([rows for _, rows in ordered])}
        return table, pa.table(counted)

    def _copying(self, sides: Sequence[tuple[int, str | None]]) -> list[_Copying]:
        """The inferred versions that delete and insert rows, by the column with their row IDs."""
        deleting, inserting = ({each for each, side in sides if side == kind} for kind in ("delete", "insert"))
        wanted = frozenset(self.sources.inferred_versions) & deleting & inserting
        taken = {field.physical_name.lower() for field in self.columns.schema.fields}
        groups: dict[str | None, set[int]] = {}
        for each in self.sources.versions:
            if each.version in wanted:
                name = None if self.keys else each.row_id_column
                # A column of the table under the name of the row IDs leaves these unknown.
                groups.setdefault(None if name is None or name.lower() in taken else name, set()).add(each.version)
        return [_Copying(name, frozenset(versions)) for name, versions in groups.items()]

    def _read(self, parts: Sequence[SourcePart], more: Sequence[StructField] = ()) -> list[PartRows]:
        return read_parts(self.log, self.columns, self.sources.files, parts, self.memory, more=more)

    def _plain(self, parts: Sequence[SourcePart]) -> Iterator[pa.Table]:
        for rows in self._read(parts):
            kinds = strings([rows.part.change or ""] * len(rows.places))
            yield self._with_marks(rows.columns, kinds, rows.part.source)

    def _recorded(self, parts: Sequence[SourcePart]) -> Iterator[pa.Table]:
        for rows in self._read(parts, [_CHANGE_TYPE]):
            yield self._with_marks(rows.columns, rows.more[0], rows.part.source)

    def _compared(
        self, parts: Sequence[SourcePart], row_ids: str | None, versions: Sequence[int]
    ) -> Iterator[tuple[int, pa.Table, int]]:
        more = [] if row_ids is None else [StructField(row_ids, PrimitiveType("long"))]
        read = self._read(parts, more)
        for version in sorted({versions[rows.part.source] for rows in read}):
            mine = [rows for rows in read if versions[rows.part.source] == version]
            columns = [
                pa.concat_arrays([rows.columns[place] for rows in mine])
                for place in range(len(self.columns.schema.fields))
            ]
            check_values(columns)
            compared = self._changes_among(mine, columns, has_ids=row_ids is not None)
            taken = int64s([row for row, _ in compared.rows])
            kinds = strings([kind for _, kind in compared.rows])
            table = self._with_marks([column.take(taken) for column in columns], kinds, mine[0].part.source)
            yield version, table, compared.rewritten

    def _changes_among(self, parts: Sequence[PartRows], columns: Sequence[Any], *, has_ids: bool) -> _Compared:
        """What a commit changed, among the rows that it deleted and inserted."""
        is_new = [rows.part.change == "insert" for rows in parts for _ in rows.places]
        rows, numbers = comparable_rows(columns, len(is_new)), range(len(is_new))
        if has_ids:
            pairs = pairs_by_id(rows, is_new, self._ids(parts), numbers).pairs
            paired = frozenset(row for pair in pairs for row in pair)
            left = surplus(rows, is_new, [row for row in numbers if row not in paired])
            return _Compared([*_updates(pairs), *_others(left.rows)], left.cancelled)
        left = surplus(rows, is_new, numbers)
        if not self.keys:
            return _Compared(list(_others(left.rows)), left.cancelled)
        matched = matched_by_key(left, self._key_values(columns, len(is_new)))
        others = [(row, count) for row, count, _ in matched.others]
        return _Compared([*_updates(matched.pairs), *_others(others)], left.cancelled)

    def _key_values(self, columns: Sequence[Any], rows: int) -> list[tuple[Hashable, ...]]:
        fields = enumerate(self.columns.schema.fields)
        return comparable_rows([columns[place] for place, field in fields if field.name in self.keys], rows)

    def _ids(self, parts: Sequence[PartRows]) -> list[int | None]:
        bases = self.sources.files.column("base_row_id").to_pylist()
        return [id_ for rows in parts for id_ in row_ids_of(rows, bases[rows.part.source])]

    def _with_marks(self, columns: Sequence[Any], kinds: Any, source: int) -> pa.Table:
        files = self.sources.files
        rows = len(kinds)
        version = pa.repeat(files.column("version")[source], rows)
        time = pa.repeat(files.column("timestamp")[source].cast(pa.timestamp("us", "UTC")), rows)
        return _table(self._schema(), columns, [kinds, version, time])

    def _schema(self) -> pa.Schema:
        kinds = (pa.string(), pa.int64(), pa.timestamp("us", "UTC"))
        marks = [pa.field(name, kind) for name, kind in zip(CHANGE_COLUMNS, kinds, strict=True)]
        return pa.schema([*rows_schema(self.columns), *marks])


def row_ids_of(rows: PartRows, base: int | None) -> list[int | None]:
    """Return the ID of each row: the one in its file, else by the file's first ID and the row's place; None if unknown.

    Args:
        rows: With the column of IDs as the last that was read besides the table's.
        base: The file's first row ID by the log.
    """
    stored = rows.more[-1].to_pylist()
    by_place = [None] * len(stored) if base is None else (rows.places + np.int64(base)).tolist()
    return [own if id_ is None else id_ for id_, own in zip(stored, by_place, strict=True)]


def _updates(pairs: Sequence[tuple[int, int]]) -> Iterator[_Row]:
    for old, new in pairs:
        yield old, "update_preimage"
        yield new, "update_postimage"


def _others(left: Sequence[tuple[int, int]]) -> Iterator[_Row]:
    for row, count in left:
        for _ in range(abs(count)):
            yield row, "insert" if count > 0 else "delete"


def _table(schema: pa.Schema, columns: Sequence[Any], marks: Sequence[Any]) -> pa.Table:
    if not marks:
        return pa.Table.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    return pa.Table.from_arrays([*columns, *marks], schema=schema)


def _counts(table: pa.Table) -> pa.Table:
    """Changes by version and kind, ascending."""
    kinds, versions = (table.column(name).to_pylist() for name in CHANGE_COLUMNS[:2])
    counted = sorted(Counter(zip(versions, kinds, strict=True)).items(), key=lambda each: (each[0][0], str(each[0][1])))
    return pa.table(
        {
            "version": int64s([version for (version, _), _ in counted]),
            "change_type": strings([kind for (_, kind), _ in counted]),
            "rows": int64s([rows for _, rows in counted]),
        }
    )
