"""An audit that checks more than the log, on request: a job for one window, with phases and cancel.

Invariants: nothing is read before it is asked for; a result is of the newest commit that it was made from and of the
checks that were chosen, and stands for no other; rows wait for their turn at Spark, and nothing else does; what was
begun before is waited for, so that however often a window asks, it reads once at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from explorer.auditing import Audit, Subject, audit
from explorer.auditing.options import AuditOptions, read_inputs
from explorer.core.errors import Cancelled, RequestError
from explorer.core.transaction.row_engine import CheckReport
from explorer.core.versions.snapshot import Snapshot
from explorer.system import my_clients
from explorer.turns import Line, in_line, own_line
from explorer.views.rows.row_work import learning
from explorer.views.rows.spark_work import Shareable, SparkWork, WorkState
from explorer.views.table.facts import TableFacts

if TYPE_CHECKING:
    from explorer.job import Job

_POLL: Final = 0.25


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """Something that an audit can check in addition to the log.

    Attributes:
        name: Its name in an address, and as an option of the command ``audit``.
        label: Its name for people.
        about: What it reads and finds, as a sentence.
        shows_values: What it finds can hold values of rows.
    """

    name: str
    label: str
    about: str
    shows_values: bool = False


CHECKS: Final = (
    AuditCheck("files", "stored files", "Lists the table's folder: finds missing, resized, and orphaned files."),
    AuditCheck("verify", "log replay", "Replays the whole log against its checksums, checkpoints, and metrics."),
    AuditCheck(
        "footers", "Parquet footers", "Compares the statistics in the log with the footer of every live file.", True
    ),
    AuditCheck(
        "rows", "rows", "Checks constraints, NOT NULL, and generated columns on all rows, with Spark; also footers.",
        True,
    ),
)  # fmt: skip


def audit_checks(text: str) -> tuple[AuditCheck, ...]:
    """Return the checks that a text names, such as ``files,rows``, in their order.

    Raises:
        RequestError: A name is not known.
    """
    names = {part.strip() for part in text.split(",")} - {""}
    known = {check.name for check in CHECKS}
    if names - known:
        raise RequestError(
            f"checks={min(names - known)[:60]} is not known. It can be: {', '.join(check.name for check in CHECKS)}, "
            "or several with commas.",
            field="checks",
            allowed=tuple(check.name for check in CHECKS),
        )
    return tuple(check for check in CHECKS if check.name in names)


def checks_text(checks: Iterable[AuditCheck]) -> str:
    """Return checks as `audit_checks` reads them."""
    return ",".join(check.name for check in checks)


class AuditWork:
    """At most one audit that checks more than the log.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[Audit] = SparkWork(changed)
        # What was cancelled ends with the version or the file that it reads.
        self._reading = threading.Lock()

    def start(self, facts: TableFacts, checks: tuple[AuditCheck, ...]) -> None:
        """Begin an audit of the newest version; one that runs is stopped.

        Raises:
            RequestError: No check is chosen.
        """
        if not checks:
            raise RequestError("Choose what to check in addition to the log.", field="checks")
        self._work.begin(_key(facts, checks), learning(facts.log, partial(_begun, facts, checks, self._reading)))

    def cancel(self) -> None:
        """Stop a running audit."""
        self._work.cancel()

    def state(self, facts: TableFacts, checks: tuple[AuditCheck, ...]) -> WorkState:
        """Return how far the audit is; idle if it is of another table or version, or checks something else."""
        return self._work.state_of(_key(facts, checks))

    def result(self, facts: TableFacts, checks: tuple[AuditCheck, ...]) -> Audit | None:
        """Return the result of these checks; None before there is one."""
        return self._work.about(_key(facts, checks))

    def shareable(self, facts: TableFacts, checks: tuple[AuditCheck, ...]) -> Shareable:
        """Return the result as others can open it."""
        key = _key(facts, checks)
        return Shareable("audit", key, self._work.about(key), partial(self._work.adopt, key))


def _key(facts: TableFacts, checks: tuple[AuditCheck, ...]) -> Hashable:
    return "audit", facts.place, facts.newest, checks_text(checks)


def _begun(facts: TableFacts, checks: tuple[AuditCheck, ...], reading: threading.Lock) -> Job[Audit]:
    from explorer.job import Job, ThisProcess

    names = {check.name for check in checks}
    options = AuditOptions(
        check_files="files" in names,
        verify="verify" in names,
        check_footers="footers" in names,
        check_rows="rows" in names,
    )
    job: Job[Audit] = Job(f"Audit of {facts.log.name}", ThisProcess("Reading the log"))
    audited = partial(_audited, facts, options, own_line())

    def work(job: Job[Audit]) -> Audit:
        with _held(reading, job):
            return audited(job)

    job.begin(work)
    return job


@contextmanager
def _held(lock: threading.Lock, job: Job[Audit]) -> Iterator[None]:
    """Hold a lock; a job that is cancelled waits for it no longer."""
    while not lock.acquire(timeout=_POLL):
        job.report("Waiting for what was begun before")
    try:
        yield
    finally:
        lock.release()


def _audited(facts: TableFacts, options: AuditOptions, line: Line | None, job: Job[Audit]) -> Audit:
    def check(snapshot: Snapshot, rules: Mapping[str, str]) -> CheckReport:
        return _checked_rows(facts, snapshot, rules, line, job)

    inputs = read_inputs(facts.log, options, check, job.report, job.check_cancelled)
    job.report("Checking the rules")
    return audit(Subject(facts.log, facts.now(), inputs=inputs, mine=my_clients()))


def _checked_rows(
    facts: TableFacts, snapshot: Snapshot, rules: Mapping[str, str], line: Line | None, job: Job[Audit]
) -> CheckReport:
    """Check the table's own rules against its rows, in the person's line, until the job is cancelled."""
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.checks.constraint_check import check

    with in_line(line):
        checking = check(facts.log, snapshot, rules)
    while True:
        try:
            return checking.result(timeout=_POLL)
        except TimeoutError:
            try:
                job.report(checking.phase)
            except Cancelled:
                checking.cancel()
                raise
