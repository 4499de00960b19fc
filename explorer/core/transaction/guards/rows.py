"""Guards that need the rows: predicates that must be TRUE for every live row, judged by the engine of rows.

Protocol sections: CHECK Constraints, Column Invariants. Invariants: nothing is evaluated that was not vetted; without
an answer the guard is unknown, with the reason, and never passes; a table without rows needs vetting only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from explorer.core.errors import Cancelled, EngineUnavailable, ExplorerError, ExpressionRefused, InvalidIntent
from explorer.core.protocol.counted import all_of, counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.sql.vetting import check_text
from explorer.core.transaction.proposal import GuardResult, RowCheck
from explorer.core.transaction.row_engine import CheckReport, CheckResult, RowEngine, RowJob
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

_MOST_FILES: Final = 10
_LONGEST_VALUE: Final = 200


def row_guards(
    log: DeltaLog,
    snapshot: Snapshot,
    checks: Sequence[RowCheck],
    engine: RowEngine | None,
    *,
    watch: Callable[[RowJob[CheckReport]], None] | None = None,
) -> tuple[GuardResult, ...]:
    """Check predicates against the rows of a version.

    Args:
        engine: The engine that reads the rows; without one the guards are unknown.
        watch: Called with the job that checks them, once it has begun.

    Raises:
        InvalidIntent: A predicate may not be evaluated on rows.
        Cancelled: The check was cancelled.
    """
    if not checks:
        return ()
    if engine is None:
        return tuple(_unchecked(check) for check in checks)
    try:
        if snapshot.num_files == 0:
            return tuple(_vetted(engine, snapshot, check) for check in checks)
        report = _report(engine, log, snapshot, checks, watch)
    except (InvalidIntent, Cancelled):
        raise
    except EngineUnavailable as error:
        return tuple(_unevaluated(check, f"The rows could not be checked: {error}") for check in checks)
    except ExplorerError as error:
        return tuple(_unknown(check, f"The rows could not all be read: {error}") for check in checks)
    return tuple(_judged(check, result) for check, result in zip(checks, report.predicates, strict=True))


def _unchecked(check: RowCheck) -> GuardResult:
    """Return the guard without a check of rows; a text that no engine may get is refused even so."""
    try:
        check_text(check.expression)
    except ExpressionRefused as error:
        raise _refused(error) from error
    return _unevaluated(check, "The rows were not checked.")


def _report(
    engine: RowEngine,
    log: DeltaLog,
    snapshot: Snapshot,
    checks: Sequence[RowCheck],
    watch: Callable[[RowJob[CheckReport]], None] | None,
) -> CheckReport:
    names = [f"{number} {check.name}" for number, check in enumerate(checks)]
    predicates = dict(zip(names, (check.expression for check in checks), strict=True))
    job = engine.check(log, snapshot, predicates)
    if watch is not None:
        watch(job)
    try:
        report = job.result()
        job.check_cancelled()
        return report
    except KeyboardInterrupt:
        job.cancel()
        raise


def _vetted(engine: RowEngine, snapshot: Snapshot, check: RowCheck) -> GuardResult:
    try:
        engine.vet(snapshot.schema, check.expression)
    except ExpressionRefused as error:
        raise _refused(error) from error
    evidence = {"predicate": check.expression, "rows": 0, "violations": 0, "detail": "The table has no rows."}
    return GuardResult(check.guard, "pass", evidence)


def _judged(check: RowCheck, result: CheckResult) -> GuardResult:
    evidence: dict[str, object] = {"predicate": check.expression}
    if result.error is not None:
        if getattr(result.error, "reason", None) != "runtime":
            raise _refused(result.error) from result.error
        evidence["detail"] = f"It fails on a row: {result.error}"
        return GuardResult(check.guard, "fail", evidence, check.remedy)
    evidence |= {"rows": result.rows_checked, "violations": result.violations}
    rows, violations = result.rows_checked or 0, result.violations or 0
    if result.passed:
        detail = all_of(rows, "row", "satisfies it", "satisfy it")
        return GuardResult(check.guard, "pass", evidence | {"detail": detail})
    verb = "does" if violations == 1 else "do"
    evidence |= {
        "numFiles": result.files.num_rows,
        "files": result.files.select(["path", "violations"]).slice(0, _MOST_FILES).to_pylist(),
        "examples": _examples(result.samples),
        "detail": f"{violations:,} of {counted(rows, 'row')} {verb} not satisfy it.",
    }
    steps = (check.remedy, check.null_remedy) if result.has_nulls else (check.remedy,)
    return GuardResult(check.guard, "fail", evidence, " ".join(filter(None, steps)))


def _examples(samples: pa.Table) -> list[JsonObject]:
    """Return some rows as text; the first two columns say where they are."""
    rows = row_texts(samples.select(samples.column_names[2:]))
    places = zip(samples.column(0).to_pylist(), samples.column(1).to_pylist(), rows, strict=True)
    return [{"file": file, "rowIndex": row, "row": texts} for file, row, texts in places]


def row_texts(rows: pa.Table) -> list[JsonObject]:
    """Return rows as evidence: a text for each column, null as None, long texts cut."""
    return [{name: _text(value) for name, value in row.items()} for row in rows.to_pylist()]


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _refused(error: ExpressionRefused) -> InvalidIntent:
    return error.of_kind(InvalidIntent, field="expression")


def _unevaluated(check: RowCheck, detail: str) -> GuardResult:
    return _unknown(check, f"{detail} {check.unseen}".rstrip())


def _unknown(check: RowCheck, detail: str) -> GuardResult:
    evidence = {"predicate": check.expression, "detail": detail}
    return GuardResult(check.guard, "unknown", evidence, "Check the data, or accept this guard by name.")
