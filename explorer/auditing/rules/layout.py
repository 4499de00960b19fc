"""The layout of rows in files: partitions, clustering, and columns of queries without statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see, written_again
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.core.protocol.sql.stored_expressions import expression_columns
from explorer.core.transaction.intents.records import Optimize

_MANY: Final = 100
_TOO_MANY: Final = 1_000
_THIN: Final = 10_000_000
_FEW: Final = 10
_SHARE: Final = 0.5
_HEAVY: Final = 1_000_000_000
_FILES: Final = 20


def _explosion(subject: Subject) -> tuple[Finding, ...]:
    """Report many partitions with little in each: no compaction can join files of different partitions."""
    sizes = _partition_sizes(subject)
    count = len(sizes)
    if count < _MANY or float(np.median(sizes)) >= _THIN:
        return ()
    columns = subject.metadata.partition_columns
    return (
        Finding(
            rule="partition-explosion",
            severity="warning" if count >= _TOO_MANY else "info",
            label=fmt.plural(count, "partition"),
            title=f"{fmt.plural(count, 'partition')}, median {fmt.size(int(np.median(sizes)))}",
            evidence=(
                Evidence(f"partitioned by {named(columns)}", Place("files")),
                Evidence(f"{fmt.plural(len(subject.live), 'live file')}, {fmt.size(int(sizes.sum()))} in all"),
            ),
            effect="Compaction cannot make the files larger, and each query lists all partitions. Fewer partition "
            "columns, or clustering instead, would allow larger files.",
            remedy=written_again(subject, "with fewer partition columns"),
            files=len(subject.live),
            size=int(sizes.sum()),
        ),
    )


def _skew(subject: Subject) -> tuple[Finding, ...]:
    """Report one partition that has most of the bytes of many."""
    sizes = _partition_sizes(subject)
    if len(sizes) < _FEW:
        return ()
    largest, total = int(sizes.max()), int(sizes.sum())
    if largest < _HEAVY or largest < _SHARE * total:
        return ()
    return (
        Finding(
            rule="skewed-partitions",
            severity="info",
            label="one partition has most of the data",
            title=f"One of {len(sizes):,} partitions holds {fmt.percent(largest, total)} of the bytes",
            evidence=(
                Evidence(
                    f"{fmt.size(largest)}; the median partition has {fmt.size(int(np.median(sizes)))}", Place("files")
                ),
            ),
            effect="A job with one task per partition waits for this one.",
            remedy=see(subject, "See the files of each partition", Place("files")),
            size=largest,
        ),
    )


def _partition_sizes(subject: Subject) -> Float64s:
    """Bytes of each partition; empty without partitions, or where a size is not known."""
    life, live = subject.history.lifetimes, subject.live
    sizes, known = life.sizes
    if not subject.metadata.partition_columns or not len(live) or not known[live].all():
        return np.zeros(0)
    places = subject.live_partitions
    return np.bincount(places, weights=sizes[live]).astype(np.float64)


def _differs(subject: Subject, column: str) -> bool:
    """Return whether a column has more than one value, as far as bounds show."""
    ranges = subject.column_ranges(column)
    return len({*ranges.column("min").unique().to_pylist(), *ranges.column("max").unique().to_pylist()} - {None}) > 1


def _clustering(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Clustering columns by which files do not part: a value may be in most of them."""
    columns = subject.snapshot.clustering_columns
    if not columns or subject.snapshot.num_files < _FILES:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    overlaps = {column: subject.snapshot.overlap(column) for column in columns}
    poor = {
        column: overlap.average
        for column, overlap in overlaps.items()
        if overlap.average is not None and overlap.files >= _FILES and overlap.average >= _SHARE * overlap.files
        if _differs(subject, column)
    }
    if len(poor) < len(columns):
        return ()
    depths: Int64s = np.array([round(depth) for depth in poor.values()], np.int64)
    return (
        Finding(
            rule="unclustered-files",
            severity="info",
            label="ineffective clustering",
            title=f"A value of {named(list(poor))} may be in {int(depths.min()):,} of "
            f"{fmt.plural(subject.snapshot.num_files, 'file')}",
            evidence=(Evidence(f"clustered by {named(columns)}", Place("statistics", column=columns[0])),),
            effect="A condition on it skips few files. New rows are only clustered by OPTIMIZE.",
            remedy=Remedy("Cluster the files\u2026", intent=Optimize()),
            files=subject.snapshot.num_files,
        ),
    )


