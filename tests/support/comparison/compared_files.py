"""Rows of live files, typed, against what a snapshot says of the same files."""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow as pa

import explorer
from explorer.core.protocol.logical_files import PUBLIC_COLUMNS

__all__ = ["compare_files"]

_NO_STATISTICS: Final = ("variant", "void")


def compare_files(snapshot: explorer.Snapshot, found: pa.Table) -> int:
    """Compare every file, its partition values and its statistics; returns how many files there are.

    Args:
        snapshot: The version, replayed in this process.
        found: What `explorer.spark.log.live_files.AllFiles` makes of it.
    """
    found = found.sort_by("raw_path")
    local = snapshot.files().sort_by("raw_path")
    assert _plain(found.select(PUBLIC_COLUMNS)) == _plain(local)
    paths = local.column("path").to_pylist()
    for column in snapshot.statistics_columns:
        ranges = {row["path"]: row for row in snapshot.column_ranges(column.name).to_pylist()}
        wanted = [[ranges[path][name] for name in ("min", "max", "null_count")] for path in paths]
        if column.type.name in _NO_STATISTICS:
            assert all(low is None and high is None for low, high, _ in wanted), column.name
            continue
        if column.partition:
            values = [row[column.path[0]] for row in found.column("partition").to_pylist()]
            assert _plain(values) == _plain([low for low, _, _ in wanted]), column.name
            continue
        parts = found.column("statistics").to_pylist()
        ours = [[_at(part[name], column.path) for name in ("min", "max", "null_count")] for part in parts]
        assert _plain(ours) == _plain(wanted), column.name
        assert [part["tight"] for part in parts] == [ranges[path]["tight"] for path in paths]
    return local.num_rows


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def _plain(value: Any) -> Any:
    """Values that can be compared: a table by row, maps by key, NaN equal to itself."""
    match value:
        case pa.Table():
            return _plain(value.to_pylist(maps_as_pydicts="strict"))
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if math.isnan(value):
            return "NaN"
    return value
