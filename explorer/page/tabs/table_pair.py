"""Another table in place of an earlier version: what the Diff tab shows while the address names one to compare with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from explorer.changed_rows.difference_preview import RowDiffPreview
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.transaction.alignment import alignment
from explorer.core.versions.table_comparison import compare_tables
from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tab_spec import Document, Tab, arranged
from explorer.page.tables import Tables
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.tabs.shared_results import share_handlers, shared_state
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableFacts, TableView
from explorer.views.listing import Listing
from explorer.views.pair_view import PairView, pair_view
from explorer.views.problems import Problem, problem_of
from explorer.views.rows.differences import RowDifferences, row_differences
from explorer.views.rows.row_work import names_in, quoted_name
from explorer.views.rows.spark_work import Shareable, SparkWork, WorkState, start_notice

if TYPE_CHECKING:
    from explorer.job import Job

_OF_EACH_KIND: Final = 100
_SUGGESTED: Final = 200


class IntentsFile(JsonRecord, frozen=True, kw_only=True):
    """The intents that would make a table like its model, in order: each as ``delta-explorer plan`` takes it."""

    table: str
    model: str
    model_version: int
    intents: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _ComparedPair:
    """A comparison: the table of the page and its version, what was asked, the other table and its version."""

    model: TableFacts
    model_version: int
    asked: tuple[str, str]
    facts: TableFacts
    version: int
    shown: PairView

    def is_of(self, view: TableView, address: Address) -> bool:
        """Return whether it is of what a window shows."""
        return (self.model, self.model_version, self.asked) == (view.facts, view.version, _asked(address))


def _asked(address: Address) -> tuple[str, str]:
    return address.other, address.other_version


class PairWork:
    """The table that a window compares its own with, and at most one comparison of their rows.

    Args:
        tables: The tables that can be shown.
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, tables: Tables, changed: Callable[[], None]) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._pair: _ComparedPair | None = None
        self._problem: tuple[tuple[str, str], Problem] | None = None
        self._rows: SparkWork[RowDiffPreview] = SparkWork(changed)

    def prepare(self, view: TableView, address: Address) -> None:
        """Compare the logs of the two tables, unless that was done; what is wrong with the other is kept."""
        try:
            facts = self._tables.other(address.other)
            version = facts.version_named(address.other_version) if address.other_version else facts.last
            with self._lock:
                pair = self._pair
            if pair is not None and pair.is_of(view, address) and (pair.facts, pair.version) == (facts, version):
                problem = None
            else:
                model, changed = view.facts.snapshot(view.version), facts.snapshot(version)
                compared = compare_tables(model, changed, (view.facts.location, facts.location))
                shown = pair_view(compared, alignment(model, changed, compared.differences))
                pair, problem = _ComparedPair(view.facts, view.version, _asked(address), facts, version, shown), None
        except ExplorerError as error:
            pair, problem = None, problem_of(error)
        with self._lock:
            self._pair, self._problem = pair, None if problem is None else (_asked(address), problem)

    def start(self, view: TableView, address: Address) -> None:
        """Begin to compare the rows of the two through Spark; a running comparison is stopped."""
        self.prepare(view, address)
        pair = self._of(view, address)
        if pair is None:
            raise RequestError("The other table cannot be read, so its rows cannot be compared.", field="with")
        facts, version = pair.facts, pair.version

        def make() -> Job[RowDiffPreview]:
            from explorer.spark.engine.session import require_pyspark

            require_pyspark()
            from explorer.spark.changes.table_rows import table_row_preview

            first = view.facts.log, view.facts.snapshot(view.version)
            second = facts.log, facts.snapshot(version)
            return table_row_preview(first, second, names_in(address.keys) or None, _OF_EACH_KIND)

        self._rows.begin(self._rows_key(view, address), make)

    def stop_reading(self) -> None:
        """Stop a running comparison."""
        self._rows.cancel()

    def shown(self, view: TableView, address: Address) -> PairView | None:
        """Return the comparison of what is on show; None if it could not be made."""
        pair = self._of(view, address)
        return None if pair is None else pair.shown

    @property
    def kept(self) -> KeptResults | None:
        """Results that people share; None where nobody else can open an address."""
        return self._tables.kept

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the rows that differ as others can open them; nothing of a table that cannot be read here."""
        pair, key = self._of(view, address), self._rows_key(view, address)
        ids = [view.facts.snapshot(view.version).metadata.id]
        ids += [] if pair is None else [pair.facts.snapshot(pair.version).metadata.id]
        value = None if pair is None else self._rows.about(key)
        pins = () if pair is None else (("other_version", str(pair.version)),)
        return Shareable("pair", ("pair", tuple(ids), *key), value, partial(self._rows.adopt, key), pins)

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the template."""
        pair = self._of(view, address)
        shared = shared_state(self.shareable(view, address), self.kept if pair is not None else None, address)
        with self._lock:
            problem = self._problem
        key = self._rows_key(view, address)
        preview = self._rows.about(key)
        rows: RowDifferences | None = None if preview is None else row_differences(preview)
        fields = view.facts.snapshot(view.version).schema.fields[:_SUGGESTED] if pair is not None else ()
        return {
            "pair": None if pair is None else pair.shown,
            "pair_problem": problem[1] if problem is not None and problem[0] == _asked(address) else None,
            "other_version": None if pair is None else pair.version,
            "other_last": None if pair is None else pair.facts.last,
            "rows": rows,
            "rows_job": self._rows.state if self._rows.key == key else WorkState(),
            "rows_keys": address.keys,
            "rows_columns": tuple(quoted_name(field.name) for field in fields),
            "shared": shared,
            "rows_estimate": f"Spark reads all rows of both tables.{start_notice()}",
        }

    def _of(self, view: TableView, address: Address) -> _ComparedPair | None:
        with self._lock:
            pair = self._pair
        return pair if pair is not None and pair.is_of(view, address) else None

    def _rows_key(self, view: TableView, address: Address) -> tuple[object, ...]:
        pair = self._of(view, address)
        other = None if pair is None else (pair.facts.place, pair.version)
        return (view.facts.place, view.version, other, address.keys)


