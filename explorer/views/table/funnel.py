"""Which files a condition reads: how many are left after partition values and after statistics, and the rule of each.

Invariants: everything comes from the log; a file that is dropped holds no matching row, and one that is read may hold
one; sizes and rows are unknown where a file's are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Mask
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.sql.predicates import IsNull, Like, SqlComparison, parse_predicate, parts_of
from explorer.core.versions.snapshot import Snapshot
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import ranges_listing

__all__ = [
    "KINDS",
    "RULE_WORDS",
    "Funnel",
    "Step",
    "compared_words",
    "funnel_of",
    "read_files",
    "requested_columns",
    "rule_listing",
]

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
class Step:
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
    steps: tuple[Step, ...]
    without_statistics: int
    wide: int
    unsplittable: tuple[tuple[str, str], ...]
    counts: dict[str, int]

    @property
    def read(self) -> Step:
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
        steps.append(Step(label, files, _total(sizes, remaining), before - files, files / top, (before - files) / top))
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
    places = pc.index_in(listing.table.column("path"), value_set=files.column("path").combine_chunks())
    of_file = rules.take(places.combine_chunks())
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
    words = f"{fmt.plural(abs(files), 'file')} {'more' if files > 0 else 'fewer'}" if files else "As many files"
    if before.read.size is None or after.read.size is None:
        return f"{words} at v{after.version} than at v{before.version}."
    size = after.read.size - before.read.size
    less = f"{fmt.size(abs(size))} {'more' if size > 0 else 'less'}" if size else "as many bytes"
    return f"{words}, {less} at v{after.version} than at v{before.version}."


def _rules(facts: TableFacts, version: int, where: str) -> pa.Array:
    """Return the rule of each file, in the order of the version's files."""
    return facts.keep(("rules", version, where), lambda: _ruled(facts.snapshot(version), where))


def _ruled(snapshot: Snapshot, where: str) -> pa.Array:
    results = snapshot.skipping(where).files
    places = pc.index_in(snapshot.files(["path"]).column("path"), value_set=_contiguous(results.column("path")))
    return _contiguous(results.column("rule")).take(_contiguous(places))


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _among(rules: pa.Array, names: tuple[str, ...]) -> Mask:
    matches: Mask = pc.is_in(rules, value_set=pa.array(names, pa.string())).to_numpy(zero_copy_only=False)
    return matches


def _total(sizes: pa.ChunkedArray, chosen: Mask) -> int | None:
    matching = sizes.filter(pa.array(chosen))
    return None if matching.null_count else int(pc.sum(matching).as_py() or 0)
