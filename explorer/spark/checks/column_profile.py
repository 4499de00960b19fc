"""The values in the columns of a version, compared with the statistics in the log.

Protocol section: Per-file Statistics. Invariants: counts and bounds are of live rows, exact; only the number of
distinct values is an estimate, and is named so; a statistic is wrong if a reader that trusts it could miss a row
(STATS-005, STATS-007), and then its file is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as sf

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.python_dates import value_in_python
from explorer.core.protocol.schema.data_types import PrimitiveType, StructType, format_column, type_name
from explorer.core.protocol.schema.edit import choices, first_names
from explorer.core.protocol.schema.nested_types import walk_structs
from explorer.core.protocol.sql.constants import quoted_column
from explorer.first_rows.column_values import ColumnValues
from explorer.job import Job
from explorer.spark.checks.value_counts import counted_values
from explorer.spark.engine.job import submit
from explorer.spark.scan.plan import plan
from explorer.spark.scan.row_marks import place_marks
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.protocol.schema.data_types import DataType
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Scan

_UNORDERED: Final = frozenset({"void", "variant", "binary"})
# Statistics of times have milliseconds, values microseconds; the greatest one is truncated, not rounded up (STATS-011).
# So many microseconds it may be below.
_CUT_OFF: Final = 1_000


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column, over all live rows.

    Attributes:
        column: Dotted logical name.
        type: Its type.
        rows: Live rows.
        nulls: Rows without a value.
        distinct: Estimated number of different values (within about 5 %), null not counted; None for types that
            cannot be compared.
        min, max: Least and greatest value; None if there is none, or the type has no order. NaN is the greatest.
        values: The commonest values, or counts by range; None unless they were asked for.
    """

    column: str
    type: str
    rows: int
    nulls: int
    distinct: int | None
    min: Any
    max: Any
    values: ColumnValues | None = None

    @property
    def null_share(self) -> float:
        """Share of rows without a value, from 0 to 1; 0 if there are no rows."""
        return self.nulls / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class WrongStatistic:
    """A statistic of a file that a reader must not trust.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name; None for the number of rows.
        statistic: ``numRecords``, ``nullCount``, ``minValues`` or ``maxValues``.
        logged: The value in the log.
        found: The value by the file's live rows.
    """

    path: str
    column: str | None
    statistic: str
    logged: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Profile:
    """The columns of one version.

    Attributes:
        version: The version.
        rows: Live rows.
        columns: One profile for each column, in the order of the schema.
        findings: Wrong statistics, file by file.
    """

    version: int
    rows: int
    columns: tuple[ColumnProfile, ...]
    findings: tuple[WrongStatistic, ...]

    def __repr__(self) -> str:
        summary = f"{len(self.columns)} columns, {len(self.findings)} findings"
        return f"Profile(version={self.version}, rows={self.rows}, {summary})"


@dataclass(frozen=True, slots=True)
class _Target:
    """A column to profile, and the alias of its aggregates."""

    path: tuple[str, ...]
    type: DataType
    statistics: bool
    number: int

    @property
    def name(self) -> str:
        return format_column(self.path)

    @property
    def ordered(self) -> bool:
        return isinstance(self.type, PrimitiveType) and self.type.name not in _UNORDERED

    @property
    def comparable(self) -> bool:
        return isinstance(self.type, PrimitiveType) and self.type.name not in ("void", "variant")


def profile(
    log: DeltaLog, snapshot: Snapshot, columns: Sequence[str] | None = None, *, values: bool = False
) -> Job[Profile]:
    """Profile all live rows of a version.

    Args:
        columns: Dotted logical names; None takes all: fields of structs one by one, arrays and maps as a whole.
        values: Also count the values of each column, by range where it has many of a kind that has ranges.

    Returns:
        A job; its errors are RequestError for a column that does not exist, those of a scan, and Cancelled.
    """
    return submit(f"Profile of {log.name}", lambda job: _profile(job, log, snapshot, columns, values=values))


