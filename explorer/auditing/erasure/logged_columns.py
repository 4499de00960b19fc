"""Under which names the log has values of a table's columns, and of which types.

Protocol sections: Per-file Statistics, Column Mapping, Type Widening. Invariants: of each version that can be rebuilt
the column counts that is the same one by lineage, and the one that had the name then; none is left out because no file
of that version is stored any more, as the log outlives the files.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from explorer.core.protocol.schema.column_mapping import physical_paths
from explorer.core.protocol.schema.data_types import DataType, StructType, format_column, parse_schema
from explorer.core.protocol.schema.nested_types import Path, walk_structs
from explorer.core.versions.delta_log import DeltaLog

__all__ = ["LoggedColumn", "folded", "logged_columns"]


class LoggedColumn(msgspec.Struct, frozen=True):
    """A column of the newest version as some version stores it, or a column that had its name then.

    Attributes:
        column: Its path in the newest version, logical names.
        stored: Its path in statistics and partition values.
        type: Its type then.
    """

    column: Path
    stored: Path
    type: DataType


def logged_columns(log: DeltaLog) -> tuple[LoggedColumn, ...]:
    """Return the fields of the newest version, those inside arrays and maps left out, each in every way it was stored.

    Raises:
        TableError: A version's metadata is broken.
    """
    lineage = log.history_record().lineage()
    newest = log.snapshot()
    now = lineage.lines_at(newest.version)
    paths = [path for path, _, _ in walk_structs(newest.schema)]
    of_name = {folded(path): path for path in paths}
    of_line = {now[format_column(path)]: path for path in paths if format_column(path) in now}
    columns: dict[tuple[Path, Path, str], LoggedColumn] = {}
    for version, schema, stored in _layouts(log):
        then = lineage.lines_at(version)
        for path, _, field in walk_structs(schema):
            same = (of_name.get(folded(path)), of_line.get(then.get(format_column(path), -1)))
            for column in filter(None, same):
                known = LoggedColumn(column, stored[path], field.type)
                columns.setdefault((column, stored[path], repr(field.type)), known)
    return tuple(columns.values())


def folded(path: Path) -> Path:
    """Return a path in lower case, as readers compare names."""
    return tuple(part.casefold() for part in path)


def _layouts(log: DeltaLog) -> Iterator[tuple[int, StructType, dict[Path, Path]]]:
    """The schemas of the versions that can be rebuilt, each from its version on, and the path under which values of a
    field are stored."""
    history = log.history_record()
    for version in history.layout_changes(history.first_readable, history.latest):
        metadata = history.metadata_at(version)
        if metadata is not None and metadata.schema_string is not None:
            schema = parse_schema(metadata.schema_string)
            yield version, schema, physical_paths(schema, history.mapping_mode(version))
