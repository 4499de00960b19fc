"""What a page asks about rows: a page of them, what changed in a range of versions, how two versions differ.

Each is one piece of Spark's work at a time, begun on request. The log alone gives an estimate of what it would read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from explorer import formatting as fmt
from explorer.changed_rows.change_preview import ChangePreview
from explorer.changed_rows.difference_preview import RowDiffPreview
from explorer.changed_rows.small_changes import small_changes
from explorer.changed_rows.small_differences import small_differences
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.versions.change_feed.feed import ChangeSources
from explorer.core.versions.change_feed.schema_breaks import readable_ranges
from explorer.core.versions.change_feed.sources import difference_table, read_estimate
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.first_rows.row_conditions import RowCondition, judged
from explorer.first_rows.row_page import RowPage, RowPosition, live_rows
from explorer.views.listing import Listing
from explorer.views.problems import Problem, problem_of
from explorer.views.rows.change_spans import ChangeSpan, change_spans
from explorer.views.rows.chosen_versions import ChosenVersions
from explorer.views.rows.differences import RowDifferences, row_differences
from explorer.views.rows.listings import changes_listing, rows_listing
from explorer.views.rows.spark_work import ReadyResult, Shareable, SparkWork, WorkState, start_notice

if TYPE_CHECKING:
    from explorer.job import Job

PAGE_ROWS: Final = 100
_CHANGES: Final = 200
_OF_EACH_KIND: Final = 100
_KEYS: Final = 200
_Result = TypeVar("_Result")
_NAME: Final = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]+?))\s*(?:,|\Z)")


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """Whose rows, of which version, under which condition, masked ones too.

    ``place`` is the location and what tells stores apart; ``table_id`` tells tables apart that were there one after
    the other.
    """

    place: tuple[str, str]
    table_id: str
    version: int
    where: str
    masked: bool

    def __str__(self) -> str:
        """Return what is read, for a log."""
        return f"Rows of {self.place[0]} at version {self.version}"


@dataclass(frozen=True, slots=True)
class RowsRead:
    """What is being read, or was read last, at one moment: one drawing of a page takes one.

    Attributes:
        asked: What was asked for; None before the first time.
        result: The rows, or why they wait for Spark; None before the first read, and while the next page is being read.
        has_earlier: Whether there is a page before.
    """

    asked: RowsRequest | None
    result: RowPage | SparkOnly | None
    has_earlier: bool

    @property
    def page(self) -> RowPage | None:
        """The rows."""
        return None if isinstance(self.result, SparkOnly) else self.result

    @property
    def needs_spark(self) -> SparkOnly | None:
        """Why the rows that were opened wait for Spark; None where they do not."""
        return self.result if isinstance(self.result, SparkOnly) else None

    @property
    def has_later(self) -> bool:
        """Whether there is a page after."""
        return self.page is not None and self.page.following is not None

    def is_of(self, view: ChosenVersions) -> bool:
        """Return whether the request belongs to the table of a view."""
        asked = self.asked
        return asked is not None and (asked.place, asked.table_id) == (view.facts.place, _table_id(view))

    def listing(self) -> Listing | None:
        """Return the rows, if there are any."""
        if self.page is None or self.asked is None:
            return None
        return rows_listing(f"rows-v{self.asked.version}", self.page.table, self.page.places)


class PagedRows:
    """At most one page of the rows of a version.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[RowPage | SparkOnly] = SparkWork(changed)
        self._begins: list[RowPosition | None] = []

    def open(self, view: ChosenVersions, *, masked: bool = False) -> Event | None:
        """Begin to read the first rows of the chosen version where that needs no Spark, unless that was done before.

        Returns:
            As `SparkWork.begin`; None if it was begun before.
        """
        request = _rows_request(view, "", masked=masked)
        if self._work.key == request:
            return None
        self._begins = [None]

        def make() -> ReadyResult[RowPage | SparkOnly]:
            return ReadyResult(_first_rows(view, request, None))

        return self._work.begin(request, learning(view.facts.log, make), quietly=True)

    def start(self, view: ChosenVersions, where: str = "", *, masked: bool = False) -> None:
        """Begin to read the first rows of the chosen version; a running read is stopped."""
        self._begins = [None]
        self._read(view, _rows_request(view, where, masked=masked), None)

    def turn(self, view: ChosenVersions, *, back: bool) -> None:
        """Read the page after or before the one that is shown, of the same question.

        Raises:
            RequestError: There is none.
        """
        read = self.read
        request, page = read.asked, read.page
        following = page.following if page is not None else None
        other_table = request is None or request.place != view.facts.place
        if request is None or other_table or page is None or (len(self._begins) < 2 if back else not following):
            raise RequestError("This page of rows does not exist.", field="page")
        self._begins = self._begins[:-1] if back else [*self._begins, following]
        self._read(view, request, self._begins[-1])

    def cancel(self) -> None:
        """Stop a running read."""
        self._work.cancel()

    @property
    def read(self) -> RowsRead:
        """What is being read, or was read last."""
        asked, result = self._work.answer
        return RowsRead(asked if isinstance(asked, RowsRequest) else None, result, len(self._begins) > 1)

    @property
    def state(self) -> WorkState:
        """How far the read is."""
        return self._work.state

    def state_of(self, view: ChosenVersions, where: str = "", *, masked: bool = False) -> WorkState:
        """Return how far the read is; idle if it is of another table, version or condition."""
        read = self.read
        mine = read.asked == _rows_request(view, where, masked=masked)
        return self.state if mine and read.needs_spark is None else WorkState()

    def _read(self, view: ChosenVersions, request: RowsRequest, begin: RowPosition | None) -> None:
        def make() -> Job[Any] | ReadyResult[Any]:
            where = request.where.strip() or None
            here = _first_rows(view, request, begin)
            if isinstance(here, RowPage):
                return ReadyResult(here)
            from explorer.spark.rows.pages import row_page

            log, snapshot = view.facts.log, view.facts.snapshot(request.version)
            return row_page(log, snapshot, begin, PAGE_ROWS, where=where, masked=request.masked, reason=here.reason)

        self._work.begin(request, learning(view.facts.log, make))


