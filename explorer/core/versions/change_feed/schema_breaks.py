"""Whether rows written under one schema can be shown under another: the change feed requires it of its versions.

Protocol sections: Reader Requirements for AddCDCFile, Column Mapping. Invariants: columns are matched by physical
path; columns that only the later schema has are additive (their rows are null); anything else breaks the feed (CDF-013,
D-38).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.schema.column_mapping import MappingMode, mapping_mode, physical_paths
from explorer.core.protocol.schema.data_types import StructField, format_column, parse_schema, type_name, type_outline
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.versions.history import History

_Columns = dict[tuple[str, ...], tuple[tuple[str, ...], StructField]]


def why_not_readable_as(history: History, written: int, read: int, *, by_id: bool = False) -> str | None:
    """Return why rows of one version cannot be shown with the schema of another; None if they can.

    Args:
        history: The recorded commits; it has the metadata of both versions.
        written, read: The versions.
        by_id: A column that was renamed is the same column, as the mapping of columns has it.

    Raises:
        CorruptTable: The log has no protocol for one of them.
    """
    return _why(_layout_at(history, written), _layout_at(history, read), by_id=by_id)


def readable_ranges(
    history: History, from_version: int, to_version: int, *, by_id: bool = False
) -> tuple[tuple[int, int], ...]:
    """Cut a range where its rows stop to fit one schema: each part can be shown with the schema of its last version.

    Args:
        history: The recorded commits; it has the metadata of the range.
        from_version, to_version: The range, both inclusive.
        by_id: As in `why_not_readable_as`.

    Returns:
        The parts, ascending, both ends included; one alone if nothing breaks the range.
    """
    starts = history.layout_changes(from_version, to_version)
    ranges: list[tuple[int, int]] = []
    end = to_version
    for before, start in zip(reversed([from_version, *starts[:-1]]), reversed(starts), strict=True):
        if start > from_version and why_not_readable_as(history, before, end, by_id=by_id) is not None:
            ranges.append((start, end))
            end = start - 1
    return ((from_version, end), *reversed(ranges))


def why_rows_do_not_fit(written: tuple[Protocol, Metadata], read: tuple[Protocol, Metadata]) -> str | None:
    """Return the same for two pairs of protocol and metadata, such as those before and after a change."""
    return _why(_layout(*written), _layout(*read))


class _ColumnLayout(msgspec.Struct, frozen=True):
    """The parts of a version's metadata that decide how its rows are written."""

    schema: str | None
    partition_columns: tuple[str, ...]
    mode: MappingMode

    def columns(self) -> _Columns:
        """Return the columns: physical path -> logical path and field."""
        if self.schema is None:
            return {}
        schema = parse_schema(self.schema)
        physical = physical_paths(schema, self.mode)
        return {physical[path]: (path, field) for path, field in walk(schema)}


def _layout_at(history: History, version: int) -> _ColumnLayout:
    metadata = history.metadata_at(version)
    assert metadata is not None
    return _ColumnLayout(metadata.schema_string, metadata.partition_columns, history.mapping_mode(version))


def _layout(protocol: Protocol, metadata: Metadata) -> _ColumnLayout:
    mode = mapping_mode(metadata.configuration, protocol)
    return _ColumnLayout(metadata.schema_string, metadata.partition_columns, mode)


def _why(old: _ColumnLayout, new: _ColumnLayout, *, by_id: bool = False) -> str | None:
    return None if old == new else next(_breaks(old, new, by_id=by_id), None)


def _breaks(written: _ColumnLayout, read: _ColumnLayout, *, by_id: bool) -> Iterator[str]:
    old, new = written.columns(), read.columns()
    for physical, (path, field) in old.items():
        column = format_column(path)
        if physical not in new:
            yield f"column {column} is not in the schema to read with (dropped, or replaced by another column)"
            continue
        path_after, after = new[physical]
        # Only a mapping gives one physical name two logical ones.
        if path_after[-1] != path[-1] and not by_id:
            yield f"column {column} is named {format_column(path_after)} in the schema to read with"
        if type_outline(field.type) != type_outline(after.type):
            yield f"column {column} is {type_name(field.type)}, but {type_name(after.type)} in the schema to read with"
        if field.nullable and not after.nullable:
            yield f"column {column} may be null, but not in the schema to read with"
    for physical, (path, field) in new.items():
        if physical not in old and not field.nullable and len(path) == 1:
            yield f"column {format_column(path)} did not exist and may not be null in the schema to read with"
    if _partitions(written, old) != _partitions(read, new):
        yield "the table is partitioned by other columns"


def _partitions(layout: _ColumnLayout, columns: _Columns) -> list[tuple[str, ...]]:
    physical = {path: name for name, (path, _) in columns.items()}
    return [physical.get((name,), (name,)) for name in layout.partition_columns]
