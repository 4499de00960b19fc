"""Tables of many columns: small logs whose schema is wide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.logs.small_logs import PROTOCOL, Line, add, commit_info, metadata, write_log

__all__ = ["column_name", "wide_table"]

_STATED = 32


def column_name(number: int) -> str:
    """The name of a column: of one length for all of a table."""
    return f"measure_{number:06}"


def wide_table(place: Path, columns: int, configuration: Mapping[str, str] | None = None) -> Path:
    """Write a table of two versions with a file each: the second has twice the columns of the first.

    Statistics state the first 32 columns, as writers do by default.
    """
    names = [column_name(number) for number in range(columns)]
    bounds = dict.fromkeys(names[:_STATED], (1, 2))
    half = metadata(dict.fromkeys(names[: columns // 2], "long"), configuration=configuration)
    whole = metadata(dict.fromkeys(names, "long"), configuration=configuration)
    created: list[Line] = [commit_info("CREATE TABLE"), PROTOCOL, half, add("0.parquet", 10, bounds=bounds)]
    widened: list[Line] = [commit_info("ADD COLUMNS"), whole, add("1.parquet", 10, bounds=bounds)]
    return write_log(place, [created, widened])