def _profile(
    job: Job[Profile], log: DeltaLog, snapshot: Snapshot, columns: Sequence[str] | None, *, values: bool
) -> Profile:
    targets = _targets(snapshot, columns)
    job.report("Counting values and comparing bounds")
    counts = _counts(log, snapshot, targets)
    job.report("Estimating the number of different values")
    distinct = _distinct(log, snapshot, targets)
    rows = sum(counts.column("rows").to_pylist())
    profiles = tuple(_column(target, counts, rows, distinct) for target in targets)
    if values:
        profiles = tuple(_with_values(job, log, snapshot, *each) for each in zip(targets, profiles, strict=True))
    return Profile(snapshot.version, rows, profiles, tuple(_findings(snapshot, targets, counts)))


def _targets(snapshot: Snapshot, columns: Sequence[str] | None) -> tuple[_Target, ...]:
    stated = {column.path for column in snapshot.statistics_columns if not column.partition}
    known = {format_column(path): (path, kind, path in stated) for path, kind in _leaves(snapshot.schema)}
    for name in columns or ():
        if name not in known:
            raise RequestError(
                f"{name!r} is not a column that can be profiled. Columns: {first_names(known)}.",
                column=name,
                nearest=choices(known),
            )
    chosen = known if columns is None else {name: known[name] for name in columns}
    return tuple(_Target(*item, number) for number, item in enumerate(chosen.values()))