class RangeChanges:
    """At most one range of changes: after the version compared with, up to the chosen one.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[ChangePreview | SparkOnly] = SparkWork(changed)

    def open(self, view: ChosenVersions, keys: str = "", where: str = "", *, inferred: bool = False) -> Event | None:
        """Begin to read the changes where that needs no Spark, unless that was done before.

        Returns:
            As `SparkWork.begin`; None if it was begun before.
        """
        request = _changes_key(view, keys, where, inferred=inferred)
        if self._work.key == request:
            return None

        def make() -> ReadyResult[ChangePreview | SparkOnly]:
            return ReadyResult(_small_changes(view, keys, where, inferred=inferred))

        return self._work.begin(request, learning(view.facts.log, make), quietly=True)

    def start(self, view: ChosenVersions, keys: str = "", where: str = "", *, inferred: bool = False) -> None:
        """Begin to read the changes, with key columns as `names_in` reads them, or those of them that meet a condition;
        a running read is stopped."""
        first, last = change_range(view)

        def make() -> Job[Any] | ReadyResult[Any]:
            here = _small_changes(view, keys, where, inferred=inferred)
            if isinstance(here, ChangePreview):
                return ReadyResult(here)
            from explorer.spark.changes.change_preview import change_preview

            return change_preview(
                view.facts.log,
                first,
                last,
                _CHANGES,
                inferred=inferred,
                skip=True,
                schema_version=_sources(view, (first, last), inferred=inferred).schema_version,
                keys=names_in(keys),
                where=where.strip() or None,
                by_id=True,
                reason=here.reason,
            )

        self._work.begin(_changes_key(view, keys, where, inferred=inferred), learning(view.facts.log, make))

    def cancel(self) -> None:
        """Stop a running read."""
        self._work.cancel()

    def result(
        self, view: ChosenVersions, keys: str = "", where: str = "", *, inferred: bool
    ) -> ChangePreview | SparkOnly | None:
        """Return what was read, or why it waits for Spark, if it is the range of the view."""
        return self._work.about(_changes_key(view, keys, where, inferred=inferred))

    def state(self, view: ChosenVersions, keys: str = "", where: str = "", *, inferred: bool) -> WorkState:
        """Return how far the read is; idle if it is of another range, or waits for Spark."""
        key, result = self._work.answer
        mine = key == _changes_key(view, keys, where, inferred=inferred)
        return self._work.state_of(key) if mine and not isinstance(result, SparkOnly) else WorkState()

    def shareable(self, view: ChosenVersions, keys: str = "", where: str = "", *, inferred: bool) -> Shareable:
        """Return what was read as others can open it."""
        key = _changes_key(view, keys, where, inferred=inferred)
        return _shareable("changes", self._work, key)

    def listing(self, view: ChosenVersions) -> Listing | None:
        """Return the changes that were read of the table of a view, if any were."""
        key, result = self._work.answer
        if not isinstance(key, tuple) or key[:2] != (view.facts.place, _table_id(view)):
            return None
        if not isinstance(result, ChangePreview):
            return None
        first, last = (result.versions[place].version if result.versions else 0 for place in (0, -1))
        return changes_listing(f"changes-v{first}-v{last}", result.table)


class ComparedRows:
    """At most one comparison of the rows of the two chosen versions.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[RowDiffPreview | SparkOnly] = SparkWork(changed)

    def open(self, view: ChosenVersions, keys: str = "") -> Event | None:
        """Begin to compare where that needs no Spark, unless that was done before.

        Returns:
            As `SparkWork.begin`; None if it was begun before.
        """
        if self._work.key == _ends_key(view, keys):
            return None

        def make() -> ReadyResult[RowDiffPreview | SparkOnly]:
            return ReadyResult(_small_differences(view, keys))

        return self._work.begin(_ends_key(view, keys), learning(view.facts.log, make), quietly=True)

    def start(self, view: ChosenVersions, keys: str = "") -> None:
        """Begin to compare, with key columns written as `names_in` reads them; a running comparison is stopped."""
        ends = view.other, view.version

        def make() -> Job[Any] | ReadyResult[Any]:
            here = _small_differences(view, keys)
            if isinstance(here, RowDiffPreview):
                return ReadyResult(here)
            from explorer.spark.changes.row_diff_preview import row_diff_preview

            return row_diff_preview(view.facts.log, *ends, names_in(keys) or None, _OF_EACH_KIND, reason=here.reason)

        self._work.begin(_ends_key(view, keys), learning(view.facts.log, make))

    def cancel(self) -> None:
        """Stop a running comparison."""
        self._work.cancel()

    def result(self, view: ChosenVersions, keys: str) -> RowDifferences | SparkOnly | None:
        """Return the rows that differ, or why they wait for Spark, if they are those of the view's versions."""
        result = self._work.about(_ends_key(view, keys))
        return row_differences(result) if isinstance(result, RowDiffPreview) else result

    def state(self, view: ChosenVersions, keys: str) -> WorkState:
        """Return how far the comparison is; idle if it is another one, or waits for Spark."""
        key, result = self._work.answer
        mine = key == _ends_key(view, keys)
        return self._work.state_of(key) if mine and not isinstance(result, SparkOnly) else WorkState()

    def shareable(self, view: ChosenVersions, keys: str) -> Shareable:
        """Return what was compared as others can open it."""
        return _shareable("differences", self._work, _ends_key(view, keys))


