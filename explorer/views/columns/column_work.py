"""The work behind columns at a glance: statistics of many files beside the page, and a profile by Spark on request."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from explorer.core.errors import ExplorerError
from explorer.core.versions.snapshot import Snapshot
from explorer.debug import log_failure
from explorer.first_rows.column_values import ColumnValues
from explorer.first_rows.row_page import RowPage
from explorer.views.columns.card import LeafColumn, glances
from explorer.views.columns.glance import ColumnGlance
from explorer.views.columns.value_bars import live_values
from explorer.views.problems import Problem, problem_of
from explorer.views.rows.chosen_versions import ChosenVersions
from explorer.views.rows.row_work import learning
from explorer.views.rows.spark_work import Shareable, SparkWork, WorkState

if TYPE_CHECKING:
    from explorer.job import Job
    from explorer.spark.checks.column_profile import ColumnProfile, Profile

_AT_ONCE: Final = 20_000
"""Statistics, one a file and column, that are read while a page is drawn."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadGlances:
    """Columns at a glance, by name.

    Attributes:
        columns: The columns; empty while they are being read, and where they cannot be.
        reading: They are being read.
        problem: Why they cannot be read.
    """

    columns: Mapping[str, ColumnGlance]
    reading: bool = False
    problem: Problem | None = None


class ColumnGlances:
    """Some columns of one version at a glance: at once where that takes a moment, otherwise on a thread.

    Args:
        changed: Called, on any thread, when there is more to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.RLock()
        self._key: tuple[object, ...] | None = None
        self._read = ReadGlances({})

    def of(self, view: ChosenVersions, columns: tuple[LeafColumn, ...]) -> ReadGlances:
        """Return columns of the chosen version at a glance; the first call begins to read them."""
        snapshot = view.facts.snapshot(view.version)
        key = (view.facts.place, snapshot.metadata.id, view.version, tuple(column.name for column in columns))
        with self._lock:
            if self._key == key:
                return self._read
            self._key, self._read = key, ReadGlances({}, reading=True)
            if snapshot.num_files * len(columns) <= _AT_ONCE:
                # Another thread that draws the page waits for this.
                self._keep(key, snapshot, columns)
                return self._read
        threading.Thread(target=self._later, args=(key, snapshot, columns), name="column-glances", daemon=True).start()
        return ReadGlances({}, reading=True)

    def _later(self, key: tuple[object, ...], snapshot: Snapshot, columns: tuple[LeafColumn, ...]) -> None:
        self._keep(key, snapshot, columns)
        self._changed()

    def _keep(self, key: tuple[object, ...], snapshot: Snapshot, columns: tuple[LeafColumn, ...]) -> None:
        try:
            read = ReadGlances(glances(snapshot, columns))
        except Exception as error:  # noqa: BLE001  # shown and logged, as nothing waits for this thread
            if not isinstance(error, ExplorerError):
                log_failure(_log, "columns at a glance failed", error)
            read = ReadGlances({}, problem=problem_of(error))
        with self._lock:
            if self._key == key:
                self._read = read


class RowValues:
    """The values of columns in rows that were read, counted once for each page of rows."""

    def __init__(self) -> None:
        self._page: RowPage | None = None
        self._values: dict[tuple[str, ...], ColumnValues | None] = {}

    def of(self, page: RowPage, column: LeafColumn) -> ColumnValues | None:
        """Return the values of a column in the rows that are not masked; None if it is not among the columns read."""
        if page is not self._page:
            self._page, self._values = page, {}
        counted = self._values
        if column.path not in counted:
            counted[column.path] = live_values(page.table, page.places.column("masked"), column.path, column.type)
        return counted[column.path]


@dataclass(frozen=True, slots=True)
class _ProfileRequest:
    """The column of which version of which table."""

    place: tuple[str, str]
    table_id: str
    version: int
    column: str

    def __str__(self) -> str:
        """Return what is read, for a log."""
        return f"Values of a column of {self.place[0]} at version {self.version}"


class ColumnProfiles:
    """At most one profile of a column by Spark.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[Profile] = SparkWork(changed)

    def start(self, view: ChosenVersions, column: str) -> None:
        """Begin to profile a column of the chosen version; a running profile is stopped."""
        request = _request(view, column)

        def make() -> Job[Profile]:
            from explorer.spark.checks.column_profile import profile

            return profile(view.facts.log, view.facts.snapshot(request.version), [column], values=True)

        self._work.begin(request, learning(view.facts.log, make))

    def cancel(self) -> None:
        """Stop a running profile."""
        self._work.cancel()

    def state(self, view: ChosenVersions, column: str) -> WorkState:
        """Return how far the profile is; idle if it is of another column."""
        return self._work.state_of(_request(view, column))

    def profile(self, view: ChosenVersions, column: str) -> tuple[ColumnProfile, int] | None:
        """Return the profile of a column, and how many of its statistics are wrong; None before there is one."""
        made = self._work.about(_request(view, column))
        return None if made is None else (made.columns[0], len(made.findings))

    def shareable(self, view: ChosenVersions, column: str) -> Shareable:
        """Return the profile of a column as others can open it."""
        request = _request(view, column)
        return Shareable("profile", request, self._work.about(request), partial(self._work.adopt, request))


def _request(view: ChosenVersions, column: str) -> _ProfileRequest:
    facts = view.facts
    return _ProfileRequest(facts.place, facts.snapshot(view.version).metadata.id, view.version, column)
