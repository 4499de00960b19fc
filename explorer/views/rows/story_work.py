"""The story of the row that an address names, for one window: read here where that is possible, else by Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from explorer.changed_rows.followed_range import FollowedRange, followed_range
from explorer.changed_rows.place_rows import row_at
from explorer.changed_rows.row_story import RowStory
from explorer.changed_rows.small_story import small_story
from explorer.core.errors import RequestError
from explorer.core.protocol.schema.data_types import format_column
from explorer.first_rows.first_rows import SparkOnly
from explorer.views.rows.chosen_versions import ChosenVersions
from explorer.views.rows.row_reference import RowPlace, key_choice, parsed_row, typed_key
from explorer.views.rows.row_work import learning, names_in
from explorer.views.rows.spark_work import ReadyResult, Shareable, SparkWork, WorkState

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.job import Job

_MOST_CHECKED: Final = 1_000
"""Files that are looked for before a story is read."""


@dataclass(frozen=True, slots=True)
class StoryAnswer:
    """What was read of a row.

    Attributes:
        story: Its story, or why it waits for Spark.
        begins: Why the story begins later than the table; empty where it does not.
    """

    story: RowStory | SparkOnly
    begins: str


class FollowedRow:
    """At most one row that is followed.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[StoryAnswer | RowStory] = SparkWork(changed)
        self._begins = ""

    def open(self, view: ChosenVersions, row: str, keys: str) -> Event | None:
        """Begin to follow a row where that needs no Spark, unless that was done before.

        Returns:
            As `SparkWork.begin`; None if it was begun before.
        """
        if self._work.key == _key(view, row, keys):
            return None
        return self._begin(view, row, keys, by_spark=False)

    def start(self, view: ChosenVersions, row: str, keys: str) -> None:
        """Begin to follow a row; a running read is stopped."""
        self._begin(view, row, keys, by_spark=True)

    def cancel(self) -> None:
        """Stop a running read."""
        self._work.cancel()

    def answer(self, view: ChosenVersions, row: str, keys: str) -> StoryAnswer | None:
        """Return what was read, if it is of this row."""
        story = self._work.about(_key(view, row, keys))
        return StoryAnswer(story, self._begins) if isinstance(story, RowStory) else story

    def state(self, view: ChosenVersions, row: str, keys: str) -> WorkState:
        """Return how far the read is; idle if it is of another row, or waits for Spark."""
        key, result = self._work.answer
        waits = isinstance(result, StoryAnswer) and isinstance(result.story, SparkOnly)
        mine = key == _key(view, row, keys)
        return self._work.state_of(key) if mine and not waits else WorkState()

    def shareable(self, view: ChosenVersions, row: str, keys: str) -> Shareable:
        """Return what was read as others can open it: the story up to the newest version of its time."""
        answer = self.answer(view, row, keys)
        value = None if answer is None or isinstance(answer.story, SparkOnly) else answer
        table = view.facts.place, view.facts.snapshot(view.version).metadata.id
        about = ("story", *table, view.version, row, keys)
        return Shareable("story", about, value, partial(self._work.adopt, _key(view, row, keys)))

    def _begin(self, view: ChosenVersions, row: str, keys: str, *, by_spark: bool) -> Event:
        log = view.facts.log

        def make() -> Job[Any] | ReadyResult[Any]:
            key = _key_of(view, row, keys)
            followed, begins = _readable(log, key)
            here = small_story(log, followed)
            if isinstance(here, RowStory) or not by_spark:
                return ReadyResult(StoryAnswer(here, begins))
            from explorer.spark.rows.key_history import story_job

            self._begins = begins
            return story_job(log, followed, here.reason)

        return self._work.begin(_key(view, row, keys), learning(log, make), quietly=not by_spark)


def _key_of(view: ChosenVersions, row: str, keys: str) -> Mapping[str, Any] | int:
    """By what a row is followed: an ID, or values of columns under the names of the newest version."""
    reference, snapshot = parsed_row(row), view.facts.snapshot(view.version)
    if isinstance(reference, int):
        return reference
    if isinstance(reference, RowPlace):
        placed = row_at(view.facts.log, snapshot, reference.path, reference.row)
        if placed.row_id is not None and not keys:
            return placed.row_id
        columns = key_choice(snapshot, names_in(keys)).columns
        if not columns:
            raise RequestError("No column can be a key. Choose the key columns.", field="rk")
        return _newest_names(view, {name: placed.values[name] for name in columns})
    return _newest_names(view, typed_key(snapshot, reference))


def _newest_names(view: ChosenVersions, key: Mapping[str, Any]) -> dict[str, Any]:
    """A key of the chosen version under the names of the newest one."""
    log = view.facts.log
    newest = log.latest_version()
    if newest == view.version:
        return dict(key)
    lineage = log.history_record().lineage()
    lines, names = lineage.lines_at(view.version), {line: name for name, line in lineage.lines_at(newest).items()}
    by_path = {format_column((field.name,)): field.name for field in log.snapshot(newest).schema.fields}
    values = {}
    for name, value in key.items():
        path = names.get(lines[format_column((name,))])
        if path is None or path not in by_path:
            raise RequestError(
                f"The newest version, {newest}, has no column {name!r} any more. Choose other key columns.",
                column=name,
                field="rk",
            )
        values[by_path[path]] = value
    return values


def _readable(log: DeltaLog, key: Mapping[str, Any] | int) -> tuple[FollowedRange, str]:
    """The longest range, up to the newest version, in which the row can be followed, and why it is no longer."""
    first, newest = log.version_range()[0], log.latest_version()
    begins = ""
    try:
        followed = followed_range(log, key, first, newest)
    except RequestError as error:
        starts = [start for start in log.history_record().layout_changes(first, newest) if start > first]
        if not starts or isinstance(key, int) or error.facts().get("column") not in key:
            raise
        first = starts[-1]
        followed = followed_range(log, key, first, newest)
        begins = f"Columns of the key changed in v{first}, so the story begins there."
    held = followed.may_hold
    paths, lasts = held.column("path").to_pylist(), held.column("last").to_pylist()
    if len(set(paths)) > _MOST_CHECKED:
        return followed, begins
    missing = log.find_missing(paths)
    gone = [last for path, last in zip(paths, lasts, strict=True) if path in missing and last < newest]
    if not gone:
        return followed, begins
    first = max(gone) + 1
    begins = f"Data files of versions before v{first} no longer exist, so the story begins there."
    return followed_range(log, key, first, newest), begins


def _key(view: ChosenVersions, row: str, keys: str) -> tuple[object, ...]:
    # Other facts are of a log with another newest commit.
    return view.facts.place, id(view.facts), view.version, row, keys
