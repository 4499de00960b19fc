"""How each stored file is read so that predicates over the newest columns can be answered from it.

Protocol sections: Column Mapping, Type Widening, Partition Value Serialization. Invariants: a file is read with the
schema of the version that last had it, matched to the newest by lineage, so a renamed column is read, a wider type
compared, and a column added later is null; where the types do not compare, or only the folders could say a partition
value and do not, the file is not answered. A name that meant another column while the file was live is named too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

import msgspec
import numpy as np
import pyarrow as pa

from explorer.auditing.erasure.stored_files import StoredFiles
from explorer.auditing.erasure.value_conditions import logged_columns
from explorer.auditing.words import span
from explorer.core.protocol.arrow.arrays import mask, string_maps
from explorer.core.protocol.file_paths import NULL_FOLDER
from explorer.core.protocol.schema.column_mapping import unmapped
from explorer.core.protocol.schema.data_types import (
    VOID,
    DataType,
    StructField,
    StructType,
    format_column,
    type_name,
)
from explorer.core.protocol.schema.field_metadata import PHYSICAL_NAME
from explorer.core.protocol.schema.type_widening import widens
from explorer.core.protocol.sql.tokens import tokens_of
from explorer.core.versions.column_matching import compare_columns
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.file_search import FILE_COLUMNS, SearchGroup
from explorer.core.versions.snapshot import Snapshot


class SearchPlan(msgspec.Struct, frozen=True):
    """What to search, and what cannot be searched.

    Attributes:
        groups: The files by the way they are read.
        columns: The columns that the predicates name, under every physical name that they had, in lower case.
        unanswered: Keys with the reason; a file may be in a group too, where only a part of the answer is lacking.
        strangers: The same for what concerns one column alone: key, column, reason.
    """

    groups: tuple[SearchGroup, ...]
    columns: frozenset[str]
    unanswered: tuple[tuple[str, str], ...]
    strangers: tuple[tuple[str, str, str], ...]

    def unanswered_for(self, columns: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Return what could not be checked for a predicate over some columns."""
        named = set(columns)
        return (*self.unanswered, *((key, reason) for key, column, reason in self.strangers if column in named))


def named_columns(newest: Snapshot, text: str) -> tuple[str, ...]:
    """Return the columns of the top level that a predicate names, and maybe others.

    Raises:
        RequestError: It cannot be split into words.
    """
    return _named_columns(newest, [text]).columns


def search_plan(log: DeltaLog, stored: StoredFiles, texts: Iterable[str]) -> SearchPlan:
    """Group the stored files by how they are read.

    Raises:
        RequestError: A predicate cannot be split into words.
        TableError: A version's metadata is broken.
    """
    newest = log.snapshot()
    return _Plan(log, newest, stored, _named_columns(newest, texts)).made()


class _FileReading(msgspec.Struct, frozen=True):
    """A way of reading files; those of equal ways go together."""

    schema: StructType
    partition_columns: tuple[str, ...]
    by_id: bool
    needed: tuple[tuple[str, ...], ...] = ()


class _Unlike(Exception):
    """Two types that do not compare; the message is the reason."""


