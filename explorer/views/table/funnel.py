"""Which files a condition reads, by which rule, and which order of the rows would let it read fewer.

Invariants: everything comes from the log; a skipped file contains no matching row, and one that is read may contain
one; sizes and rows are unknown where a file's are. An estimate says so, and no change is offered that saves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.words import in_sql
from explorer.core.protocol.arrow.arrays import Mask, joined
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.sql.predicates import IsNull, Like, SqlComparison, parse_predicate, parts_of
from explorer.core.protocol.statistics.clustering_estimate import ClusteringEstimate
from explorer.core.versions.snapshot import Snapshot
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import ranges_listing

RULE_WORDS: Final = {
    "no rows": "skipped: every row is masked, or the file is empty",
    "partition": "skipped by its partition values",
    "null count": "skipped by its null count",
    "min/max": "skipped by its minimum and maximum",
    "no statistics": "read: no statistics for a column",
    "wide bounds": "read: bounds are wide because rows are masked",
    "may match": "read: it may contain a matching row",
}
"""The rules of `explorer.core.protocol.statistics.data_skipping.SkippingResult` in words."""
KINDS: Final = {
    "read": ("no statistics", "wide bounds", "may match"),
    "partition": ("partition",),
    "statistics": ("no rows", "null count", "min/max"),
}
"""The choices of a list of files by rule: those read, and those dropped by partition values or by statistics."""


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """What is left after a step: files, their bytes (None where one is unknown), how many files it dropped, and both
    as shares of all files."""

    label: str
    files: int
    size: int | None
    dropped: int
    share: float
    dropped_share: float


@dataclass(frozen=True, slots=True)
class Funnel:
    """What a condition reads of a version.

    Attributes:
        version, where: The version and the condition.
        steps: All live files, those after partition values, those after statistics.
        without_statistics, wide: Files that are read only because statistics are missing, or bounds are wide.
        unsplittable: Parts of the condition that no statistics can answer, and why.
        counts: How many files each of `KINDS` has.
    """

    version: int
    where: str
    steps: tuple[FunnelStep, ...]
    without_statistics: int
    wide: int
    unsplittable: tuple[tuple[str, str], ...]
    counts: dict[str, int]

    @property
    def read(self) -> FunnelStep:
        """What is read."""
        return self.steps[-1]


def funnel_of(facts: TableFacts, version: int, where: str, scale: int = 0) -> Funnel:
    """Return what a condition reads of a version.

    Args:
        facts: The table.
        version: The version.
        where: A boolean SQL expression over logical columns.
        scale: Draw shares of so many files, if the version has fewer.

    Raises:
        RequestError: The text is not a condition, or names a column that the version does not have.
    """
    snapshot, rules = facts.snapshot(version), _rules(facts, version, where)
    result = snapshot.skipping(where)
    partition, read = ~_among(rules, KINDS["partition"]), _among(rules, KINDS["read"])
    sizes = snapshot.files(["size"]).column("size")
    top = max(scale, len(rules), 1)
    steps, before = [], len(rules)
    for label, remaining in (
        ("live files", np.ones(len(rules), bool)),
        ("after partition values", partition),
        ("after statistics", read),
    ):
        files = int(remaining.sum())
        steps.append(
            FunnelStep(label, files, _total(sizes, remaining), before - files, files / top, (before - files) / top)
        )
        before = files
    return Funnel(
        version,
        where,
        tuple(steps if snapshot.partition_columns else [steps[0], replace(steps[2], dropped=len(rules) - before)]),
        result.counts.kept_without_statistics,
        result.counts.kept_wide_bounds,
        tuple((part.text, part.reason) for part in result.unsplittable),
        {kind: int(_among(rules, names).sum()) for kind, names in KINDS.items()},
    )


def requested_columns(where: str) -> tuple[str, ...]:
    """Return the dotted names of the columns that a condition compares, as it spells them."""
    leaves = (part for part in parts_of(parse_predicate(where)) if isinstance(part, SqlComparison | Like | IsNull))
    return tuple(dict.fromkeys(format_column(leaf.column) for leaf in leaves))


def rule_listing(facts: TableFacts, version: int, where: str, column: str, kind: str) -> Listing:
    """Return the bounds of a column by file with the rule of each; ``kind`` is one of `KINDS`, or empty for all."""
    listing, snapshot = ranges_listing(facts, version, column), facts.snapshot(version)
    rules, files = _rules(facts, version, where), facts.file_names(version).named(snapshot.files(["path", "size"]))
    places = pc.index_in(listing.table.column("path"), value_set=joined(files.column("path")))
    of_file = rules.take(joined(places))
    table = listing.table.append_column("size", files.column("size").take(places)).append_column(
        "rule", pa.array([RULE_WORDS[rule] for rule in of_file.to_pylist()], pa.string())
    )
    if kind:
        table = table.filter(pa.array(_among(of_file, KINDS[kind])))
    columns = (*listing.columns, ListingColumn("size", "size", "size"), ListingColumn("rule", "rule"))
    return replace(listing, columns=columns, table=table, searched=(*listing.searched, "rule"))


def read_files(facts: TableFacts, version: int, where: str) -> frozenset[str]:
    """Return the names of the files that a condition reads."""
    paths = facts.file_names(version).named(facts.snapshot(version).files(["path"])).column("path")
    read = paths.filter(pa.array(_among(_rules(facts, version, where), KINDS["read"])))
    return frozenset(read.to_pylist())


def compared_words(before: Funnel, after: Funnel) -> str:
    """Say what one version reads more or less than another."""
    files = after.read.files - before.read.files
    known = before.read.size is not None and after.read.size is not None
    size = (after.read.size or 0) - (before.read.size or 0) if known else 0
    if not files and not size:
        return f"Same files{' and bytes' if known else ''} as at v{before.version}."
    words = f"{fmt.plural(abs(files), 'file')} {'more' if files > 0 else 'fewer'}" if files else "Same number of files"
    less = f", {fmt.size(abs(size))} {'more' if size > 0 else 'less'}" if size else ", same bytes" if known else ""
    return f"{words}{less} at v{after.version} than at v{before.version}."


def _rules(facts: TableFacts, version: int, where: str) -> pa.Array:
    """Return the rule of each file, in the order of the version's files."""
    return facts.keep(("rules", version, where), lambda: _ruled(facts.snapshot(version), where))


