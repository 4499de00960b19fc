"""The tables that a command names: by a location, or by a name in the catalog of Spark.

Invariants: a folder or a URL is never looked up in a catalog; a catalog is asked only where the user chose a Spark, so
that a mistyped folder starts none.
"""

from __future__ import annotations

import os
import re
from typing import Final

import explorer
from explorer.core.errors import TableNotFound
from explorer.storage.served_root import ServedRoot, options_of

_PART: Final = r"(?:[^\W\d]\w*|`(?:[^`]|``)+`)"
_NAME: Final = re.compile(rf"{_PART}(?:\.{_PART}){{1,2}}")
_HINT: Final = (
    "If it is the name of a table in the catalog of Spark, name that Spark with --spark, DELTA_EXPLORER_SPARK, or "
    "spark.master in spark-defaults.conf."
)


def open_named(text: str) -> explorer.Table:
    """Open the table that a location or a name in the catalog of Spark leads to.

    Raises:
        ExplorerError: As for `location_of`, and for `explorer.open_table`.
    """
    location = location_of(text)
    try:
        return explorer.open_table(location, storage_options=options_of(location))
    except TableNotFound as error:
        if location == text and _is_name(text):
            raise TableNotFound(f"{error.message} {_HINT}", location=text) from error
        raise


def open_root(root: ServedRoot) -> explorer.Table:
    """Open the table at a place, with the options of its store."""
    return explorer.open_table(root.place, storage_options=root.storage_options)


def location_of(text: str) -> str:
    """Return the location of a table.

    Args:
        text: A folder or a URL, which is its own location, ``schema.table`` or ``catalog.schema.table``, or
            ``glue://database.table``.

    Raises:
        TableNotFound: The catalog has no such table.
        RequestError: The name is not that of a Delta table.
        StorageError: The catalog does not answer.
        EngineUnavailable: Spark does not start.
    """
    if text.lower().startswith("glue://"):
        from explorer.catalogs.glue import glue_location

        return glue_location(text, options_of(text))
    if not _is_name(text):
        return text
    from explorer.spark.engine.session import engine, require_pyspark

    if not engine().is_chosen:
        return text
    require_pyspark()
    from explorer.spark.engine.catalog_table import catalog_location

    try:
        return catalog_location(engine().session(), text)
    except TableNotFound as error:
        raise TableNotFound(
            f"{text} is not a folder here, and the catalog of Spark has no table {text}. Correct the name, or give the "
            "location of the table.",
            location=text,
        ) from error


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not os.path.exists(text)
