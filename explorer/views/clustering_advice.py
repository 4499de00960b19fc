"""Which order of rows would let a condition read fewer files: the columns of the condition, what each would leave, what
it costs, and the change that makes it.

Invariants: everything comes from the log, and the words say what is estimated, what is at best, and what is not known;
no change is offered that would leave as much to read as now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.words import in_sql
from explorer.core.protocol.statistics.clustering_estimate import ClusteringEstimate
from explorer.core.versions.snapshot import Snapshot
from explorer.views.table.facts import TableFacts
from explorer.views.table.funnel import Funnel

__all__ = ["Candidate", "ClusteringAdvice", "clustering_advice"]

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
    """Return the form of an OPTIMIZE in this order, with files as large as they are now on average.

    It has none where a clustered table would get another order, nor for a name that its list of columns cannot hold.
    """
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