@dataclass(frozen=True, slots=True)
class ChangeOrigins:
    """Where the changes of a range would come from, by the log.

    Attributes:
        spans: The versions of the range, by kind of source.
        estimate: What reading them takes, for people.
        available: There is something to read.
        problem: Why nothing is known.
    """

    spans: tuple[ChangeSpan, ...] = ()
    estimate: str = ""
    available: bool = False
    problem: Problem | None = None


def change_range(view: ChosenVersions) -> tuple[int, int]:
    """Return the versions whose changes lead from the earlier chosen version to the later, both inclusive."""
    low, high = sorted((view.other, view.version))
    return min(low + 1, high), high


def change_origins(view: ChosenVersions, *, inferred: bool) -> ChangeOrigins:
    """Return where the changes of the view's range would come from."""
    try:
        sources = _sources(view, change_range(view), inferred=inferred)
    except ExplorerError as error:
        return ChangeOrigins(problem=problem_of(error))
    reading = read_estimate(sources.files)
    estimate = f"The changes are in {fmt.plural(reading.files, 'file')}, {fmt.size(reading.bytes)}.{start_notice()}"
    return ChangeOrigins(change_spans(sources), estimate, reading.files > 0)


def readable_pieces(view: ChosenVersions, spans: Sequence[ChangeSpan]) -> tuple[tuple[int, int], ...]:
    """Return the ranges, each readable alone, into which the view's range falls where its columns changed.

    There are none if the whole range can be read as one.
    """
    if not any(span.kind == "schema" for span in spans):
        return ()
    first, last = change_range(view)
    history = view.facts.log.history_record()
    return view.facts.keep(("pieces", first, last), lambda: readable_ranges(history, first, last, by_id=True))


def nothing_recorded(view: ChosenVersions) -> bool:
    """Return whether the range has no recorded changes, so that they must be inferred."""
    origins = change_origins(view, inferred=False)
    return not origins.available and any(span.kind == "off" for span in origins.spans)


def comparison_estimate(view: ChosenVersions) -> tuple[str, bool]:
    """Return what comparing the rows of the two chosen versions takes, for people, and whether there is anything."""
    if view.other == view.version:
        return "", False
    try:
        life = view.facts.log.history_record().lifetimes
        reading = read_estimate(difference_table(life, view.other, view.version))
    except ExplorerError:
        return "", False  # the comparison of files already shows why
    if not reading.files:
        return "No file differs, so no row differs.", False
    return f"The comparison reads {fmt.plural(reading.files, 'file')}, {fmt.size(reading.bytes)}.", True


