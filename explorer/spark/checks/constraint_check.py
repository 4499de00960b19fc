"""Check predicates against all live rows of a version: how many rows break each, in which files, where first.

Protocol sections: CHECK Constraints, Column Invariants. Invariants: a row satisfies a predicate only if it is TRUE for
it, so NULL breaks it (CONSTR-007, CONSTR-008); one pass over the rows checks all predicates; a predicate that cannot be
checked is reported and never passes; no predicate is evaluated before it is vetted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from explorer.job import Job
from explorer.spark.engine.expressions import expressions, joined
from explorer.spark.engine.job import submit
from explorer.spark.scan.compared import as_compared
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.plan import plan
from explorer.spark.scan.predicate import vetted
from explorer.spark.scan.results import readable_frame
from explorer.spark.scan.row_marks import free_name, place_marks

if TYPE_CHECKING:
    from pyspark.sql import Column

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Scan
    from explorer.spark.scan.row_marks import RowMarks

# Predicates whose answers one long holds.
_BITS: Final = 62
_FILES: Final = pa.schema(
    [
        ("path", pa.string()),
        ("raw_path", pa.string()),
        ("violations", pa.int64()),
        ("first_row_index", pa.int64()),
        ("rows_checked", pa.int64()),
    ]
)


def check(
    log: DeltaLog, snapshot: Snapshot, predicates: Mapping[str, str], *, samples: int = 5, repeatable: bool = True
) -> Job[CheckReport]:
    """Check predicates against all live rows of a version.

    Args:
        predicates: SQL over the logical columns, by name. NOT NULL is ``column IS NOT NULL``.
        samples: Violating rows to show of each predicate, at most.
        repeatable: Refuse predicates that depend on the time or the session.

    Returns:
        A job. A fault of one predicate is in its result; what stops all of them (a missing file, no Spark, Cancelled)
        is the job's error.
    """
    if not isinstance(predicates, Mapping):
        raise RequestError(
            f"{predicates!r} does not name its predicates. Give them as {{'paid': 'amount > 0'}}.", field="predicates"
        )
    count = len(predicates)
    name = f"Check of {count:,} {'predicate' if count == 1 else 'predicates'} on {log.name}"
    return submit(
        name,
        lambda job: _Checks(job, log, snapshot, samples).run(predicates, repeatable=repeatable),
        "; ".join(predicates.values()),
    )


class _Checks:
    """What one job does."""

    def __init__(self, job: Job[CheckReport], log: DeltaLog, snapshot: Snapshot, samples: int) -> None:
        self._job = job
        self._table = log
        self._snapshot = snapshot
        self._samples = samples

    def run(self, predicates: Mapping[str, str], *, repeatable: bool) -> CheckReport:
        self._job.report("Vetting the predicates")
        results: dict[str, CheckResult] = {}
        sound: dict[str, str] = {}
        problems = vetted(self._snapshot.schema, predicates.values(), repeatable=repeatable)
        for (name, text), problem in zip(predicates.items(), problems, strict=True):
            self._job.check_cancelled()
            if problem is None:
                sound[name] = text
            else:
                results[name] = self._unjudged(name, text, problem)
        if sound:
            results |= self._judged(sound)
        return CheckReport(self._snapshot.version, tuple(results[name] for name in predicates))

    def _judged(self, predicates: Mapping[str, str]) -> dict[str, CheckResult]:
        """Judge all in one pass; if one of them fails on some row, each in a pass of its own."""
        files = f"{self._snapshot.num_files:,} {'file' if self._snapshot.num_files == 1 else 'files'}"
        self._job.report(f"Checking all rows of {files}")
        try:
            return self._counted(predicates)
        except ExpressionRefused as error:
            if len(predicates) == 1:
                return {name: self._unjudged(name, text, error) for name, text in predicates.items()}
        results: dict[str, CheckResult] = {}
        for place, (name, text) in enumerate(predicates.items(), 1):
            self._job.report(f"Checking all rows of {files}, predicate {place:,} of {len(predicates):,}")
            results |= self._judged_alone(name, text)
        return results

    def _judged_alone(self, name: str, text: str) -> dict[str, CheckResult]:
        try:
            return self._counted({name: text})
        except ExpressionRefused as error:
            return {name: self._unjudged(name, text, error)}

    def _counted(self, predicates: Mapping[str, str]) -> dict[str, CheckResult]:
        counts = _count(self._table, self._snapshot, list(predicates.values()))
        results = {}
        for place, (name, text) in enumerate(predicates.items()):
            broken = _files_of(self._snapshot, counts, place)
            result = CheckResult(
                name,
                text,
                violations=_sum(broken.column("violations")),
                rows_checked=_sum(counts.column("rows")),
                files=broken,
                samples=_no_samples(),
                has_nulls=pc.any(counts.column(f"u{place}")).as_py() if broken.num_rows else None,
            )
            results[name] = self._sampled(result) if broken.num_rows and self._samples else result
        return results

    def _sampled(self, result: CheckResult) -> CheckResult:
        self._job.report(f"Fetching rows that break {result.name}")
        samples = _sample(self._table, self._snapshot, result, self._samples)
        return replace(result, samples=samples)

    def _unjudged(self, name: str, text: str, error: ExpressionRefused) -> CheckResult:
        return CheckResult(name, text, None, None, _FILES.empty_table(), _no_samples(), error)


def _count(log: DeltaLog, snapshot: Snapshot, texts: Sequence[str]) -> pa.Table:
    """Count by file: its number, ``rows``, and for each predicate the violations ``v0``, the first place ``f0``, and
    whether it is NULL for a row ``u0``."""
    place = place_marks(snapshot.schema)
    planned = _placed(log, snapshot, snapshot.logical_files, place)
    words = range(0, len(texts), _BITS)
    holds = expressions(planned.frame, texts)
    bits = {"m": [_violates(each) for each in holds], "n": [each.isNull() for each in holds]}
    marks = [
        _marked(columns[start : start + _BITS]).alias(f"{name}{start // _BITS}")
        for name, columns in bits.items()
        for start in words
    ]
    file, row = place.given
    rows = planned.frame.select(sf.col(file).alias("file"), sf.col(row).alias("row"), *marks)
    # Most rows break nothing or the same, so rows are counted by what they break, then summed by predicate.
    kinds = rows.groupBy("file", *(f"{name}{start // _BITS}" for name in bits for start in words)).agg(
        sf.count(sf.lit(1)).alias("n"), sf.min("row").alias("first")
    )
    totals = [sf.sum("n").alias("rows")]
    for number in range(len(texts)):
        bit, null = (sf.col(f"{name}{number // _BITS}").bitwiseAND(sf.lit(1 << number % _BITS)) != 0 for name in bits)
        totals.append(sf.coalesce(sf.sum(sf.when(bit, sf.col("n"))), sf.lit(0)).alias(f"v{number}"))
        totals.append(sf.min(sf.when(bit, sf.col("first"))).alias(f"f{number}"))
        totals.append(sf.max(null).alias(f"u{number}"))
    grouped = kinds.groupBy("file").agg(*totals)
    return replace(planned, frame=grouped, where="; ".join(texts)).to_arrow().sort_by("file")


def _marked(conditions: Sequence[Column]) -> Column:
    """Return the conditions that a row meets, a bit each."""
    nothing = sf.lit(0).cast("long")
    bits = [
        sf.when(meets, sf.lit(1 << place).cast("long")).otherwise(nothing) for place, meets in enumerate(conditions)
    ]
    return joined(bits, lambda one, other: one.bitwiseOR(other))


def _files_of(snapshot: Snapshot, counts: pa.Table, number: int) -> pa.Table:
    """Return the files with violations of one predicate, in the order of the log."""
    broken = counts.filter(pc.greater(counts.column(f"v{number}"), 0))
    files = snapshot.logical_files.take(broken.column("file"))
    columns = [files.column("path"), files.column("raw_path")]
    columns += [broken.column(f"v{number}"), broken.column(f"f{number}"), broken.column("rows")]
    return pa.table(columns, schema=_FILES)


def _sample(log: DeltaLog, snapshot: Snapshot, result: CheckResult, limit: int) -> pa.Table:
    """Return the first violating rows: reads only as many files as hold enough of them."""
    counts, needed = result.files.column("violations").to_pylist(), 0
    while needed < len(counts) and sum(counts[:needed]) < limit:
        needed += 1
    wanted = result.files.column("raw_path").slice(0, needed)
    files = snapshot.logical_files
    files = files.filter(pc.is_in(files.column("raw_path"), wanted.combine_chunks()))
    place = place_marks(snapshot.schema)
    planned = _placed(log, snapshot, files, place)
    (holds,) = expressions(planned.frame, [result.expression])
    file, row = place.given
    rows = planned.frame.where(_violates(holds)).orderBy(file, row).limit(limit)
    names = [field.name for field in snapshot.schema.fields]
    rows = rows.select(file, row, *(sf.col(quoted(name)) for name in names))
    violating = replace(planned, frame=readable_frame(rows), where=result.expression).to_arrow()
    paths = files.column("path").take(violating.column(0))
    return pa.table(
        [paths, *violating.columns[1:]],
        names=[free_name("_file", snapshot.schema), free_name("_row_index", snapshot.schema), *names],
    )


def _violates(holds: Column) -> Column:
    return ~sf.coalesce(holds, sf.lit(False))


def _placed(log: DeltaLog, snapshot: Snapshot, files: pa.Table, place: RowMarks) -> Scan:
    planned = plan(log, snapshot, files, None, marks=place)
    return replace(planned, frame=as_compared(planned.frame, snapshot.schema))


def _no_samples() -> pa.Table:
    return pa.table({"_file": pa.array([], pa.string()), "_row_index": pa.array([], pa.int64())})


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
