"""What an OPTIMIZE would do to a version, by the planner that would do it; and whether its cause remains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.core.errors import ExplorerError
from explorer.core.protocol.table_properties.registry import AUTO_COMPACT
from explorer.core.transaction.intents.records import Optimize
from explorer.core.transaction.proposals.rows.optimize_files import packing
from explorer.views.layout.layout import SmallFiles, TableLayout, file_figures
from explorer.views.layout.writers import Writer
from explorer.views.problems import Problem, problem_of
from explorer.views.table.facts import TableFacts

_WEEK: Final = 7 * 86_400_000
_LEAST_COMMITS: Final = 3


@dataclass(frozen=True, slots=True)
class ReturningFiles:
    """How fast small files come back: those that a writer added in the last days before a version.

    Attributes:
        writer: Who adds them.
        files, days: How many were added, in how many days.
        full_after: Days until there are as many files as an OPTIMIZE would save; None where it saves none.
    """

    writer: Writer
    files: int
    days: float
    full_after: float | None


@dataclass(frozen=True, slots=True)
class OptimizeEstimate:
    """What an OPTIMIZE of all partitions would do.

    Attributes:
        files, after: Live files now and afterwards.
        rewritten, read: Files that go, and their bytes.
        made: New files.
        masked: Masked rows that are no longer stored afterwards in live files.
        is_exact: ``after`` and ``made`` are exact; rows that are ordered are cut into files by a sample.
        auto_compact: Writers that know the property join small files themselves.
        returning: What comes back; None where nothing says so.
        problem: Why there is no estimate.
    """

    files: int
    after: int
    rewritten: int
    read: int
    made: int
    masked: int
    is_exact: bool
    auto_compact: bool
    returning: ReturningFiles | None
    problem: Problem | None = None


def optimize_estimate(facts: TableFacts, version: int, layout: TableLayout) -> OptimizeEstimate:
    """Return what an OPTIMIZE to the target size would do to a version."""
    return facts.keep(("optimize estimate", version), lambda: _estimate(facts, version, layout))


def _estimate(facts: TableFacts, version: int, layout: TableLayout) -> OptimizeEstimate:
    snapshot, count = facts.snapshot(version), layout.files
    columns = ["partition_values", "size", "num_records", "dv_cardinality"]
    try:
        clustered = bool(snapshot.clustering_columns)
        files = snapshot.files([*columns, "tags"] if clustered else columns)
        packed = packing(Optimize(target_size=layout.target.size if layout.target.is_set else None), snapshot, files)
        auto = AUTO_COMPACT.of(snapshot.properties)
    except ExplorerError as error:
        return OptimizeEstimate(count, count, 0, 0, 0, 0, True, False, None, problem_of(error))
    figures = file_figures(facts, version)
    saved = len(packed.places) - packed.made
    return OptimizeEstimate(
        count,
        count - saved,
        len(packed.places),
        int(figures.sizes[packed.places].sum()),
        packed.made,
        int(figures.masked[packed.places].sum()),
        not packed.order,
        auto,
        None if layout.small is None else _returning(facts, version, layout.small, saved),
    )


def _returning(facts: TableFacts, version: int, small: SmallFiles, saved: int) -> ReturningFiles | None:
    """Return what the writer of most small files added in the week before the version."""
    if small.versions is None or small.writer.operation == "OPTIMIZE" or not facts.commits.has(version):
        return None
    figures, commits = file_figures(facts, version), facts.commits
    code = figures.writers.writers.index(small.writer)
    own = (figures.writers.codes == code) & figures.has_size & (figures.sizes < small.limit)
    added, counts = np.unique(figures.writers.versions[own], return_counts=True)
    times = commits.times[np.searchsorted(commits.versions, added)]
    now = int(commits.times[np.searchsorted(commits.versions, version)])
    recent = times > now - _WEEK
    if int(recent.sum()) < _LEAST_COMMITS:
        return None
    days = max((now - int(times[recent].min())) / 86_400_000, 1 / 24)
    files = int(counts[recent].sum())
    return ReturningFiles(small.writer, files, days, saved * days / files if saved > 0 else None)
