"""A row's story as a person reads it: what each version did to it, who did that and why, and which file holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.changed_rows.row_story import RowStep, RowStory, StoredRow
from explorer.core.protocol.arrow.python_dates import with_python_dates
from explorer.core.versions.commits.summary import CommitSummary

_WIDTH: Final = 200
_CHANGED: Final = 12
_ROWS: Final = 20
_WORDS: Final = {
    "present": ("\u00b7", "", "already there"),
    "insert": ("+", "added", "inserted"),
    "update": ("\u0394", "changed", "updated"),
    "delete": ("\u2212", "removed", "deleted"),
    "move": ("\u21c4", "", "rewritten, not changed"),
    "several": ("!", "remasked", "key not unique"),
}


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value before and after; ``before`` is None where there was no row."""

    column: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class HoldingFile:
    """A file that holds a row, and the row's place in it."""

    path: str
    row: int


@dataclass(frozen=True, slots=True)
class StepView:
    """One version of the story; ``in_force`` if it is the state of the selected version."""

    version: int
    sign: str
    tone: str
    word: str
    commit: CommitSummary | None
    changes: tuple[ValueChange, ...]
    more_changes: int
    files: tuple[HoldingFile, ...]
    more_files: int
    in_force: bool


@dataclass(frozen=True, slots=True)
class StoredValues:
    """The values of a row: column and text, null as a word; where it is."""

    path: str
    row: int
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StoryView:
    """What is shown of a story.

    Attributes:
        title: By what the row is followed, and its value.
        steps: The newest first.
        note: What the story is from, for people.
        several: Versions in which the key is not unique, for people; empty where there are none.
        at: The rows at the selected version, or where there were none the last or first ones.
        at_words: Which of these they are.
        more_at: How many others there are.
        left_out: Columns that are not shown, and why.
        by_spark, reason: As in `explorer.changed_rows.row_story.RowStory`.
    """

    title: str
    steps: tuple[StepView, ...]
    note: str
    several: str
    at: tuple[StoredValues, ...]
    at_words: str
    more_at: int
    left_out: tuple[tuple[str, str], ...]
    by_spark: bool
    reason: str


def story_view(
    story: RowStory, version: int, commit_of: Callable[[int], CommitSummary | None], begins: str
) -> StoryView:
    """Describe a story.

    Args:
        story: The story.
        version: The selected version.
        commit_of: Returns the commit of a version.
        begins: Why the story begins later than the table; empty where it does not.
    """
    readable = [with_python_dates(column) for column in story.rows.columns]
    rows = pa.Table.from_arrays(readable, names=story.rows.column_names).to_pylist()
    in_force = max((step.version for step in story.steps if step.version <= version), default=None)
    steps = tuple(_step(step, rows, commit_of(step.version), step.version == in_force) for step in story.steps)
    shown, at_words = _at(story.steps, version)
    return StoryView(
        _title(story),
        tuple(reversed(steps)),
        _note(story, begins),
        _several(story),
        tuple(_values(each, rows) for each in shown[:_ROWS]),
        at_words,
        max(0, len(shown) - _ROWS),
        tuple(dict.fromkeys((column.column, column.reason) for column in story.left_out)),
        story.by_spark,
        story.reason,
    )


def _at(steps: Sequence[RowStep], version: int) -> tuple[tuple[StoredRow, ...], str]:
    """The rows at a version, or where there were none the nearest ones; and which these are."""
    past = [step for step in steps if step.version <= version]
    if past and past[-1].rows:
        return past[-1].rows, f"Values at v{version}"
    if past:
        return past[-1].before, f"Last values, up to v{past[-1].version - 1}"
    if steps:
        return steps[0].rows, f"First values, from v{steps[0].version}"
    return (), ""


def _title(story: RowStory) -> str:
    followed = story.followed
    if followed.row_id is not None:
        return f"row ID {followed.row_id}"
    return ", ".join(f"{fmt.plain(name, 60)} {fmt.value_text(value, 80)}" for name, value in followed.key.items())


def _note(story: RowStory, begins: str) -> str:
    first, last = story.followed.first, story.followed.last
    where = f"v{first}" if first == last else f"v{first} to v{last}"
    read = f"{fmt.plural(story.files_read, 'file')} of {fmt.count(story.files_total)} may hold it"
    what = f"{fmt.plural(len(story.steps), 'event')} in {where}" if story.steps else f"No row of {where} has this key"
    return f"{what}; {read}.{f' {begins}' if begins else ''}"


def _several(story: RowStory) -> str:
    counts = {step.version: len(step.rows) for step in story.steps if len(step.rows) > 1}
    if not counts:
        return ""
    version, rows = max(counts.items(), key=lambda each: (each[1], each[0]))
    also = f", and not in {fmt.plural(len(counts) - 1, 'other version')}" if len(counts) > 1 else ""
    return f"The key is not unique at v{version}, where {fmt.count(rows)} rows have it{also}. Add columns to the key."


def _step(step: RowStep, rows: Sequence[dict[str, Any]], commit: CommitSummary | None, in_force: bool) -> StepView:
    sign, tone, word = _WORDS[step.kind]
    if step.kind == "several":
        word = f"{fmt.plural(len(step.rows), 'row')} with this key"
    changes = tuple(_changes(step, rows))
    files = tuple(HoldingFile(each.path, each.row) for each in step.rows[:_ROWS])
    return StepView(
        step.version,
        sign,
        tone,
        word,
        commit,
        changes[:_CHANGED],
        max(0, len(changes) - _CHANGED),
        files,
        max(0, len(step.rows) - _ROWS),
        in_force,
    )


def _changes(step: RowStep, rows: Sequence[dict[str, Any]]) -> list[ValueChange]:
    if step.kind != "update":
        return []
    before, after = rows[step.before[0].number], rows[step.rows[0].number]
    return [
        ValueChange(name, fmt.value_text(before[name], _WIDTH), fmt.value_text(after[name], _WIDTH))
        for name in step.changed
    ]


def _values(stored: StoredRow, rows: Sequence[dict[str, Any]]) -> StoredValues:
    values = tuple((name, fmt.value_text(value, _WIDTH)) for name, value in rows[stored.number].items())
    return StoredValues(stored.path, stored.row, values)
