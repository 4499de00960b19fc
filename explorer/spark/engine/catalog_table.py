"""The location of a Delta table in the catalog of a Spark session.

Invariants: the session answers from its catalog, and no row is read; anything but a Delta table is refused by its kind;
a session without the jars of Delta says where the tables of its metastore are, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from explorer.core.errors import (
    EngineUnavailable,
    ExplorerError,
    ExpressionRefused,
    RequestError,
    StorageError,
    TableNotFound,
)
from explorer.core.protocol.schema.data_types import parse_column
from explorer.spark.engine.expressions import catalog_description, catalog_listing
from explorer.spark.engine.failures import PLANNING_ERRORS, condition_of, failure_of, first_sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ABSENT: Final = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"})
_NO_SOURCE: Final = "DATA_SOURCE_NOT_FOUND"
_DETAILS: Final = "# Detailed Table Information"
_LISTED: Final = ("Type", "Provider", "Location")


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
        EngineUnavailable: Spark ended, or lacks a part that the catalog or the table needs.
    """
    try:
        parts = parse_column(name)
    except (ExplorerError, ValueError) as error:
        raise RequestError(f"{name!r} cannot be read as the name of a table: {error}", location=name) from error
    try:
        facts = _facts(session, parts)
    except ExpressionRefused as error:
        raise RequestError(f"{name!r} cannot be read as the name of a table: {error}", location=name) from error
    except PLANNING_ERRORS as error:
        raise _refusal(name, error) from error
    provider, location = facts.get("Provider", ""), facts.get("Location", "")
    if provider.lower() != "delta" or not location:
        what = "a view" if facts.get("Type", "").upper().endswith("VIEW") or not provider else f"a {provider} table"
        raise RequestError(
            f"{name} is {what} in the catalog of the Spark session, and not a Delta table. Give the name of a Delta "
            "table, or the location of one.",
            location=name,
            found=provider or facts.get("Type"),
            expected="delta",
        )
    # Spark writes the URI of a local folder with one slash.
    return location.removeprefix("file:") if location.startswith("file:/") else location


def _facts(session: SparkSession, parts: Sequence[str]) -> dict[str, str]:
    """Return the detailed information of a table, without its data source where this Spark lacks that.

    Raises:
        ExpressionRefused: The name holds what Spark takes for a variable.
        PySparkException, Py4JError: There is no such table, or the catalog does not answer.
        StorageError: The catalog's answer has more than one meaning.
    """
    try:
        rows = catalog_description(session, parts)
    except PLANNING_ERRORS as error:
        # Spark loads the data source of a table to describe it: here without the jars of Delta.
        listed = catalog_listing(session, parts) if condition_of(error) == _NO_SOURCE else None
        if listed is None:
            raise
        return _listed_facts(".".join(parts), listed)
    facts = [(str(row["col_name"]), str(row["data_type"])) for row in rows]
    start = next((place for place, (key, _) in enumerate(facts) if key == _DETAILS), len(facts))
    return dict(reversed(facts[start:]))


def _listed_facts(name: str, text: str) -> dict[str, str]:
    """Return the facts that a listing has a line each for; a comment of the table may look like one of them."""
    lines = [line.partition(": ") for line in text.splitlines()]
    facts: dict[str, str] = {}
    for key in _LISTED:
        values = {value for listed, _, value in lines if listed == key}
        if len(values) > 1:
            raise StorageError(
                f"The catalog of the Spark session lists more than one {key.lower()} of {name}; the comment or a "
                "property of the table may hold a line that looks like one. Open the table by its location."
            )
        if values:
            facts[key] = values.pop()
    return facts


def _refusal(name: str, error: Exception) -> TableNotFound | RequestError | StorageError | EngineUnavailable:
    condition = (condition_of(error) or "").partition(".")[0]
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
    if condition == _NO_SOURCE:
        return EngineUnavailable(
            f"The catalog of the Spark session does not say where {name} is, as this Spark lacks the data source of "
            f"the table: {reason} Open the table by its location, or give Spark the package of the data source, such "
            "as delta-spark (spark.jars.packages).",
            engine="spark",
        )
    failure = failure_of(error)
    if isinstance(failure, EngineUnavailable):
        return failure
    return StorageError(f"The catalog of the Spark session does not say where {name} is: {reason}")
