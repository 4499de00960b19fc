"""Many tables in Spark's tasks: audits, and a survey of one row a table.

Invariants: tasks return data and never code. The survey has one row a table, in the order given; a table that cannot be
opened is a row with its error. Credentials travel inside the function that the tasks run, never in settings or plans,
and no error text contains them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from explorer.auditing.document import AuditDocument
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.table_features import supported_features
from explorer.credentials import concealed, secrets_of
from explorer.fleet.one_table import TableAudit, Task
from explorer.fleet.places import below, tree_of
from explorer.storage.credential_provider import sendable_options
from explorer.storage.roots import AllowedRoots
from explorer.storage.schemes import known_scheme
from explorer.storage.served_root import ServedRoot
from explorer.table import Table, open_table

if TYPE_CHECKING:
    from explorer.job import Job

_ANSWERS: Final = pa.schema([("location", pa.string()), ("answer", pa.binary())])


class _TaskResult(msgspec.Struct):
    """What a task sends back of a table: its audit, or the facts of the error."""

    document: AuditDocument | None
    error: dict[str, Any] | None
    known: bool
    state: str


def on_spark(places: Iterator[ServedRoot | TableAudit], task: Task) -> Iterator[TableAudit]:
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.map_tables import map_tables

    given = list(places)
    yield from (place for place in given if isinstance(place, TableAudit))
    tables = list[ServedRoot]()
    for place in given:
        if not isinstance(place, ServedRoot):
            continue
        try:
            _check_seen(place.place)
        except RequestError as error:
            yield TableAudit(place.place, error=error)
        else:
            tables.append(place)
    # A location may be that of several tables, of several servers.
    numbered = {str(number): place for number, place in enumerate(tables)}
    answers = map_tables("Audit", list(numbered), partial(_in_task, task=task, tables=numbered), _ANSWERS).result()
    for row in answers.to_pylist():
        yield _read_answer(numbered[row["location"]].place, row["answer"])


def _check_seen(place: str) -> None:
    scheme = known_scheme(place)
    if scheme is not None and not scheme.persistent:
        raise RequestError(f"{place} is in the memory of this process, which tasks cannot see.", location=place)


def _in_task(number: str, task: Task, tables: Mapping[str, ServedRoot]) -> dict[str, Any]:
    audited = task(tables[number])
    error = None if audited.error is None else audited.error.facts()
    return {
        "location": number,
        "answer": msgspec.json.encode(_TaskResult(audited.document, error, audited.known, audited.state)),
    }


def _read_answer(location: str, content: bytes) -> TableAudit:
    answer = msgspec.json.decode(content, type=_TaskResult)
    error = None if answer.error is None else _error_of(answer.error)
    return TableAudit(location, answer.document, error, answer.known, answer.state)


def _error_of(facts: dict[str, Any]) -> ExplorerError:
    """Return the error of facts: of its class, with those facts."""
    kinds: list[type[ExplorerError]] = [ExplorerError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    name, message = facts.pop("error"), facts.pop("message")
    return next(kind for kind in kinds if kind.__name__ == name)(message, **facts)


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
        locations: Tables, as for `explorer.open_table`, or places that hold tables; tasks must be able to reach local
            ones.
        storage_options: Options of the object stores.
        roots: Places that may be read; None allows every place.
        verify: Also verify each log in whole, which reads all of it.

    Returns:
        A job, whose result has one row for each table, in the order of the locations, with the columns of `SCHEMA`.

    Raises:
        RequestError: A location is in memory, which no task can see.
        EngineUnavailable: PySpark is missing.
    """
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.map_tables import map_tables

    given = [each for place in locations for each in _tables_at(os.fspath(place), storage_options, roots)]
    places = [each.location if isinstance(each, TableAudit) else each.place for each in given]
    for place in places:
        _check_seen(place)
    # A task has another working folder, in which a relative path means another table.
    absolute = [place if "://" in place else os.path.realpath(place) for place in places]
    unlisted = {each.location: each.error for each in given if isinstance(each, TableAudit)}
    errors = {place: (type(error).__name__, error.message) for place, error in unlisted.items() if error is not None}
    task = partial(
        survey_row, storage_options=sendable_options(storage_options), roots=roots, verify=verify, unlisted=errors
    )
    return map_tables("Survey", absolute, task, SCHEMA)


def _tables_at(
    place: str, options: Mapping[str, Any] | None, roots: Sequence[str] | None
) -> list[ServedRoot | TableAudit]:
    """Return the tables below a place, and the folders that cannot be listed; the place itself where it is a table."""
    root = ServedRoot(place, storage_options=options or {})
    if roots is not None and not AllowedRoots(roots).allow(place):
        return [root]
    tables = list(below(root))
    alone = len(tables) == 1 and (isinstance(tables[0], TableAudit) or tables[0].place == tree_of(root).root)
    return [root] if alone else tables


def survey_row(
    location: str,
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    *,
    verify: bool = False,
    unlisted: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return one row of the survey.

    Args:
        location, storage_options, roots, verify: As of `survey`.
        unlisted: Folders that cannot be listed, and so are no tables: the class of the error and its message.
    """
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names) | {"location": location, "problems": []}
    if unlisted and location in unlisted:
        return row | dict(zip(("error", "message"), unlisted[location], strict=True))
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