def _ruled(snapshot: Snapshot, where: str) -> pa.Array:
    results = snapshot.skipping(where).files
    places = pc.index_in(snapshot.files(["path"]).column("path"), value_set=_contiguous(results.column("path")))
    return _contiguous(results.column("rule")).take(_contiguous(places))


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return joined(column)


def _among(rules: pa.Array, names: tuple[str, ...]) -> Mask:
    matches: Mask = pc.is_in(rules, value_set=pa.array(names, pa.string())).to_numpy(zero_copy_only=False)
    return matches


def _total(sizes: pa.ChunkedArray, chosen: Mask) -> int | None:
    matching = sizes.filter(pa.array(chosen))
    return None if matching.null_count else int(pc.sum(matching).as_py() or 0)


_MEBIBYTE: Final = 1 << 20
_BASIS: Final = (
    "Estimated from the log: values are assumed to be spread evenly between the bounds of each file, rows stay in "
    "their partition, and each partition keeps its number of files. No rows were read."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An order of rows: the files that the condition reads then, their bytes, their share of all that it reads now or
    would; None where the log does not say.

    Attributes:
        column: The column; empty for the order as it is.
        basis: ``as it is``, ``estimate``, ``at best``, or why nothing is known.
        best: Whether this is what is advised.
    """

    column: str
    files: int | None
    size: int | None
    share: float
    basis: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class ClusteringAdvice:
    """What another order would save.

    Attributes:
        title: The advice, or why there is none.
        candidates: The order as it is, then one for each column of the condition, in its order.
        saved: What the advised order saves, in words; empty without advice.
        cost: What it costs, and how long it lasts.
        basis: What the numbers are worth.
        answers: Answers of the form of `optimize` that makes the order; empty where no change of this program does.
        command: The SQL that makes it where no change does.
    """

    title: str
    candidates: tuple[Candidate, ...]
    saved: str = ""
    cost: str = ""
    basis: str = _BASIS
    answers: tuple[tuple[str, str], ...] = ()
    command: str = ""


def clustering_advice(facts: TableFacts, funnel: Funnel) -> ClusteringAdvice | None:
    """Return what another order of the rows would let a condition read.

    Args:
        facts: The table.
        funnel: What the condition reads of a version as it is.

    Returns:
        None where the condition compares no column but those of partitions, which no order helps.
    """
    version, where = funnel.version, funnel.where
    snapshot = facts.snapshot(version)
    estimates = facts.keep(("clustering", version, where), lambda: snapshot.clustering(where))
    if not estimates:
        return None
    known = [estimate for estimate in estimates if estimate.files is not None]
    best = min(known, key=lambda estimate: (estimate.files, estimate.at_best), default=None)
    now = funnel.read
    advised = None if best is None or (best.files or 0) >= now.files or now.files < 2 else best
    most = max([now.files, *(estimate.files or 0 for estimate in known), 1])
    candidates = (
        Candidate("", now.files, now.size, now.files / most, "as it is"),
        *(_candidate(estimate, most, best=estimate is advised) for estimate in estimates),
    )
    if advised is None:
        return ClusteringAdvice(_refusal(now.files, known), candidates)
    answers = _answers(snapshot, advised.column)
    return ClusteringAdvice(
        f"Order rows by {fmt.shorten(fmt.plain(advised.column, 200), 40)}?",
        candidates,
        _saved(now.files, now.size, advised),
        _cost(snapshot, advised.column),
        answers=answers,
        command="" if answers else _command(facts, advised.column),
    )


def _candidate(estimate: ClusteringEstimate, most: int, *, best: bool) -> Candidate:
    basis = estimate.why or ("at best" if estimate.at_best else "estimate")
    return Candidate(estimate.column, estimate.files, estimate.size, (estimate.files or 0) / most, basis, best)


def _refusal(files: int, known: Sequence[ClusteringEstimate]) -> str:
    if files < 2:
        return "No row order would skip more files"
    if not known:
        return "The savings of an order are unknown"
    return "No order by a column of this condition would skip more files"


def _saved(files: int, size: int | None, best: ClusteringEstimate) -> str:
    at_least = "at best " if best.at_best else "about "
    remaining = f"{at_least}{fmt.plural(best.files or 0, 'file')} instead of {fmt.count(files)}"
    if size is None or best.size is None:
        return f"{remaining}."
    return f"{remaining}, {fmt.size(best.size)} instead of {fmt.size(size)}."


def _cost(snapshot: Snapshot, column: str) -> str:
    cost = f"Costs one rewrite of {fmt.size(snapshot.size_in_bytes)}"
    clustered = snapshot.clustering_columns
    if column in clustered:
        return f"{cost}. The table is already clustered by it: OPTIMIZE sorts newer rows too."
    if clustered:
        names = fmt.plain(", ".join(clustered), 120)
        return f"{cost}. This replaces the current clustering by {names}, which other queries may need."
    return f"{cost}. New rows are unordered until the next OPTIMIZE. Other queries may read more files."


def _answers(snapshot: Snapshot, column: str) -> tuple[tuple[str, str], ...]:
    """Return the answers for an OPTIMIZE in this order, with the present file size; none if no form can express it."""
    mean = (snapshot.size_in_bytes or 0) / max(1, snapshot.num_files)
    mebibytes = mean / _MEBIBYTE
    size = (
        "mebibytes",
        f"{mebibytes:.0f}" if mebibytes >= 10 else f"{max(mebibytes, 0.0001):.4f}".rstrip("0").rstrip("."),
    )
    if column in snapshot.clustering_columns:
        return (size,)
    return () if snapshot.clustering_columns or "," in column else (("order", "orderBy"), ("by", column), size)


def _command(facts: TableFacts, column: str) -> str:
    table = in_sql(facts.location)
    return f"ALTER TABLE {table} CLUSTER BY ({column}); OPTIMIZE {table} FULL"