class _Plan:
    def __init__(self, log: DeltaLog, newest: Snapshot, stored: StoredFiles, words: _Words) -> None:
        self._log, self._newest, self._words = log, newest, words
        self._files = stored.files
        self._history = log.history_record()
        self._unanswered: list[tuple[str, str]] = []
        self._strangers: list[tuple[str, str, str]] = []
        self._physical: dict[str, dict[str, str]] = {}

    def made(self) -> SearchPlan:
        chosen: dict[str, tuple[_FileReading, list[pa.Table]]] = {}
        for reading, files in (*self._of_versions(), *self._of_no_version()):
            chosen.setdefault(repr(reading), (reading, []))[1].append(files)
        groups = tuple(
            SearchGroup(
                reading.schema,
                reading.partition_columns,
                reading.by_id,
                pa.concat_tables([part.select(FILE_COLUMNS) for part in parts]).combine_chunks(),
                reading.needed,
            )
            for reading, parts in chosen.values()
        )
        return SearchPlan(groups, self._names(), tuple(self._unanswered), tuple(self._strangers))

    def _names(self) -> frozenset[str]:
        """Return the names of the columns, also in deleted files: their bounds are still in the log."""
        known = (each for each in logged_columns(self._log) if each.column[0] in self._words.columns)
        return frozenset(name.lower() for each in known for name in (each.column[0], each.stored[0]))

    def _of_versions(self) -> Iterator[tuple[_FileReading, pa.Table]]:
        """Yield the files that a readable version has, by the metadata of the last one."""
        first, latest = self._history.lifetimes.readable_from, self._newest.version
        starts = self._history.layout_changes(first, latest)
        lasts = [-1 if last is None else last for last in self._files.column("last_version").to_pylist()]
        places = np.searchsorted(np.array(starts), np.array(lasts, np.int64), side="right") - 1
        for place, start in enumerate(starts):
            files = self._files.filter(mask((places == place).tolist()))
            if files.num_rows:
                is_last = place + 1 == len(starts)
                reading = self._reading(self._newest if is_last else self._log.snapshot(start), files)
                if reading is not None:
                    yield reading, files
        for start, after in zip(starts, [*starts[1:], latest + 1], strict=True):
            self._name_strangers(start, after - 1)

    def _reading(self, then: Snapshot, files: pa.Table) -> _FileReading | None:
        """Return how files last live at a version are read; None if a needed column does not compare."""
        compared = compare_columns(self._history, then, self._newest)
        lost = {column.column: column.reason for column in compared.left_out if column.version == self._newest.version}
        side = {field.name: field for field in compared.before.schema.fields}
        fields, reasons = [], []
        for name in self._words.columns:
            try:
                fields.append(self._field(name, then, side.get(name), lost.get(format_column((name,)))))
            except _Unlike as unlike:
                reasons.append(f"the column {format_column((name,))} cannot be answered: {unlike}")
        keys = files.column("key").to_pylist()
        if reasons:
            self._unanswered += [(key, "; ".join(reasons)) for key in keys]
            return None
        physical = {field.name: field.physical_name for field in fields}
        self._physical |= dict.fromkeys(keys, physical)
        partitions = {*compared.before.partition_columns, *self._own_partitions(then, fields)}
        named = tuple(name for name in self._words.columns if name in partitions)
        return _FileReading(StructType(tuple(fields)), named, compared.before.by_id)

    def _field(self, name: str, then: Snapshot, matched: StructField | None, lost: str | None) -> StructField:
        """Return one column as it is read from the files of a version; raise `_Unlike` if its types do not compare."""
        new = next(field for field in self._newest.schema.fields if field.name == name)
        # The version may lack the column, and its files may still hold it.
        plain = unmapped(new) if self._newest.column_mapping_mode == "none" else new
        if matched is None:
            line = self._lines(self._newest.version)[format_column((name,))]
            if line in self._lines(then.version).values():
                raise _Unlike(lost)
            return plain
        if matched.type != VOID or new.type == VOID:
            return matched
        own = next((field for field in then.schema.fields if field.name == name), None)
        if own is None:
            return plain
        # Another column had the name then: readers of that version get its values under it.
        own = unmapped(own) if then.column_mapping_mode == "none" else own
        if own.type == new.type or widens(own.type, new.type):
            return StructField(name, new.type, True, {**own.metadata, PHYSICAL_NAME: own.physical_name})
        if widens(new.type, own.type):
            return own
        raise _Unlike(
            f"another column of that name is {type_name(own.type)} at version {then.version}, and it is "
            f"{type_name(new.type)} now"
        )

    def _own_partitions(self, then: Snapshot, fields: Sequence[StructField]) -> Iterator[str]:
        """Return the columns read under the name that they had then, by which the version is partitioned."""
        own = {field.name: field.physical_name for field in then.schema.fields if field.name in then.partition_columns}
        if then.column_mapping_mode == "none":
            own = {name: name for name in own}
        return (field.name for field in fields if own.get(field.name) == field.physical_name)

    def _lines(self, version: int) -> dict[str, int]:
        return self._history.lineage().lines_at(version)

    def _name_strangers(self, start: int, end: int) -> None:
        """Name the files that were live while a name meant a column that they are not read by."""
        now, then = self._lines(self._newest.version), self._lines(start)
        names = [name for name in self._words.columns if format_column((name,)) in then]
        strangers = [name for name in names if then[format_column((name,))] != now.get(format_column((name,)))]
        if not strangers:
            return
        snapshot = self._log.snapshot(start)
        mapped = snapshot.column_mapping_mode != "none"
        own = {field.name: field.physical_name if mapped else field.name for field in snapshot.schema.fields}
        columns = (self._files.column(each).to_pylist() for each in ("key", "first_version", "last_version"))
        for key, first, last in zip(*columns, strict=True):
            for name in strangers if first is not None and first <= end and last >= start else ():
                if key in self._physical and self._physical[key][name] != own[name]:
                    reason = (
                        f"at {span(start, end)} the name {format_column((name,))} meant another column, whose values "
                        "were not searched under this name"
                    )
                    self._strangers.append((key, name, reason))

    def _of_no_version(self) -> Iterator[tuple[_FileReading, pa.Table]]:
        """Orphans, and files of versions that can no longer be rebuilt: they must hold the columns themselves."""
        lasts = self._files.column("last_version").to_pylist()
        files = self._files.filter(
            mask([last is None or last < self._history.lifetimes.readable_from for last in lasts])
        )
        if not files.num_rows:
            return
        mode = self._newest.column_mapping_mode
        named = [field for field in self._newest.schema.fields if field.name in self._words.columns]
        fields = tuple(unmapped(field) if mode == "none" else field for field in named)
        partitions = tuple(field.name for field in fields if field.name in self._newest.partition_columns)
        files = self._with_folders(files, [field for field in fields if field.name in partitions])
        if files.num_rows:
            stored = [field for field in fields if field.name not in partitions and field.type != VOID]
            needed = tuple(path for field in stored for path in self._words.parts(field))
            yield _FileReading(StructType(fields), partitions, mode == "id", needed), files

    def _with_folders(self, files: pa.Table, partitions: Sequence[StructField]) -> pa.Table:
        """Return the files with partition values from their folders where the log has none; those without are named."""
        tables, values = [], []
        maps = [None if entries is None else dict(entries) for entries in files.column("partition_values").to_pylist()]
        for key, known in zip(files.column("key").to_pylist(), maps, strict=True):
            folder_values = {**_folder_values(key, partitions), **(known or {})}
            lacking = [field.name for field in partitions if field.physical_name not in folder_values]
            tables.append(not lacking)
            if lacking:
                names = ", ".join(lacking)
                self._unanswered.append((key, f"neither the log nor its folder records its partition value of {names}"))
            else:
                values.append(folder_values)
        chosen = files.filter(mask(tables))
        place = chosen.column_names.index("partition_values")
        return chosen.set_column(place, "partition_values", string_maps(values))


