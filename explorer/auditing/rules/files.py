"""The live files: masked rows, small files, statistics that are missing or cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.footers import FooterDifference
from explorer.auditing.rule import NotAnswered, Rule, see, verify_command
from explorer.auditing.rules.layout import needed_columns, unrecorded_columns
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.protocol.arrow.arrays import Int64s, Mask, exact_sum, flags, mask, numbers, only_array
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.transaction.intents.records import Optimize, Purge, RecomputeStatistics

# Writers cut the greatest time to milliseconds, and not the least.
_CUT_OFF: Final = 1_000  # microseconds


class ContradictoryStatistic(msgspec.Struct, frozen=True):
    """Statistics of one column in one file that no value can satisfy.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name.
        detail: Both sides.
    """

    path: str
    column: str
    detail: str


def contradictory_statistics(subject: Subject) -> Iterator[ContradictoryStatistic]:
    """Yield what no value can satisfy, column by column."""
    columns = [column for column in subject.snapshot.statistics_columns if not column.partition]
    for column, ranges in subject.column_ranges_of(columns, known=True):
        for row in ranges.filter(mask(_is_out_of_order(ranges, column))).to_pylist():
            yield ContradictoryStatistic(row["path"], column.name, f"minimum {row['min']}, maximum {row['max']}")
        for row in ranges.filter(mask(_has_odd_nulls(ranges))).to_pylist():
            yield ContradictoryStatistic(
                row["path"], column.name, f"{row['null_count']} nulls in {row['num_records']} rows"
            )


def _is_out_of_order(ranges: pa.Table, column: StatisticsColumn) -> Mask:
    """Return whether the minimum of each file is certainly above its maximum; false if one is unknown."""
    low, high = only_array(ranges, "min"), only_array(ranges, "max")
    match column.type.name:
        case "binary" | "variant" | "void":
            return np.zeros(ranges.num_rows, bool)
        case "boolean":
            low, high = low.cast(pa.int8()), high.cast(pa.int8())
        case "timestamp" | "timestamp_ntz":
            (least, has_least), (greatest, has_greatest) = (numbers(each.cast(pa.int64())) for each in (low, high))
            # A difference beyond 64 bits is below zero.
            difference = least - greatest
            return has_least & has_greatest & (least > greatest) & ((difference > _CUT_OFF) | (difference < 0))
    return flags(pc.greater(low, high))


def _has_odd_nulls(ranges: pa.Table) -> Mask:
    """Return whether more values of each file are null than it has rows, or fewer than none."""
    (nulls, has_nulls), (rows, has_rows) = (numbers(only_array(ranges, name)) for name in ("null_count", "num_records"))
    return has_nulls & ((nulls < 0) | (has_rows & (nulls > rows)))


_SHARE: Final = 0.30
_SMALL: Final = 1_000_000
_TARGET: Final = 1_000_000_000
_LEAST_MASKED: Final = 1_000
"""Masked rows below which they are worth a note and no warning, as long as their files are small too."""
_FEW: Final = 20
_MANY: Final = 100


def _masked(subject: Subject) -> tuple[Finding, ...]:
    life, live = subject.history.lifetimes, subject.live
    hidden, (shown, known) = life.masked[live], life.rows
    heavy = known[live] & (hidden > _SHARE * (hidden + shown[live]))
    count = int(heavy.sum())
    if not count:
        return ()
    rows, size = exact_sum(hidden[heavy]), _sum(life.sizes, live[heavy])
    return (
        Finding(
            rule="masked-rows",
            severity="info" if rows < _LEAST_MASKED and size is not None and size < _SMALL else "warning",
            label=f"{fmt.plural(count, 'file')} heavily masked",
            title=f"{fmt.plural(count, 'file')} with more than {_SHARE:.0%} of the rows masked".replace("%", " %"),
            evidence=(
                Evidence(f"{count:,} of {fmt.plural(len(live), 'live file')}", Place("masked rows")),
                Evidence(f"{fmt.plural(rows, 'row')} masked in {'it' if count == 1 else 'them'}"),
            ),
            effect="Every read of these files decodes rows only to discard them, and the masked rows are still stored.",
            remedy=Remedy("Purge the masked rows\u2026", intent=Purge()),
            files=count,
            rows=rows,
            size=size,
        ),
    )


def _overmasked(subject: Subject) -> tuple[Finding, ...]:
    """Report files whose deletion vector has a negative row count or more rows than the file (DV-020)."""
    life, live = subject.history.lifetimes, subject.live
    hidden, (shown, known) = life.masked[live], life.rows
    wrong = (hidden < 0) | (known[live] & (shown[live] < 0))
    count = int(wrong.sum())
    if not count:
        return ()
    path = life.take(live[wrong][:1], ["path"]).column("path")[0].as_py()
    return (
        Finding(
            rule="wrong-cardinality",
            severity="error",
            label=f"{fmt.plural(count, 'vector')} of incorrect size",
            title=f"{fmt.plural(count, 'deletion vector')} with a different number of rows than the log records",
            evidence=(Evidence(f"{named([path])} is one of the files", Place("masked rows")),),
            effect="Row totals are wrong, and reading the rows fails.",
            remedy=see(subject, "See the deletion vectors, and restore a version before them", Place("masked rows")),
            files=count,
        ),
    )


def _small(subject: Subject) -> tuple[Finding, ...]:
    """Small files that compaction can join: those of one partition."""
    life, live = subject.history.lifetimes, subject.live
    sizes, known = life.sizes
    small = live[known[live] & (sizes[live] < _SMALL)]
    count = len(small)
    if count < _FEW or count * 2 < len(live):
        return ()
    after = _joined(subject.partitions(small), sizes[small])
    if count - after < _FEW:
        return ()
    return (
        Finding(
            rule="small-files",
            severity="warning" if count >= _MANY else "info",
            label=fmt.plural(count, "small file"),
            title=f"{fmt.plural(count, 'file')} smaller than 1 MB",
            evidence=(Evidence(f"{count:,} of {fmt.plural(len(live), 'live file')}", Place("files")),),
            effect=f"A query opens each of them. Compaction would leave about {after:,}.",
            remedy=Remedy("Compact the files\u2026", intent=Optimize()),
            files=count,
            size=int(sizes[small].sum()),
        ),
    )


def _joined(partitions: Int64s, sizes: Int64s) -> int:
    """About how many files compaction leaves."""
    return int(np.ceil(np.bincount(partitions, weights=sizes)[np.unique(partitions)] / _TARGET).clip(1).sum())


def _uncounted(subject: Subject) -> tuple[Finding, ...]:
    known = subject.history.lifetimes.rows[1][subject.live]
    count = int((~known).sum())
    if not count:
        return ()
    return (
        Finding(
            rule="uncounted-files",
            severity="info",
            label=f"{fmt.plural(count, 'file')} uncounted",
            title=f"{fmt.plural(count, 'file')} without a row count",
            evidence=(Evidence(f"{count:,} of {fmt.plural(len(known), 'live file')}", Place("files")),),
            effect="The table\u2019s row count is unknown, and queries may not be able to skip these files.",
            remedy=see(subject, "See the statistics", Place("statistics"))
            if subject.lists_files
            else Remedy("See why the files cannot be listed", command=verify_command(subject)),
            files=count,
        ),
    )


def _unusable(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Statistics that cannot be used, and columns of which no file says anything."""
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    return (*_broken(subject), *_silent(subject))


