"""Audit many tables: each by itself, in processes or in Spark's tasks, and ranked when all are done.

Invariants: a table is one `TableAudit`, whatever becomes of it; a table that cannot be read, and even one that ends the
process that reads it, stops no other; what is kept of a table that is done is a line, however many there are; no text
holds a credential.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.audit_record import AuditRecord
from explorer.auditing.document import audit_document
from explorer.auditing.finding import SEVERITIES
from explorer.core.errors import ExplorerError, RequestError, StorageError, TableNotFound
from explorer.storage.credentials import concealed, secrets_of
from explorer.storage.roots import Roots, is_url, places_of, resolved_folder
from explorer.storage.schemes import known_scheme
from explorer.storage.served_roots import table_folders
from explorer.table import open_table

__all__ = ["SCHEMA", "Looks", "TableAudit", "audit", "audits", "places", "ranked", "row_of"]

SCHEMA: Final = pa.schema(
    [
        ("table", pa.string()),
        ("version", pa.int64()),
        ("errors", pa.int64()),
        ("warnings", pa.int64()),
        ("notes", pa.int64()),
        ("not_answered", pa.int64()),
        ("worst", pa.string()),
        ("findings", pa.list_(pa.string())),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
)
"""A row of a fleet: counts by severity, ``worst`` the claim of the worst finding, ``findings`` the ids of all;
``error`` is the class of the error of a table that could not be read, ``message`` says why."""

_DEPTH: Final = 24
_FEW: Final = 16
"""So many tables are read before another process is worth its start."""
_AHEAD: Final = 4
_SPARK_SCHEMA: Final = pa.schema([("location", pa.string()), ("answer", pa.binary())])


class Looks(msgspec.Struct, frozen=True):
    """What to look at beside the actions of the log; see `explorer.Table.audit`."""

    check_files: bool = False
    verify: bool = False
    check_footers: bool = False


class TableAudit(msgspec.Struct, frozen=True):
    """What became of one table.

    Attributes:
        location: The table's location as it was found below a root.
        document: Its audit as `explorer.auditing.document.audit_document` gives it; None after an error.
        error: Why there is none; its cause is named, and its credentials are not.
        known: The table is still at the version of an earlier audit of this day, so its log was not read again.
    """

    location: str
    document: dict[str, Any] | None = None
    error: ExplorerError | None = None
    known: bool = False


def audit(
    roots: Roots,
    storage_options: Mapping[str, Any] | None = None,
    *,
    check_files: bool = False,
    verify: bool = False,
    check_footers: bool = False,
    processes: int | None = None,
    spark: bool = False,
    resume: str | os.PathLike[str] | None = None,
    each: Callable[[TableAudit], None] | None = None,
) -> pa.Table:
    """Audit every table at or below some places, and rank them.

    Call it below ``if __name__ == "__main__":`` in a script: other processes load the script too.

    Args:
        roots: Tables, or folders that hold tables; URLs of tables in object stores.
        storage_options: Options of the object stores.
        check_files, verify, check_footers: As in `explorer.Table.audit`.
        processes: How many processes read; None for as many as there are processors, one reads here.
        spark: Read in Spark's tasks instead.
        resume: A file of JSON lines: tables that it says were read today at the same version are not read again, and
            each table that is done is added to it.
        each: Called with each table as it is done.

    Returns:
        A row a table with the columns of `SCHEMA`, the worst first, tables that cannot be read before all others.

    Raises:
        RequestError: ``resume`` is no such file.
        EngineUnavailable: Spark is asked for and missing.
    """
    rows = []
    looks = Looks(check_files=check_files, verify=verify, check_footers=check_footers)
    for found in audits(roots, storage_options, looks=looks, processes=processes, spark=spark, resume=resume):
        if each is not None:
            each(found)
        rows.append(row_of(found))
    return ranked(rows)


def audits(
    roots: Roots,
    storage_options: Mapping[str, Any] | None = None,
    *,
    looks: Looks = Looks(),  # noqa: B008 - it is frozen
    processes: int | None = None,
    spark: bool = False,
    resume: str | os.PathLike[str] | None = None,
    now: datetime | None = None,
) -> Iterator[TableAudit]:
    """Audit every table at or below some places; yield each as it is done. Arguments and errors as of `audit`.

    Args:
        roots, storage_options, processes, spark, resume: As in `audit`.
        looks: What to look at beside the log.
        now: The present of all of them, with a zone; else that of this machine at the start.
    """
    present = datetime.now(UTC) if now is None else now
    record = None if resume is None else AuditRecord(Path(resume), looks, present)
    task = partial(
        _answer,
        storage_options=storage_options,
        looks=looks,
        now=present,
        known={} if record is None else record.versions,
    )
    found_places = places(roots)
    many = (
        _on_spark(found_places, task) if spark else _in_processes(found_places, task, processes or os.cpu_count() or 1)
    )
    for found in many:
        if found.known and record is not None:
            yield msgspec.structs.replace(found, document=record.document(found.location))
            continue
        if record is not None and found.document is not None:
            record.add(found.location, found.document)
        yield found


def ranked(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of `SCHEMA`, the worst first: unreadable tables, then by errors, warnings and notes."""

    def rank(row: Mapping[str, Any]) -> tuple[object, ...]:
        return row["error"] is None, -row["errors"], -row["warnings"], -row["notes"], row["table"]

    return pa.Table.from_pylist(sorted(rows, key=rank), schema=SCHEMA)


