"""The columns of changed rows, checked: key columns exist, and no column has a name that changes add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.changed_rows.change_preview import CHANGE_COLUMNS
from explorer.core.errors import RequestError
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.edit import first_names
from explorer.core.versions.column_matching import ColumnComparison


def check_keys(
    keys: Sequence[str],
    schema: StructType,
    version: int,
    purpose: str,
    left_out: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Return the key columns.

    Args:
        keys: Their names.
        schema: The columns.
        version: The version whose columns they are.
        purpose: The use of the keys, as the end of a sentence.
        left_out: Why a column is not among those of the schema.

    Raises:
        RequestError: One is not a column of the table, or is named twice.
    """
    names = [field.name for field in schema.fields]
    for place, name in enumerate(keys):
        if name not in names:
            why = f": {left_out[name]}" if left_out and name in left_out else ""
            raise RequestError(
                f"There is no column {name!r} {purpose}{why}. Columns: {first_names(names)}.",
                column=name,
                version=version,
            )
        if name in keys[:place]:
            raise RequestError(f"The key column {name!r} is named twice.", column=name)
    return tuple(keys)


def check_difference_keys(keys: Sequence[str], compared: ColumnComparison) -> tuple[str, ...]:
    """Return the columns by which the rows of two versions are matched; errors as of `check_keys`."""
    ends = compared.before.version, compared.after.version
    left_out = {column.column: column.reason for column in compared.left_out}
    purpose = f"to match the rows of versions {ends[0]} and {ends[1]} by"
    return check_keys(keys, compared.schema, max(ends), purpose, left_out)


def check_names(schema: StructType, version: int) -> None:
    """Check that no column of a version has the name of a column of its changes.

    Raises:
        RequestError: One has.
    """
    for field in schema.fields:
        if field.name.lower() in CHANGE_COLUMNS:
            raise RequestError(
                f"The table has a column {field.name!r} at version {version}, which is also the name of a column of "
                "the change feed. Rename it to read changes.",
                column=field.name,
                version=version,
            )