def pair_tab(view: TableView, address: Address, work: WindowWork) -> Tab:
    """Return what is shown of two tables."""
    pair_work = work.of(PairWork)
    values = pair_work.values(view, address)
    pair: PairView | None = values["pair"]
    shown: dict[str, Any] = {"listing": None, "page": None, "bounds": None}
    if pair is not None:
        listing = arranged(pair.differences, address).at(address.page_number)
        shown = {"listing": listing, "page": listing.paged(), "bounds": pair.bounds}
        shown |= {"bounds_page": pair.bounds.paged()}
    return Tab(
        values | shown | {"step_links": _links(pair, address)},
        template="table-pair",
        needs_spark=pair is not None,
    )


def _links(pair: PairView | None, address: Address) -> list[str]:
    """Return, for each step, the address of the form that plans it on the other table."""
    other = Address(table=address.other)
    steps = () if pair is None else pair.steps
    return [other.filled(step.kind, step.answers) if step.kind else "" for step in steps]


def messages(window: Window) -> Mapping[str, Handler]:
    """Return the handlers of the messages."""
    own: dict[str, Handler] = {"pair-rows": partial(_compare, window), "pair-rows-cancel": partial(_cancel, window)}
    return own | dict(share_handlers(window, "pair", window.work.of(PairWork)))


def _compare(window: Window, message: Message) -> None:
    answers = {"keys": message.text("keys", LONGEST_QUESTION).strip(), "result": ""}
    begin_reading(window, message, window.work.of(PairWork).start, answers)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(PairWork).stop_reading()
    window.answer(message)


def differences_export(view: TableView, address: Address, work: WindowWork) -> Listing:
    """Return what differs as a list."""
    return arranged(_shown(view, address, work).differences, address)


def bounds_export(view: TableView, address: Address, work: WindowWork) -> Listing:
    """Return the bounds of both as a list."""
    return _shown(view, address, work).bounds


def intents_export(view: TableView, address: Address, work: WindowWork) -> Document:
    """Return the intents that would align the other table as a document."""
    pair = _shown(view, address, work)
    content: msgspec.Struct = IntentsFile(
        table=address.other, model=address.table, model_version=view.version, intents=tuple(pair.intents)
    )
    return Document("intents", "intents", content)


def _shown(view: TableView, address: Address, work: WindowWork) -> PairView:
    pair = work.of(PairWork).shown(view, address)
    if pair is None:
        raise RequestError("There is no comparison to export on this page.", field="list")
    return pair
