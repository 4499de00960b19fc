"""Survey many tables at once: one row for each, made by the core inside Spark's tasks.

Invariants: one row a table, in the order given; a table that cannot be opened is a row with its error, not a failure of
the survey; credentials travel inside the function that the tasks run, never in settings or plans, and no error text
contains them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.table_features import supported_features
from explorer.credentials import concealed, secrets_of
from explorer.storage.schemes import known_scheme
from explorer.table import Table, open_table

if TYPE_CHECKING:
    from explorer.job import Job

__all__ = ["SCHEMA", "look", "survey"]

_MOST_PROBLEMS: Final = 20
SCHEMA: Final = pa.schema(
    [
        ("location", pa.string()),
        ("version", pa.int64()),
        ("min_reader_version", pa.int32()),
        ("min_writer_version", pa.int32()),
        ("features", pa.list_(pa.string())),
        ("num_files", pa.int64()),
        ("size_in_bytes", pa.int64()),
        ("num_records", pa.int64()),
        ("num_deleted_records", pa.int64()),
        ("problems", pa.list_(pa.string())),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
)
"""A row of the survey; ``num_records`` counts masked rows, ``error`` is the class of its error, or null."""


def survey(
    locations: Sequence[str | os.PathLike[str]],
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    *,
    verify: bool = False,
) -> Job[pa.Table]:
    """Survey many tables.

    Args:
        locations: As for `explorer.open_table`; tasks must be able to reach local ones.
        storage_options: Options of the object stores.
        roots: Places that may be read; None allows every place.
        verify: Also verify each log in whole, which reads all of it.

    Returns:
        A job, whose result has one row for each location, in their order, with the columns of `SCHEMA`.

    Raises:
        RequestError: A location is in memory, which no task can see.
        EngineUnavailable: PySpark is missing.
    """
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.map_tables import map_tables

    places = [os.fspath(location) for location in locations]
    for place in places:
        scheme = known_scheme(place)
        if scheme is not None and not scheme.persistent:
            raise RequestError(f"{place} is in the memory of this process, which tasks cannot see.", location=place)
    # A task runs elsewhere: a path relative to here means something else there.
    absolute = [place if "://" in place else os.path.realpath(place) for place in places]
    task = partial(look, storage_options=storage_options, roots=roots, verify=verify)
    return map_tables("Survey", absolute, task, SCHEMA)


def look(
    location: str,
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    *,
    verify: bool = False,
) -> dict[str, Any]:
    """One row of the survey; the arguments are those of `survey`."""
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names) | {"location": location, "problems": []}
    secrets = secrets_of(storage_options or {})
    try:
        table = open_table(location, storage_options=storage_options, roots=roots, cache=False)
        row["version"] = table.latest_version()
        row |= _facts(table)
        if verify:
            report = table.verify()
            named = [f"{problem.kind}: {problem.detail}" for problem in report.problems[:_MOST_PROBLEMS]]
            rest = len(report.problems) - len(named)
            row["problems"] = [*named, *([f"and {rest} more"] if rest else [])]
    except ExplorerError as error:
        row |= {"error": type(error).__name__, "message": concealed(str(error), secrets)}
    except Exception as error:  # noqa: BLE001 - one table, whatever is in it, must not end the survey of the others
        row |= {"error": type(error).__name__, "message": concealed(str(error).split("\n", 1)[0], secrets)}
    return row


def _facts(table: Table) -> dict[str, Any]:
    snapshot = table.snapshot()
    protocol = snapshot.protocol
    return {
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "features": sorted(supported_features(protocol)),
        "num_files": snapshot.num_files,
        "size_in_bytes": snapshot.size_in_bytes,
        "num_records": snapshot.num_records,
        "num_deleted_records": snapshot.num_deleted_records,
    }
