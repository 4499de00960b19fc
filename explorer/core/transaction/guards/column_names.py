"""Which names columns may have: free, valid, and not those of the change data feed.

Protocol sections: Schema Serialization Format, Column Mapping, Change Data Files. Invariants: names are unique ignoring
case in every struct (SCHEMA-008); without column mapping a name is also in the files and holds none of the characters
that Parquet writers refuse (SCHEMA-009); the columns of the change data feed belong to it (CDF-016).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED
from explorer.core.transaction.proposal import GuardResult

__all__ = ["FEED_COLUMNS", "MAP_FIRST", "check_free", "check_unique", "names_guard"]

FEED_COLUMNS: Final = frozenset(["_change_type", "_commit_version", "_commit_timestamp"])
MAP_FIRST: Final = "Switch column mapping to name first, or choose another name."
"""The remedy for names that files without column mapping cannot have."""
_INVALID: Final = frozenset(" ,;{}()\n\t=")

Path = tuple[str, ...]


def check_free(name: str, taken: Iterable[str], field: str) -> None:
    """Check that a name can be given to one more column of a struct.

    Raises:
        InvalidIntent: It is empty, or a column has it already, ignoring case.
    """
    if not name:
        raise InvalidIntent("A column needs a name.", field=field)
    bearer = next((other for other in taken if other.lower() == name.lower()), None)
    if bearer is not None:
        raise InvalidIntent(
            f"The table already has a column {bearer!r}; names must differ in more than case. Choose another name.",
            field=field,
            found=name,
        )


def check_unique(schema: StructType, field: str) -> None:
    """Check the names of a whole schema.

    Raises:
        InvalidIntent: One is empty, or occurs twice in a struct, ignoring case.
    """
    seen: set[Path] = set()
    for path, _ in walk(schema):
        folded = tuple(part.lower() for part in path)
        taken = [path[-1]] if folded in seen else []
        check_free(path[-1], taken, field)
        seen.add(folded)


def names_guard(paths: Iterable[Path], *, mapped: bool, configuration: dict[str, str]) -> GuardResult:
    """Judge names that are free: may the table have columns with these names?

    Args:
        paths: Paths of the columns, their last part being the name.
        mapped: True if the table has column mapping, so that the files have other names.
        configuration: The table's properties.
    """
    columns = list(paths)
    evidence: dict[str, object] = {"columns": [format_column(path) for path in columns]}
    feed = CHANGE_DATA_FEED.of(configuration)
    taken = [path[0] for path in columns if feed and len(path) == 1 and path[0].lower() in FEED_COLUMNS]
    if taken:
        detail = f"{', '.join(taken)} is a column of the change data feed, which is on."
        remedy = f"Choose another name, or set {CHANGE_DATA_FEED} to false."
        return GuardResult("column-names", "fail", evidence | {"names": taken, "detail": detail}, remedy)
    bad = [] if mapped else [path for path in columns if _INVALID & set(path[-1])]
    if bad:
        names = [format_column(path) for path in bad]
        detail = "Without column mapping a name may not hold a blank, comma, semicolon, bracket, newline, tab or =."
        return GuardResult("column-names", "fail", evidence | {"names": names, "detail": detail}, MAP_FIRST)
    detail = "The names are free, valid and unique ignoring case."
    return GuardResult("column-names", "pass", evidence | {"detail": detail})