def _leaves(struct: StructType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Yield the fields to profile: those of structs at any depth that are not structs with fields."""
    for path, _, field in walk_structs(struct):
        if not (isinstance(field.type, StructType) and field.type.fields):
            yield path, field.type


def _counts(log: DeltaLog, snapshot: Snapshot, targets: Sequence[_Target]) -> pa.Table:
    """Count by file: ``file`` (its number), ``rows``, and null count, minimum and maximum of each target."""
    place = place_marks(snapshot.schema)
    planned = plan(log, snapshot, snapshot.logical_files, None, marks=place)
    totals = [sf.count(sf.lit(1)).alias("rows")]
    for target in targets:
        value = sf.col(quoted_column(target.path))
        totals.append(sf.count_if(value.isNull()).alias(f"nulls{target.number}"))
        if target.ordered:
            totals += [sf.min(value).alias(f"min{target.number}"), sf.max(value).alias(f"max{target.number}")]
    grouped = planned.frame.groupBy(sf.col(next(iter(place.given))).alias("file")).agg(*totals)
    return _ran(planned, grouped).sort_by("file")


def _distinct(log: DeltaLog, snapshot: Snapshot, targets: Sequence[_Target]) -> dict[int, int]:
    comparable = [target for target in targets if target.comparable]
    if not comparable:
        return {}
    planned = scan(log, snapshot)
    estimates = [
        sf.approx_count_distinct(sf.col(quoted_column(target.path))).alias(str(target.number)) for target in comparable
    ]
    row = _ran(planned, planned.frame.agg(*estimates)).to_pylist()[0]
    return {int(number): value for number, value in row.items()}


def _ran(planned: Scan, frame: Any) -> pa.Table:
    return replace(planned, frame=frame).to_arrow()


def _column(target: _Target, counts: pa.Table, rows: int, distinct: dict[int, int]) -> ColumnProfile:
    nulls = sum(counts.column(f"nulls{target.number}").to_pylist())
    least = greatest = None
    if target.ordered:
        least = _furthest(counts.column(f"min{target.number}"), min)
        greatest = _furthest(counts.column(f"max{target.number}"), max)
    number = distinct.get(target.number)
    # The estimate may be above what is possible.
    estimate = None if number is None else min(number, rows - nulls)
    return ColumnProfile(target.name, type_name(target.type), rows, nulls, estimate, least, greatest)


def _with_values(
    job: Job[Profile], log: DeltaLog, snapshot: Snapshot, target: _Target, column: ColumnProfile
) -> ColumnProfile:
    counted = ColumnValues(column.rows, column.nulls, column.distinct, exact=False)
    if not target.comparable or not isinstance(target.type, PrimitiveType):
        return replace(column, values=counted)
    job.report(f"Counting the values of {target.name}")
    return replace(column, values=counted_values(log, snapshot, target.path, target.type, counted))


def _furthest(column: pa.ChunkedArray, choose: Callable[..., int]) -> Any:
    """Return the least or the greatest value, NaN above all; None without any."""
    values = _comparable(column)
    known = [place for place, value in enumerate(values) if value is not None]
    return value_in_python(column, choose(known, key=lambda place: _order(values[place]))) if known else None


def _comparable(column: pa.ChunkedArray) -> list[Any]:
    """Return values for comparison: days and microseconds as numbers, as Python lacks some dates and times."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _order(value: Any) -> tuple[bool, Any]:
    """Order as Spark does: NaN above all."""
    return (True, 0) if value != value else (False, value)  # noqa: PLR0124 - only NaN differs from itself


def _findings(snapshot: Snapshot, targets: Sequence[_Target], counts: pa.Table) -> Iterator[WrongStatistic]:
    files, places = snapshot.logical_files, counts.column("file").to_pylist()
    paths, physical = files.column("path").to_pylist(), files.column("num_records").to_pylist()
    masked = [value or 0 for value in files.column("dv_cardinality").to_pylist()]
    live = dict(zip(places, counts.column("rows").to_pylist(), strict=True))
    for place, path in enumerate(paths):
        logged, counted = physical[place], live.get(place, 0) + masked[place]
        if logged is not None and logged != counted:
            yield WrongStatistic(path, None, "numRecords", logged, counted)
    for target in targets:
        if target.statistics:
            yield from _wrong_bounds(snapshot, target, counts, paths, masked)


def _wrong_bounds(
    snapshot: Snapshot, target: _Target, counts: pa.Table, paths: Sequence[str], masked: Sequence[int]
) -> Iterator[WrongStatistic]:
    ranges = snapshot.column_ranges(target.name)
    logged = ranges.select(["null_count", "num_records", "tight"]).to_pylist()
    files, rows, nulls = (counts.column(name).to_pylist() for name in ("file", "rows", f"nulls{target.number}"))
    for at, place in enumerate(files):
        stated = logged[place]
        if _wrong_nulls(stated, nulls[at], rows[at], exact=masked[place] == 0 or bool(stated["tight"])):
            yield WrongStatistic(paths[place], target.name, "nullCount", stated["null_count"], nulls[at])
    if not target.ordered:
        return
    for statistic, aggregate in (("min", f"min{target.number}"), ("max", f"max{target.number}")):
        bounds, values = ranges.column(statistic), counts.column(aggregate)
        cut_off = _CUT_OFF if statistic == "max" and pa.types.is_timestamp(values.type) else 0
        compared = zip(files, _comparable(values), strict=True)
        stated_bounds = _comparable(bounds)
        for at, (place, value) in enumerate(compared):
            lower, upper = (value, stated_bounds[place]) if statistic == "min" else (stated_bounds[place], value)
            if _below(lower, upper, cut_off):
                shown = value_in_python(bounds, place), value_in_python(values, at)
                yield WrongStatistic(paths[place], target.name, f"{statistic}Values", *shown)


def _wrong_nulls(stated: dict[str, Any], nulls: int, rows: int, *, exact: bool) -> bool:
    """Return whether the logged null count misleads; a wide one claims only that no row is null, or all (STATS-007)."""
    logged = stated["null_count"]
    if logged is None:
        return False
    if exact:
        return bool(logged != nulls)
    return bool((logged == 0 and nulls) or (logged == stated["num_records"] and nulls < rows))


def _below(value: Any, other: Any, cut_off: int) -> bool:
    """Return whether a value is below another; never if one is missing or NaN, which statistics leave out.

    Args:
        cut_off: For times, by how many microseconds the value may have been truncated; 0 for other types.
    """
    if value is None or other is None or value != value or other != other:  # noqa: PLR0124 - NaN, as above
        return False
    return bool(value + cut_off <= other if cut_off else value < other)
