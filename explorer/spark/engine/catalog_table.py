"""The location of a Delta table in the catalog of a Spark session.

Invariants: the session answers from its catalog, and no row is read; anything but a Delta table is refused by its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from explorer.core.errors import ExplorerError, ExpressionRefused, RequestError, StorageError, TableNotFound
from explorer.core.protocol.schema.data_types import parse_column
from explorer.spark.engine.expressions import catalog_description
from explorer.spark.engine.spark_words import first_sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ABSENT: Final = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"})
_DETAILS: Final = "# Detailed Table Information"


def catalog_location(session: SparkSession, name: str) -> str:
    """Return the location of a Delta table that a session's catalog names.

    Args:
        name: As in SQL: ``orders``, ``shop.orders`` or ``catalog.shop.orders``, parts in backticks where needed.

    Returns:
        A path, or a URL.

    Raises:
        TableNotFound: The catalog has no such table.
        RequestError: The name cannot be read, or it is not the name of a Delta table.
        StorageError: The catalog does not answer.
    """
    try:
        parts = parse_column(name)
    except (ExplorerError, ValueError) as error:
        raise RequestError(f"{name!r} cannot be read as the name of a table: {error}", location=name) from error
    try:
        rows = catalog_description(session, parts)
    except ExpressionRefused as error:
        raise RequestError(f"{name!r} cannot be read as the name of a table: {error}", location=name) from error
    except PySparkException as error:
        raise _refusal(name, error) from error
    facts = [(str(row["col_name"]), str(row["data_type"])) for row in rows]
    start = next((place for place, (key, _) in enumerate(facts) if key == _DETAILS), len(facts))
    details = dict(reversed(facts[start:]))
    provider, location = details.get("Provider", ""), details.get("Location", "")
    if provider.lower() != "delta" or not location:
        what = "a view" if details.get("Type", "").upper().endswith("VIEW") or not provider else f"a {provider} table"
        raise RequestError(
            f"{name} is {what} in the catalog of the Spark session, and not a Delta table. Give the name of a Delta "
            "table, or the location of one.",
            location=name,
            found=provider or details.get("Type"),
            expected="delta",
        )
    # Spark writes the URI of a local folder with one slash.
    return location.removeprefix("file:") if location.startswith("file:/") else location


def _refusal(name: str, error: PySparkException) -> TableNotFound | RequestError | StorageError:
    condition = (error.getCondition() or "").partition(".")[0]
    reason = first_sentence(error)
    if condition in _ABSENT:
        return TableNotFound(
            f"The catalog of the Spark session has no table {name}. `spark.catalog.listTables()` lists those of a "
            "schema; a folder or a URL is opened without `spark`.",
        )
    if condition.startswith(("PARSE", "INVALID", "IDENTIFIER")):
        return RequestError(
            f"{name!r} cannot be read as the name of a table: {reason}", location=name, reason=condition
        )
    return StorageError(f"The catalog of the Spark session does not say where {name} is: {reason}")