class _Words(msgspec.Struct, frozen=True):
    """What predicates name: columns of the top level, and every word in lower case, which may be a nested field."""

    columns: tuple[str, ...]
    words: frozenset[str]

    def parts(self, field: StructField) -> Iterator[tuple[str, ...]]:
        """Yield the physical paths of a column, and of the fields in it that a predicate names."""
        yield (field.physical_name,)
        yield from self._inside(field.type, (field.physical_name,))

    def _inside(self, kind: DataType, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(kind, StructType):
            for field in kind.fields:
                if field.name.lower() in self.words and field.type != VOID:
                    path = (*above, field.physical_name)
                    yield path
                    yield from self._inside(field.type, path)


def _named_columns(newest: Snapshot, texts: Iterable[str]) -> _Words:
    """Return at least the columns that the predicates name; one of them if they name none, to count rows."""
    tokens = [token for text in texts for token in tokens_of(text)]
    words = frozenset(token.value.lower() for token in tokens if token.kind in ("name", "word"))
    every = any(token.kind == "mark" and token.text == "*" for token in tokens)
    fields = newest.schema.fields
    named = tuple(field.name for field in fields if every or field.name.lower() in words)
    data = [field.name for field in fields if field.name not in newest.partition_columns and field.type != VOID]
    return _Words(named if set(named) & set(data) else (*named, *data[:1]), words)


def _folder_values(key: str, partitions: Sequence[StructField]) -> dict[str, str | None]:
    """Return the partition values in a file's folders by physical name; folders may use the logical name."""
    folders = dict(part.split("=", 1) for part in key.split("/")[:-1] if "=" in part)
    by_name = {unquote(name).lower(): unquote(value) for name, value in folders.items()}
    values: dict[str, str | None] = {}
    for field in partitions:
        for name in (field.name.lower(), field.physical_name.lower()):
            if name in by_name:
                values[field.physical_name] = None if by_name[name] == NULL_FOLDER else by_name[name]
    return values