def _broken(subject: Subject) -> tuple[Finding, ...]:
    problems = subject.statistics_problems
    if not problems:
        return ()
    count = len({problem.path for problem in problems})
    return (
        Finding(
            rule="statistics",
            severity="warning",
            label="unreadable statistics",
            title=f"The statistics of {fmt.plural(count, 'file')} cannot be used",
            evidence=(Evidence(fmt.plain(problems[0].detail, 200), Place("statistics")),),
            effect="Queries cannot skip these files, and their effect on other clients is unknown.",
            remedy=see(subject, "See the statistics", Place("statistics")),
            files=count,
        ),
    )


def _wrong(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Statistics that contradict themselves, or that the footers of their files contradict."""
    report = subject.inputs.footers
    own = [] if subject.too_many_statistics is not None else list(contradictory_statistics(subject))
    findings = (_contradictory(subject, own),) if own else ()
    if findings and (report is None or not report.differences):
        return findings
    if report is None:
        return NotAnswered("The footers of the data files were not checked. Repeat the audit with footers.")
    if not report.differences:
        if not report.unread:
            return ()
        (path, reason), more = report.unread[0], len(report.unread) - 1
        others = f", and {fmt.plural(more, 'file')} more" if more else ""
        return NotAnswered(f"The footer of {named([path])} cannot be read ({fmt.plain(reason, 200)}){others}.")
    files = list(dict.fromkeys(each.path for each in report.differences))
    count, one = len(files), len(files) == 1
    return (
        *findings,
        Finding(
            rule="wrong-statistics",
            severity="error",
            label=f"incorrect statistics, {fmt.plural(count, 'file')}",
            title=f"The statistics of {fmt.plural(count, 'file')} contradict {'the file' if one else 'the files'}",
            evidence=(
                *(
                    Evidence(_difference(each), Place("statistics", column=each.column))
                    for each in report.differences[:4]
                ),
                Evidence(f"{fmt.plural(report.files, 'footer')} read", Place("files", report.version)),
                *(
                    (Evidence(f"{fmt.plural(len(report.unread), 'footer')} could not be read"),)
                    if report.unread
                    else ()
                ),
            ),
            effect="Queries that rely on them silently miss rows or return wrong counts.",
            remedy=Remedy("Recompute the statistics\u2026", intent=RecomputeStatistics()),
            versions=((report.version, report.version),),
            files=count,
        ),
    )


def _contradictory(subject: Subject, contradictions: Sequence[ContradictoryStatistic]) -> Finding:
    files = len({each.path for each in contradictions})
    return Finding(
        rule="wrong-statistics",
        severity="error",
        label=f"wrong statistics, {fmt.plural(files, 'file')}",
        title=f"The statistics of {fmt.plural(files, 'file')} contradict themselves",
        evidence=tuple(
            Evidence(
                f"{named([each.path])}: {named([each.column])} has {fmt.shorten(fmt.plain(each.detail, 200), 100)}",
                Place("statistics", column=each.column),
            )
            for each in contradictions[:4]
        ),
        effect="No row is skipped by them here. Other clients skip the files, and so leave out rows without an error.",
        remedy=Remedy("Recompute the statistics\u2026", intent=RecomputeStatistics()),
        versions=((subject.version, subject.version),),
        files=files,
    )


def _difference(difference: FooterDifference) -> str:
    of = f" of {named([difference.column])}" if difference.column else ""
    logged, actual = (fmt.shorten(fmt.plain(text, 200), 40) for text in (difference.logged, difference.actual))
    return f"{named([difference.path])}: {difference.statistic}{of} is {logged} in the log, {actual} in the file"


def _silent(subject: Subject) -> tuple[Finding, ...]:
    if subject.snapshot.num_files < _FEW:
        return ()
    needed = needed_columns(subject)
    names = [name for name in unrecorded_columns(subject) if name not in needed]
    if not names:
        return ()
    return (
        Finding(
            rule="statistics",
            severity="info",
            label=f"{fmt.plural(len(names), 'column')} without statistics",
            title=f"{fmt.plural(len(names), 'column')} that could have bounds, without statistics in any file",
            evidence=(Evidence(named(names), Place("statistics", column=names[0])),),
            effect=f"A condition on {'it' if len(names) == 1 else 'them'} reads all "
            f"{fmt.plural(subject.snapshot.num_files, 'file')}.",
            remedy=see(subject, "See the statistics", Place("statistics", column=names[0])),
            files=subject.snapshot.num_files,
        ),
    )


def _sum(values: tuple[Int64s, Mask], rows: Int64s) -> int | None:
    """Return the sum over some rows, if all of them are known."""
    return exact_sum(values[0][rows]) if values[1][rows].all() else None


FILE_RULES: Final = (
    Rule("masked-rows", "warning", "heavily masked files", "Readers decode rows only to discard them.", _masked),
    Rule(
        "wrong-cardinality",
        "error",
        "deletion vectors of incorrect size",
        "Totals are wrong, and rows cannot be read.",
        _overmasked,
    ),
    Rule("small-files", "warning", "many small files", "Opening a file costs more than reading a small one.", _small),
    Rule(
        "statistics", "warning", "statistics that cannot be used", "Queries cannot skip files without them.", _unusable
    ),
    Rule(
        "wrong-statistics",
        "error",
        "incorrect statistics",
        "Queries skip files based on them, and so miss rows without an error.",
        _wrong,
    ),
    Rule("uncounted-files", "info", "files without row counts", "Without them, row totals are unknown.", _uncounted),
)
