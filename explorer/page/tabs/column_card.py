"""The card of a column, and columns at a glance, as the tabs Data and Columns show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from explorer import formatting as fmt
from explorer.page.address import Address
from explorer.page.tabs.shared_results import SharedState, share_result, shared_state
from explorer.page.window import Handler, Message, NewWindow, Window, WindowWork
from explorer.views import TableView
from explorer.views.columns.card import ColumnCard, LeafColumn, column_card, column_named
from explorer.views.columns.column_work import ColumnGlances, ColumnProfiles, ReadGlances, RowValues
from explorer.views.columns.glance import ColumnGlance
from explorer.views.columns.value_bars import Narrowing, ValuesGlance, values_glance
from explorer.views.listing import Listing
from explorer.views.rows.row_work import RowsRead
from explorer.views.rows.spark_work import WorkState

_LONGEST_NAME: Final = 1_000


class CardWork:
    """What one window reads for columns at a glance.

    Args:
        window: The window.
    """

    def __init__(self, window: NewWindow) -> None:
        self.glances = ColumnGlances(window.changed)
        self.profiles = ColumnProfiles(window.changed)
        self.row_values = RowValues()
        self.kept = window.tables.kept

    def stop_reading(self) -> None:
        """Stop a running profile."""
        self.profiles.cancel()


class Filters:
    """The addresses of Data that show only some rows, which meet the condition in force too.

    Args:
        address: The address of the page.
    """

    def __init__(self, address: Address) -> None:
        self._narrowing = Narrowing(address.where)
        self._to = address.to_each("where", tab="data", page=None, find=None)

    def href(self, where: str) -> str:
        """Return the address of the rows that meet a condition."""
        return self._to(self._narrowing.by(where))


@dataclass(frozen=True, slots=True)
class Heading:
    """A column above its rows: by the log, and by the rows."""

    name: str
    glance: ColumnGlance | None
    values: ValuesGlance | None
    address: str


@dataclass(frozen=True, slots=True)
class Headings:
    """The columns above rows, by their key in the listing.

    Attributes:
        columns: The columns.
        reading: Their statistics are being read.
        problem: Why these cannot be read, as a sentence.
        filters: Addresses of some of the rows.
    """

    columns: Mapping[str, Heading]
    reading: bool
    problem: str
    filters: Filters


@dataclass(frozen=True, slots=True)
class CardDrawing:
    """The card as it is drawn.

    Attributes:
        card: The column.
        values: Its values in some rows; None where none were counted.
        job: How far the profile by Spark is.
        profiled: The values are those of all rows.
        extremes: Least and greatest value of all rows; empty without a profile.
        wrong: Statistics that the profile showed to be wrong.
        filters: Addresses of some of the rows.
        shared: What is said of sharing the profile.
    """

    card: ColumnCard
    values: ValuesGlance | None
    job: WorkState
    profiled: bool
    extremes: tuple[tuple[str, str], ...]
    wrong: int
    filters: Filters
    shared: SharedState


def heading_of(view: TableView, address: Address, work: WindowWork, rows: RowsRead, listing: Listing) -> Headings:
    """Return what stands above the columns of rows that are shown."""
    snapshot = view.facts.snapshot(_version(view, rows))
    by_name = {field.name: field for field in snapshot.schema.fields}
    shown = tuple(LeafColumn((column.key,), by_name[column.key]) for column in listing.columns if column.key in by_name)
    read = work.of(CardWork).glances.of(view, shown) if rows_are_of(view, rows) else ReadGlances({})
    columns = {
        column.path[0]: Heading(
            column.name,
            read.columns.get(column.name),
            _row_values(work, rows, column),
            address.to(card=column.name),
        )
        for column in shown
    }
    problem = "" if read.problem is None else read.problem.message
    return Headings(columns, read.reading, problem, Filters(address))


def card_of(view: TableView, address: Address, work: WindowWork, rows: RowsRead, name: str) -> CardDrawing | None:
    """Return the card of a column; None where no column is asked for."""
    if not name:
        return None
    facts, profiles = view.facts, work.of(CardWork).profiles
    shared = shared_state(profiles.shareable(view, name), work.of(CardWork).kept, address)
    card = facts.keep(("column card", view.version, name), lambda: column_card(facts, view.version, name))
    if card.glance is not None and not view.values:
        card = replace(card, glance=card.glance.without_values())
    job, made = profiles.state(view, name), profiles.profile(view, name)
    values, wrong = None, 0
    extremes: tuple[tuple[str, str], ...] = ()
    if made is not None and card.column is not None and made[0].values is not None:
        profile, wrong = made
        values = values_glance(
            made[0].values, card.column.path, card.column.type, f"in all {fmt.plural(profile.rows, 'row')}, by Spark"
        )
        if profile.min is not None:
            extremes = (("minimum", fmt.value_text(profile.min)), ("maximum", fmt.value_text(profile.max)))
    elif card.column is not None and rows_are_of(view, rows):
        values = _row_values(work, rows, card.column)
    return CardDrawing(card, values, job, made is not None, extremes, wrong, Filters(address), shared)


def list_glances(view: TableView, work: WindowWork, names: Sequence[str]) -> ReadGlances:
    """Return the columns of one page of a list at a glance."""
    snapshot = view.facts.snapshot(view.version)
    columns = (column_named(snapshot, name) for name in names)
    read = work.of(CardWork).glances.of(view, tuple(column for column in columns if column is not None))
    if view.values:
        return read
    return replace(read, columns={name: glance.without_values() for name, glance in read.columns.items()})


def rows_are_of(view: TableView, rows: RowsRead) -> bool:
    """Return whether rows that were read are of the version on show."""
    return rows.page is not None and rows.is_of(view) and rows.asked is not None and rows.asked.version == view.version


def _version(view: TableView, rows: RowsRead) -> int:
    return view.version if rows.asked is None else rows.asked.version


def _row_values(work: WindowWork, rows: RowsRead, column: LeafColumn) -> ValuesGlance | None:
    page = rows.page
    values = None if page is None else work.of(CardWork).row_values.of(page, column)
    if values is None:
        return None
    where = "" if rows.asked is None or not rows.asked.where else ", under the condition"
    these = "this row" if values.rows == 1 else f"these {fmt.plural(values.rows, 'row')}"
    return values_glance(values, column.path, column.type, f"in {these}{where}")


def _start(window: Window, message: Message) -> None:
    if window.view is not None:
        column = message.text("column", _LONGEST_NAME)
        window.begin(partial(window.work.of(CardWork).profiles.start, window.view, column))
    window.answer(message)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(CardWork).profiles.cancel()
    window.answer(message)


def _share(window: Window, message: Message) -> None:
    work = window.work.of(CardWork)
    if window.view is None:
        window.answer(message)
    else:
        profile = work.profiles.shareable(window.view, message.text("column", _LONGEST_NAME))
        share_result(window, message, profile, work.kept)


def card_messages(window: Window) -> Mapping[str, Handler]:
    """Return the handlers of the messages of the card."""
    handlers = {"profile": _start, "profile-cancel": _cancel, "profile-share": _share}
    return {kind: partial(handler, window) for kind, handler in handlers.items()}
