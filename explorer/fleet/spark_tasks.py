"""Many tables in Spark's tasks: what comes back from a cluster is data, and never code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.auditing.document import AuditDocument
from explorer.core.errors import ExplorerError, RequestError
from explorer.fleet.one_table import TableAudit, Task
from explorer.storage.schemes import known_scheme

__all__ = ["on_spark"]

_ANSWERS: Final = pa.schema([("location", pa.string()), ("answer", pa.binary())])


class _TaskResult(msgspec.Struct):
    """What a task sends back of a table: its audit, or the facts of the error."""

    document: AuditDocument | None
    error: dict[str, Any] | None
    known: bool


def on_spark(places: Iterator[str | TableAudit], task: Task) -> Iterator[TableAudit]:
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.map_tables import map_tables

    found = list(places)
    yield from (place for place in found if not isinstance(place, str))
    locations = [place for place in found if isinstance(place, str)]
    for place in locations:
        scheme = known_scheme(place)
        if scheme is not None and not scheme.persistent:
            raise RequestError(f"{place} is in the memory of this process, which tasks cannot see.", location=place)
    answers = map_tables("Audit", locations, partial(_in_task, task=task), _ANSWERS).result()
    yield from (_read_answer(row) for row in answers.to_pylist())


def _in_task(location: str, task: Task) -> dict[str, Any]:
    found = task(location)
    error = None if found.error is None else found.error.facts()
    return {"location": location, "answer": msgspec.json.encode(_TaskResult(found.document, error, found.known))}


def _read_answer(row: Mapping[str, Any]) -> TableAudit:
    answer = msgspec.json.decode(row["answer"], type=_TaskResult)
    error = None if answer.error is None else _error_of(answer.error)
    return TableAudit(row["location"], answer.document, error, answer.known)


def _error_of(facts: dict[str, Any]) -> ExplorerError:
    """The error of facts: of its class, with those facts."""
    kinds: list[type[ExplorerError]] = [ExplorerError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    name, message = facts.pop("error"), facts.pop("message")
    return next(kind for kind in kinds if kind.__name__ == name)(message, **facts)
