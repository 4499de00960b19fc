"""The card of a file: the commit that wrote it, its life in versions, and the bounds of its columns by the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.versions.commits.summary import CommitSummary
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.views.layout.target import target_size
from explorer.views.layout.writers import UNKNOWN, written_by
from explorer.views.problems import Problem, problem_of
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import file_facts

_MOST_BOUNDS: Final = 40
_MOST_EVENTS: Final = 30


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """What a version did to a file.

    Attributes:
        version: The version; None for one that is no longer in the log.
        sign: ``+``, ``~`` or ``-``.
        tone: ``added``, ``remasked`` or ``removed``.
        words: What happened.
        commit: The commit, if the log has it.
    """

    version: int | None
    sign: str
    tone: str
    words: str
    commit: CommitSummary | None


@dataclass(frozen=True, slots=True)
class BoundTexts:
    """The bounds of a column in a file; empty texts where the log has none."""

    column: str
    min: str
    max: str
    nulls: str


@dataclass(frozen=True, slots=True)
class FileCard:
    """A file.

    Attributes:
        name: Its name.
        facts: Names and texts; empty if the version does not have it.
        written: The commit that wrote it; None where the log does not say.
        life: Its versions, the oldest first.
        more_events: Further events that are not listed.
        share: Its size as a share of the target; None where the log has no size.
        bounds: Of its columns, in the order of the schema.
        without_bounds: Columns that could have bounds, without any in this file.
        more_bounds: Further columns that are not listed.
        tight: The bounds are those of live rows.
        problem: Why the bounds cannot be shown.
    """

    name: str
    facts: tuple[tuple[str, str], ...]
    written: CommitSummary | None
    life: tuple[LifeEvent, ...]
    more_events: int
    share: float | None
    bounds: tuple[BoundTexts, ...]
    without_bounds: int
    more_bounds: int
    tight: bool
    problem: Problem | None


def file_card(facts: TableFacts, version: int, name: str) -> FileCard | None:
    """Return the card of a file that the version has, or that the history knows; None if neither does."""
    return facts.keep(("file card", version, name), lambda: _card(facts, version, name))


def row_of_file(facts: TableFacts, version: int, path: str) -> int:
    """Return the row of a path among the live files of a version; -1 if it is not live."""
    return int(pc.index(facts.snapshot(version).files(["path"]).column(0), path).as_py())


def _card(facts: TableFacts, version: int, name: str) -> FileCard | None:
    path = facts.file_names(version).path(name)
    entries = file_facts(facts, version, name)
    life, written = _life(facts, path)
    if entries is None and not life:
        return None
    events = life[: _MOST_EVENTS // 2] + life[-_MOST_EVENTS // 2 :] if len(life) > _MOST_EVENTS else life
    row = -1 if entries is None else row_of_file(facts, version, path)
    bounds: list[BoundTexts] = []
    without, tight, problem = 0, True, None
    share = None
    if row >= 0:
        size = facts.snapshot(version).files(["size"]).column(0)[row].as_py()
        share = None if size is None else size / target_size(facts.snapshot(version)).size
        try:
            bounds, without, tight = _bounds(facts, version, row)
        except ExplorerError as error:
            problem = problem_of(error)
    return FileCard(
        name,
        entries or (),
        written,
        tuple(events),
        len(life) - len(events),
        share,
        tuple(bounds[:_MOST_BOUNDS]),
        without,
        max(0, len(bounds) - _MOST_BOUNDS),
        tight,
        problem,
    )


def _life(facts: TableFacts, path: str) -> tuple[list[LifeEvent], CommitSummary | None]:
    """Return what versions did to a path, and the commit that wrote it; nothing where the history cannot be read."""
    if not len(facts.commits):
        return [], None
    life = facts.log.history_record().lifetimes
    paths = life.take(np.arange(len(life.added)), ["path"]).column(0)
    rows = np.flatnonzero(pc.equal(paths, path).to_numpy())
    rows = rows[np.argsort(life.added[rows], kind="stable")]
    events: list[LifeEvent] = []
    for row in rows.tolist():
        events += _events_of(facts, life, row)
    written = int(written_by(life, facts.commits, rows[:1])[0]) if len(rows) else UNKNOWN
    return events, None if written == UNKNOWN else facts.commits.record(written)


def _events_of(facts: TableFacts, life: Lifetimes, row: int) -> list[LifeEvent]:
    added, removed = int(life.added[row]), int(life.removed[row])
    masked, before = int(life.masked[row]), int(life.previous[row])
    events = []
    if added < life.first:
        words = f"written before v{life.first}, the first version in the log"
        events.append(LifeEvent(None, "+", "added", words, None))
    elif before >= 0:
        change = masked - int(life.masked[before])
        words = (
            f"{fmt.plural(change, 'row')} more masked, {masked:,} in all" if change > 0
            else f"{fmt.plural(-change, 'row')} no longer masked, {masked:,} left" if change < 0
            else "described again, with the same rows"
        )  # fmt: skip
        events.append(LifeEvent(added, "~", "remasked", words, facts.commits.record(added)))
    else:
        words = f"added, with {fmt.plural(masked, 'masked row')}" if masked else "added"
        events.append(LifeEvent(added, "+", "added", words, facts.commits.record(added)))
    replaced = removed != NEVER and _is_replaced(life, row, removed)
    if removed != NEVER and not replaced:
        words = "removed" if life.removed_data_change[row] else "removed; its rows were moved to other files"
        events.append(LifeEvent(removed, "-", "removed", words, facts.commits.record(removed)))
    return events


def _is_replaced(life: Lifetimes, row: int, removed: int) -> bool:
    """Return whether the version that ended an instance added the path again."""
    return bool(((life.previous == row) & (life.added == removed)).any())


def _bounds(facts: TableFacts, version: int, row: int) -> tuple[list[BoundTexts], int, bool]:
    """Return the bounds of one file; the statistics of other files are not read."""
    snapshot = facts.snapshot(version)
    start = 0
    for source in snapshot.file_columns.sources:
        if row < start + source.num_rows:
            some, at = source.around(row - start, row - start + 1)
            one, place = snapshot.holding(LogicalFiles([some])), row - start - at
            break
        start += source.num_rows
    else:
        return [], 0, True
    bounds: list[BoundTexts] = []
    tight, without = True, 0
    stated = [column for column in snapshot.statistics_columns if not column.partition]
    for column, ranges in one.column_ranges_of([column.name for column in stated]):
        made = _of(column, ranges.slice(place, 1).to_pylist()[0])
        if made is None:
            without += 1
            continue
        bounds.append(made)
        tight &= bool(pc.fill_null(ranges.column("tight").slice(place, 1), True)[0].as_py())
    return bounds, without, tight


def _of(column: StatisticsColumn, ranges: dict[str, object]) -> BoundTexts | None:
    low, high, nulls = ranges["min"], ranges["max"], ranges["null_count"]
    if low is None and high is None and nulls is None:
        return None
    least, greatest = ("" if value is None else fmt.plain(fmt.value_text(value, 200)) for value in (low, high))
    return BoundTexts(column.name, least, greatest, f"{nulls:,} null" if nulls else "")