def row_of(found: TableAudit) -> dict[str, Any]:
    """The row of a table, with the columns of `SCHEMA`."""
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names) | {"table": found.location, "findings": []}
    counts = dict.fromkeys(SEVERITIES, 0)
    if found.error is not None:
        row |= {"error": type(found.error).__name__, "message": found.error.message}
    elif found.document is not None:
        findings = found.document["findings"]
        for each in findings:
            counts[each["severity"]] += 1
        row |= {
            "table": found.document["table"],
            "version": found.document["version"],
            "not_answered": len(found.document["notAnswered"]),
            "worst": findings[0]["title"] if findings else None,
            "findings": [each["id"] for each in findings],
        }
    return row | {"errors": counts["error"], "warnings": counts["warning"], "notes": counts["info"]}


# --- which tables


def places(roots: Roots) -> Iterator[str | TableAudit]:
    """Yield the tables at or below some places, each once, and errors for folders that cannot be looked through."""
    seen = set()
    for place in chain.from_iterable(map(_below, places_of(roots))):
        name = place if isinstance(place, str) else place.location
        if name not in seen:
            seen.add(name)
            yield place


def _below(root: str) -> Iterator[str | TableAudit]:
    if is_url(root):
        yield root
        return
    try:
        folder = resolved_folder(root)
    except RequestError as refusal:
        yield TableAudit(root, error=refusal)
        return
    unreadable: list[tuple[Path, OSError]] = []
    count = 0
    for path in table_folders(folder, depth=_DEPTH, unreadable=lambda *failed: unreadable.append(failed)):
        count += 1
        yield str(path)
    for path, error in unreadable:
        if path != folder or not isinstance(error, FileNotFoundError | NotADirectoryError):
            yield TableAudit(str(path), error=_unlisted(path, error))
            count += 1
    if not count:
        message = f"There is no Delta table in {root} or below it. Give a table, or a folder of tables."
        yield TableAudit(root, error=TableNotFound(message, location=root))


def _unlisted(path: Path, error: OSError) -> StorageError:
    found = StorageError(
        f"The folder {path} cannot be listed: {error.strerror or error}. Tables below it are not audited. Let this "
        "user read it, or leave it out.",
        path=str(path),
    )
    found.__cause__ = error
    return found


# --- one table


def _answer(
    location: str,
    *,
    storage_options: Mapping[str, Any] | None,
    looks: Looks,
    now: datetime,
    known: Mapping[str, int],
) -> TableAudit:
    """Audit one table; whatever is wrong with it is part of the answer."""
    secrets = secrets_of(storage_options or {})
    try:
        table = open_table(location, storage_options=storage_options, cache=False)
        if known.get(location) == table.latest_version():
            return TableAudit(location, known=True)
        found = table.audit(now, **msgspec.structs.asdict(looks))
        return TableAudit(location, audit_document(found, table.location))
    except ExplorerError as error:
        return TableAudit(location, error=_without_secrets(error, secrets))
    except Exception as error:  # noqa: BLE001 - one table, whatever is in it, must not end the audit of the others
        text = concealed(str(error).split("\n", 1)[0], secrets)
        return TableAudit(location, error=_fault(location, f"{type(error).__name__}: {text}"))


def _fault(location: str, what: str) -> ExplorerError:
    return ExplorerError(f"{location} was not audited ({what}). This is a fault of the program.", table=location)


def _without_secrets(error: ExplorerError, secrets: Sequence[str]) -> ExplorerError:
    """The error as it can travel: without its cause, and without the value of any secret option in its texts."""
    for name, value in vars(error).items():
        if isinstance(value, str):
            setattr(error, name, concealed(value, secrets))
    error.args = (error.message,)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


# --- many tables

_Task = Callable[[str], TableAudit]


def _in_processes(places: Iterator[str | TableAudit], task: _Task, processes: int) -> Iterator[TableAudit]:
    """Few tables are read here, many in processes that are started afresh: they share no lock and no thread."""
    few = list(islice(places, _FEW + 1))
    if processes <= 1 or len(few) <= _FEW:
        for place in chain(few, places):
            yield task(place) if isinstance(place, str) else place
        return
    yield from _pooled(chain(few, places), task, processes)


