"""The Statistics tab: which files a condition reads, and the range of a column in each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.page.address import Address
from explorer.page.render import render
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.figures.charts import BARS
from explorer.views.listing import MOST_OFFERED, Listing, column_matches
from explorer.views.problems import Problem, problem_of
from explorer.views.table.columns import Covered, coverage_of
from explorer.views.table.files import ranges_listing
from explorer.views.table.funnel import (
    ClusteringAdvice,
    Funnel,
    clustering_advice,
    compared_words,
    funnel_of,
    read_files,
    requested_columns,
    rule_listing,
)
from explorer.views.table.ranges import ColumnRanges

_LETTERS = 48
_LONGEST_TEXT = 1_000


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Columns whose names contain a text: each with a short name, and how many there are."""

    text: str
    columns: tuple[tuple[str, str], ...]
    total: int


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to choose from.

    Attributes:
        names: All of them; none where they are searched.
        total: How many there are.
        example: The first of them.
        matches: Those that are like the column of the address, where that is none of them.
    """

    names: tuple[str, ...]
    total: int
    example: str
    matches: Suggestions | None = None


def column_choice(names: Sequence[str], unknown: str) -> ColumnChoice:
    """Return the choice among columns.

    Args:
        names: Their names.
        unknown: The name in the address, where none has it.
    """
    example = names[0] if names else ""
    if len(names) <= MOST_OFFERED:
        return ColumnChoice(tuple(names), len(names), example)
    return ColumnChoice((), len(names), example, _suggestions(names, unknown) if unknown else None)


def column_search(names: Callable[[TableView], Sequence[str]]) -> Callable[[Window], Mapping[str, Handler]]:
    """Return the messages of a tab whose columns can be searched."""
    return lambda window: {"find-column": _NameSearch(window, names).find}


def _suggestions(names: Sequence[str], text: str) -> Suggestions:
    matches = column_matches(names, text)
    labels = fmt.shorten_apart(matches.names, _LETTERS)
    return Suggestions(matches.text, tuple(zip(matches.names, labels, strict=True)), matches.total)


class _NameSearch:
    """The search of one window; only what was typed last is answered."""

    def __init__(self, window: Window, names: Callable[[TableView], Sequence[str]]) -> None:
        self._window, self._names, self._newest = window, names, 0

    def find(self, message: Message) -> None:
        """List the columns whose names contain what was typed."""
        view, number, text = self._window.view, message.number, message.text("text", _LONGEST_TEXT)
        self._newest = number
        if view is None:
            self._window.answer(message)
            return
        query = self._window.query
        address = Address.parse(query)

        def matching_regions() -> dict[str, str]:
            if number != self._newest:
                return {}
            return {
                "column-matches": render(
                    "column-matches", matches=_suggestions(self._names(view), text), address=address
                )
            }

        def show(regions: dict[str, str]) -> None:
            # A column that was chosen meanwhile ends the search.
            waits = number == self._newest and query == self._window.query
            self._window.answer(message, regions if waits else {})

        self._window.compute(message, matching_regions, show)


_COLUMN_LETTERS: Final = 24
_MOST_COVERED: Final = 300
# As many letters as the field of a value takes.
_LONGEST_VALUE: Final = 8_000


@dataclass(frozen=True, slots=True)
class NoRanges:
    """Why there is nothing to draw, and of which column."""

    title: str
    why: str
    column: str
    setting: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Why columns have no statistics, how many they are, and the property that would change it; empty where none would.

    The value is empty where it is too long to be written into a form.
    """

    why: str
    columns: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The first columns that can have statistics, a short name of each, how many there are, and why some lack them."""

    rows: tuple[tuple[str, Covered], ...]
    total: int
    uncovered: tuple[Uncovered, ...]


@dataclass(frozen=True, slots=True)
class ConditionAnswer:
    """A condition, what it reads (of the version compared with first, if one was chosen), the columns that it compares,
    the difference in words, which order of rows would save how much; or why it cannot be answered."""

    where: str = ""
    funnels: tuple[Funnel, ...] = ()
    columns: tuple[str, ...] = ()
    words: str = ""
    advice: ClusteringAdvice | None = None
    problem: Problem | None = None


def _statistics(view: TableView, address: Address, _work: WindowWork) -> Tab:
    facts, version = view.facts, view.version
    coverage = coverage_of(facts, version)
    names = [row.column for row in coverage]
    requested = _requested(view, address)
    column = _column(address, coverage, names, requested.columns)
    values: dict[str, Any] = {
        "choice": column_choice(names, address.column if not column else ""), "column": column, "asked": requested,
        "covered": _coverage(coverage),
    }  # fmt: skip
    if nothing := _why_nothing(view, address, names, column):
        return Tab(values | _undrawn(nothing))
    ranges = facts.ranges(version, column)
    view.column = column
    values |= {
        "drawn": True,
        "ranges": ranges,
        "wide": sum(tight is False for tight in ranges.tight),
        "single": len(ranges.paths) <= BARS,
    }
    read = read_files(facts, version, address.where) if requested.funnels else None
    figure = view.ranges(read)
    return Tab(
        values | listed(_files(view, address, requested), address),
        figure,
        (version, column, view.file, requested.where),
    )


def _coverage(covered: Sequence[Covered]) -> Coverage:
    first = covered[:_MOST_COVERED]
    labels = fmt.shorten_apart([row.column for row in first], _COLUMN_LETTERS)
    counts = Counter(row.why for row in covered if row.why)
    # The last column of each needs the most, and takes in the others.
    last = {row.why: row for row in covered if row.key}
    uncovered = (
        Uncovered(why, counts[why], *_writable(last[why].setting if why in last else None)) for why in sorted(counts)
    )
    return Coverage(tuple(zip(labels, first, strict=True)), len(covered), tuple(uncovered))


def _writable(setting: tuple[str, str] | None) -> tuple[str, str]:
    """Return a setting for a form, without a value that is too long for it."""
    key, value = setting or ("", "")
    return key, value if len(value) <= _LONGEST_VALUE else ""


def _requested(view: TableView, address: Address) -> ConditionAnswer:
    """Return the condition of the address over the chosen version, and over the compared one if one was chosen."""
    where = address.where.strip()
    if not where:
        return ConditionAnswer()
    compared = [view.compared] if view.compared not in (None, view.version) else []
    try:
        scale = max(view.facts.snapshot(version).num_files for version in (view.version, *compared))
        funnels = tuple(funnel_of(view.facts, version, where, scale) for version in (*compared, view.version))
    except RequestError as error:
        return ConditionAnswer(where, problem=problem_of(error))
    words = compared_words(*funnels) if compared else ""
    return ConditionAnswer(where, funnels, requested_columns(where), words, clustering_advice(view.facts, funnels[-1]))


def _files(view: TableView, address: Address, requested: ConditionAnswer) -> Listing:
    """Return the bounds by file; with a condition, also the rule that keeps or drops each."""
    if not requested.funnels:
        return ranges_listing(view.facts, view.version, view.column)
    return rule_listing(view.facts, view.version, requested.where, view.column, address.rule)


def _names(view: TableView) -> list[str]:
    return [row.column for row in coverage_of(view.facts, view.version)]


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(_files(view, address, _requested(view, address)), address)


def _column(address: Address, coverage: Sequence[Covered], names: list[str], requested: Sequence[str]) -> str:
    """Return the column of the address, else of the condition, else that with most statistics; empty if none has."""
    if address.column:
        return address.column if address.column in names else ""
    spelled = {name.casefold() for name in requested}
    wanted = [row for row in coverage if row.column.casefold() in spelled]
    best = max(wanted or coverage, key=lambda row: row.files, default=None)
    return best.column if best else ""


def _why_nothing(view: TableView, address: Address, names: list[str], column: str) -> NoRanges | None:
    if not view.facts.snapshot(view.version).num_files:
        return NoRanges("No live files", f"v{view.version} holds no files, so there are no statistics.", address.column)
    if not names:
        return NoRanges(
            "No column can have statistics",
            "Only columns of simple types outside arrays and maps have a minimum and a maximum.",
            address.column,
        )
    if not column:
        return NoRanges(
            f"No statistics for \u201c{address.column}\u201d",
            "It is not a simple column of this version. Choose another one.",
            address.column,
        )
    ranges = view.facts.ranges(view.version, column)
    if not len(ranges.low):
        covered = next(row for row in coverage_of(view.facts, view.version) if row.column == column)
        cause = f"{_undrawable(ranges)[:-1]}: {covered.why}." if covered.setting else _undrawable(ranges)
        return NoRanges(f"No file has bounds for {column}", cause, column, covered.setting)
    return None


def _undrawable(ranges: ColumnRanges) -> str:
    """Return why no file has a range to draw."""
    why = (
        (ranges.only_nulls, "holds only nulls in it", "hold only nulls in it"),
        (ranges.unplaced, "has a bound that cannot be drawn", "have a bound that cannot be drawn"),
        (ranges.missing, "has no statistics for it", "have no statistics for it"),
    )
    counts = (fmt.plural(count, one, many) for count, one, many in why if count)
    return f"Of the live files, {', '.join(counts)}."


def _undrawn(nothing: NoRanges) -> dict[str, Any]:
    return {
        "drawn": False,
        "title": nothing.title,
        "why": nothing.why,
        "setting": _writable(nothing.setting),
        "column": nothing.column,
        "ranges": None,
        "wide": 0,
        "single": True,
    }


TAB = TabSpec(
    "statistics",
    "Statistics",
    "statistics",
    _statistics,
    exports={"statistics": _export},
    messages=column_search(_names),
    shows=("statistics",),
)
