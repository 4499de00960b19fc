"""Values of a key, checked against the columns.

Invariant: a value that its column cannot hold is refused; only values of float columns are rounded, to the nearest one;
no value moves to another zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import PrimitiveType, type_name
from explorer.core.protocol.schema.edit import first_names

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

_TAKEN: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "binary": bytes,
    "boolean": bool,
    "date": date,
    "timestamp": datetime,
    "timestamp_ntz": datetime,
    "decimal": (int, Decimal),
    "float": (int, float),
    "double": (int, float),
}
"""The types that a value may have, where it is not an int."""


def checked_key(key: Mapping[str, Any], shown: Snapshot) -> dict[str, Any]:
    """Return the key's values as PyArrow holds them in the columns' types.

    Args:
        key: Values by column name.
        shown: The version whose columns they are.

    Raises:
        RequestError: The key is empty, the column does not exist, a column cannot be a key, or a value does not fit.
    """
    if not key:
        raise RequestError("The key is empty: give the value of at least one column.")
    return {name: _checked(name, value, shown) for name, value in key.items()}


def _checked(name: str, value: Any, shown: Snapshot) -> Any:
    field = shown.schema.field(name)
    if field is None:
        names = first_names(field.name for field in shown.schema.fields)
        raise RequestError(f"There is no column {name!r} at version {shown.version}. Columns: {names}.", column=name)
    kind = field.type
    if not isinstance(kind, PrimitiveType) or kind.name in ("variant", "void"):
        raise RequestError(f"The column {name!r} is {type_name(kind)}, which cannot be a key.", column=name)
    try:
        scalar = pa.scalar(value, to_arrow(kind)) if _fits(value, kind) else None
    except (pa.ArrowException, OverflowError, TypeError):
        scalar = None
    if scalar is None:
        raise RequestError(
            f"{value!r} is not a value of the column {name!r}, which is {type_name(kind)}.",
            column=name,
            expected=type_name(kind),
        )
    return scalar.as_py()


def _fits(value: Any, kind: PrimitiveType) -> bool:
    """Return False where PyArrow would read the value as something else."""
    if value is None:
        return True
    if isinstance(value, datetime):
        return kind.name == ("timestamp_ntz" if value.tzinfo is None else "timestamp")
    # A truth value is an int to Python.
    return isinstance(value, _TAKEN.get(kind.name, int)) and isinstance(value, bool) == (kind.name == "boolean")