LAYOUT_RULES: Final = (
    Rule(
        "partition-explosion",
        "warning",
        "partitions that are too small",
        "Files of different partitions cannot be combined.",
        _explosion,
    ),
    Rule("skewed-partitions", "info", "one partition with most of the data", "Work is distributed unevenly.", _skew),
    Rule(
        "unclustered-files",
        "info",
        "ineffective clustering",
        "Clustering columns help only if files contain different values of them.",
        _clustering,
    ),
)


_FEW_FILES: Final = 20
_MOST_CONDITIONS: Final = 200
_WITHOUT_BOUNDS: Final = frozenset({"binary", "boolean", "variant", "void"})
_SPARK_ID: Final = re.compile(r"#\d+L?\b")


def _lacking(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    if subject.snapshot.num_files < _FEW_FILES:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    lacking = [name for name in unrecorded_columns(subject) if name in needed_columns(subject)]
    if not lacking:
        return ()
    clustered = [name for name in lacking if name in subject.snapshot.clustering_columns]
    one = len(lacking) == 1
    return (
        Finding(
            rule="needed-statistics",
            severity="warning",
            label=f"{fmt.plural(len(lacking), 'column')} without data skipping",
            title=f"No file has statistics of {named(lacking)}, by which {'it is' if one else 'rows are'} looked up",
            evidence=(
                Evidence(f"clustered by {named(clustered)}" if clustered else "conditions in the history name them"),
                Evidence(named(lacking), Place("statistics", column=lacking[0])),
            ),
            effect=f"A condition on {'it' if one else 'them'} reads all "
            f"{fmt.plural(subject.snapshot.num_files, 'file')}.",
            remedy=see(subject, "See the statistics", Place("statistics", column=lacking[0])),
            files=subject.snapshot.num_files,
        ),
    )


def unrecorded_columns(subject: Subject) -> list[str]:
    """Return columns of which no file has statistics, though their type has bounds."""
    coverage = subject.snapshot.statistics_coverage().to_pylist()
    return [row["column"] for row in coverage if not row["files"] and row["type"] not in _WITHOUT_BOUNDS]


def needed_columns(subject: Subject) -> frozenset[str]:
    """Clustering columns, and columns in the conditions of recorded deletes, updates, merges and overwrites."""
    names = {column.name.lower(): column.name for column in subject.snapshot.statistics_columns}
    columns = set(subject.snapshot.clustering_columns)
    for text in _conditions(subject):
        try:
            paths = expression_columns(_SPARK_ID.sub("", text))
        except InvalidIntent:
            continue
        # A condition of a merge puts the name of a side before the column.
        spelt = {".".join(path[start:]).lower() for path in paths for start in range(len(path))}
        columns |= {names[each] for each in spelt if each in names}
    return frozenset(columns)


def _conditions(subject: Subject) -> Iterator[str]:
    infos = [record.info for record in subject.history.commits if record.info is not None]
    given = [info.operation_parameters for info in infos if info.operation_parameters]
    for parameters in [each for each in given if "predicate" in each][-_MOST_CONDITIONS:]:
        yield from _texts(parameters["predicate"])


def _texts(value: object) -> Iterator[str]:
    """Yield the conditions of a parameter: a text, or a JSON list of texts."""
    if not isinstance(value, str):
        return
    try:
        parts = msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError:
        parts = [value]
    yield from parts


QUERY_RULES: Final = (
    Rule(
        "needed-statistics",
        "warning",
        "filter columns without statistics",
        "Without them, each lookup reads every file.",
        _lacking,
    ),
)