def _pooled(places: Iterator[str | TableAudit], task: _Task, processes: int) -> Iterator[TableAudit]:
    """Few places are in flight at a time, so that there may be any number of them."""
    waiting: dict[Future[TableAudit], str] = {}
    with closing(_Readers(task)) as readers:
        pool = readers.pool(processes)
        for place in places:
            if not isinstance(place, str):
                yield place
                continue
            with _undisturbed():
                waiting[pool.submit(_do, place)] = place
            if len(waiting) < processes * _AHEAD:
                continue
            found, lost = _collected(waiting)
            yield from found
            if lost:
                pool.shutdown(wait=False, cancel_futures=True)
                yield from _one_by_one([*lost, *waiting.values()], readers)
                waiting.clear()
                pool = readers.pool(processes)
        while waiting:
            found, lost = _collected(waiting)
            yield from found
            yield from _one_by_one(lost, readers)
        pool.shutdown()


def _collected(waiting: dict[Future[TableAudit], str]) -> tuple[list[TableAudit], list[str]]:
    """Wait for the next answers; take them from those that are waited for, and so those whose process ended."""
    found, lost = [], []
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        place = waiting.pop(future)
        try:
            found.append(future.result())
        except BrokenProcessPool:
            lost.append(place)
    return found, lost


def _one_by_one(places: Sequence[str], readers: _Readers) -> Iterator[TableAudit]:
    """Places whose process ended: each in a process of its own, so that only the cause is lost."""
    for place in places:
        pool = readers.pool(1)
        with _undisturbed():
            waiting = pool.submit(_do, place)
        try:
            yield waiting.result()
        except BrokenProcessPool:
            yield TableAudit(place, error=_fault(place, "the process that read it ended, perhaps for lack of memory"))
        pool.shutdown()


class _Readers:
    """Processes that read tables. They end with this one, or when they are closed, whatever they are reading."""

    def __init__(self, task: _Task) -> None:
        self._task, self._context = task, get_context("spawn")
        self._theirs, self._ours = self._context.Pipe(duplex=False)
        self._pools: list[ProcessPoolExecutor] = []

    def pool(self, processes: int) -> ProcessPoolExecutor:
        """Return so many more processes; each is started when there is something for it to read."""
        # The task travels once to each process, through its pipe: its options are in no argument of a command.
        pool = ProcessPoolExecutor(processes, self._context, _equip, (self._task, self._theirs))
        self._pools = [*self._pools[-1:], pool]
        return pool

    def close(self) -> None:
        """End all processes: at once, if they are still at work."""
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._ours.close()
        self._theirs.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile, for good, and from this one until they are started.

    A process hears it before its first line runs, and one whose start is broken off halfway fails: both would say so at
    length, to a person who asked for an end.
    """
    pressed: list[object] = []
    heard = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(None)) if heard else None
    # A process inherits which signals are held back from it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if heard:
            signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


_task: _Task | None = None


def _equip(task: _Task, parent: Connection) -> None:
    global _task  # noqa: PLW0603 - what this process does, set once at its start
    _task = task
    # Ctrl-C goes to all processes at once; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # The processes share the processors already, so none of them needs threads of its own.
    pa.set_cpu_count(1)


def _end_with(parent: Connection) -> None:
    """End this process once the other end of a pipe is closed, or whoever held it is gone; nothing is ever sent."""
    parent.poll(None)
    os._exit(1)


def _do(place: str) -> TableAudit:
    assert _task is not None
    return _task(place)


def _on_spark(places: Iterator[str | TableAudit], task: _Task) -> Iterator[TableAudit]:
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.map_tables import map_tables

    found = list(places)
    yield from (place for place in found if not isinstance(place, str))
    locations = [place for place in found if isinstance(place, str)]
    for place in locations:
        scheme = known_scheme(place)
        if scheme is not None and not scheme.lasting:
            raise RequestError(f"{place} is in the memory of this process, which tasks cannot see.", location=place)
    answers = map_tables("Audit", locations, partial(_in_task, task=task), _SPARK_SCHEMA).result()
    yield from (_read_answer(row) for row in answers.to_pylist())


def _in_task(location: str, task: _Task) -> dict[str, Any]:
    """The answer as JSON: what comes back from a cluster is data, and never code."""
    found = task(location)
    error = None if found.error is None else found.error.facts()
    answer = {"document": found.document, "error": error, "known": found.known}
    return {"location": location, "answer": msgspec.json.encode(answer)}


def _read_answer(row: Mapping[str, Any]) -> TableAudit:
    answer = msgspec.json.decode(row["answer"])
    facts, error = answer["error"], None
    if facts is not None:
        error = _error_of(facts)
    return TableAudit(row["location"], answer["document"], error, answer["known"])


def _error_of(facts: dict[str, Any]) -> ExplorerError:
    """The error of facts: of its class, with those facts."""
    kinds: list[type[ExplorerError]] = [ExplorerError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    name, message = facts.pop("error"), facts.pop("message")
    return next(kind for kind in kinds if kind.__name__ == name)(message, **facts)