def rows_estimate(snapshot: Snapshot, where: str = "", *, by_spark: bool = False) -> str:
    """Return what reading the first rows of a version takes; what only Spark reads waits for its start."""
    if not snapshot.num_files:
        return f"v{snapshot.version} has no live files, so there are no rows to read."
    files = fmt.plural(snapshot.num_files, "file")
    if where.strip():
        size = fmt.size(snapshot.size_in_bytes)
        most = f"at most {files}, {size}, except files that the log's statistics skip."
        notice = "" if isinstance(judged(snapshot, where), RowCondition) else start_notice()
        return f"Files are read until {PAGE_ROWS} rows match: {most}{notice}"
    rows = live_rows(snapshot)
    if rows == 0:
        return f"Deletion vectors mask every row of {files}.{start_notice()}"
    if rows is not None and rows <= PAGE_ROWS:
        come = f"All {fmt.plural(rows, 'row')} come from {files}" if rows != 1 else f"Its one row comes from {files}"
    else:
        first = "its one file" if snapshot.num_files == 1 else f"the first of {files}"
        come = f"The first {PAGE_ROWS} rows come from {first}"
    return f"{come}, which takes a second or two.{start_notice() if by_spark else ''}"


def names_in(text: str) -> list[str]:
    """Return the column names in a list with commas; a name with a comma is written in backticks."""
    return [(quoted.replace("``", "`") or plain).strip() for quoted, plain in _NAME.findall(text) if quoted or plain]


def _first_rows(view: ChosenVersions, request: RowsRequest, begin: RowPosition | None) -> RowPage | SparkOnly:
    snapshot = view.facts.snapshot(request.version)
    where = request.where.strip() or None
    return first_rows(view.facts.log, snapshot, begin, PAGE_ROWS, where=where, masked=request.masked)


def _small_changes(view: ChosenVersions, keys: str, where: str, *, inferred: bool) -> ChangePreview | SparkOnly:
    sources = _sources(view, change_range(view), inferred=inferred)
    return small_changes(view.facts.log, sources, _CHANGES, names_in(keys), where.strip() or None)


def _small_differences(view: ChosenVersions, keys: str) -> RowDiffPreview | SparkOnly:
    return small_differences(view.facts.log, view.other, view.version, names_in(keys) or None, _OF_EACH_KIND)


def _shareable(kind: str, work: SparkWork[Any], key: tuple[object, ...]) -> Shareable:
    result = work.about(key)
    return Shareable(kind, (kind, *key), None if isinstance(result, SparkOnly) else result, partial(work.adopt, key))


def learning(
    log: DeltaLog, make: Callable[[], Job[_Result] | ReadyResult[_Result]]
) -> Callable[[], Job[_Result] | ReadyResult[_Result]]:
    """Make a job from whose failure the log learns which file is missing."""

    def made() -> Job[_Result] | ReadyResult[_Result]:
        try:
            job = make()
        except ExplorerError as error:
            log.learn(error)
            raise
        if isinstance(job, ReadyResult):
            return job
        job.subscribe(lambda work: log.learn(work.error))
        return job

    return made


def _sources(view: ChosenVersions, versions: tuple[int, int], *, inferred: bool) -> ChangeSources:
    """Where the changes of a range are; its rows have the schema of its last version where the usual one fits none."""
    facts, last = view.facts, versions[1]

    def find() -> ChangeSources:
        usual = facts.log.change_sources(*versions, inferred, skip=True, by_id=True)
        if usual.schema_version == last or not any(gap.kind == "schema" for gap in usual.skipped):
            return usual
        return facts.log.change_sources(*versions, inferred, skip=True, schema_version=last, by_id=True)

    return facts.keep(("sources", *versions, inferred), find)


def key_choices(view: ChosenVersions, version: int) -> tuple[str, ...]:
    """Return the first columns of a version, as `names_in` reads them: what a person may take for a key."""
    return tuple(quoted_name(field.name) for field in view.facts.snapshot(version).schema.fields[:_KEYS])


def quoted_name(name: str) -> str:
    """Return a column name as `names_in` reads it."""
    return f"`{name.replace('`', '``')}`" if "," in name or "`" in name else name


def _rows_request(view: ChosenVersions, where: str, *, masked: bool) -> RowsRequest:
    return RowsRequest(view.facts.place, _table_id(view), view.version, where, masked)


def _table_id(view: ChosenVersions) -> str:
    return view.facts.snapshot(view.version).metadata.id


def _changes_key(view: ChosenVersions, keys: str, where: str, *, inferred: bool) -> tuple[object, ...]:
    return view.facts.place, _table_id(view), *change_range(view), inferred, keys, where.strip()


def _ends_key(view: ChosenVersions, keys: str) -> tuple[object, ...]:
    return view.facts.place, _table_id(view), view.other, view.version, keys
