"""The Row tab: the story of one row: its values at every version, who changed it and why, and where it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event
from typing import Any

from explorer.changed_rows.row_story import RowStory
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.json_values import JsonObject
from explorer.first_rows.first_rows import SparkOnly
from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tab_spec import Tab, TabSpec
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.tabs.shared_results import share_handlers, shared_state
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.problems import problem_of
from explorer.views.rows.row_reference import (
    KeyChoice,
    condition_of,
    key_choice,
    parsed_row,
    place_text,
    row_text,
    typed_value,
)
from explorer.views.rows.row_work import key_choices, names_in, quoted_name
from explorer.views.rows.spark_work import Shareable, engine_state, start_notice
from explorer.views.rows.story_view import story_view
from explorer.views.rows.story_work import FollowedRow, StoryAnswer

_MOST_VALUES = 20


class StoryWork:
    """At most one row's story for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
        kept: Results that people share; None where nobody else can open an address.
    """

    def __init__(self, changed: Callable[[], None], kept: KeptResults | None = None) -> None:
        self._row, self.kept = FollowedRow(changed), kept

    def open(self, view: TableView, address: Address) -> Event | None:
        """Begin to read the story of the row of an address, where that needs no Spark; see `TabSpec.opened`."""
        return self._row.open(view, address.row, address.row_keys) if address.row else None

    def start(self, view: TableView, address: Address) -> None:
        """Begin to read the story of the row of an address; a running read is stopped."""
        if address.row:
            self._row.start(view, address.row, address.row_keys)

    def stop_reading(self) -> None:
        """Stop a running read."""
        self._row.cancel()

    def story(self, view: TableView, address: Address) -> RowStory:
        """Return the story that was read.

        Raises:
            RequestError: None was.
        """
        if (story := self.read_story(view, address)) is None:
            raise RequestError("The story of this row has not been read yet.", field="row")
        return story

    def read_story(self, view: TableView, address: Address) -> RowStory | None:
        """Return the story that was read; None before that."""
        answer = self._answer(view, address)
        return None if answer is None or isinstance(answer.story, SparkOnly) else answer.story

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the story as others can open it."""
        return self._row.shareable(view, address.row, address.row_keys)

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the tab's template."""
        shared = shared_state(self.shareable(view, address), self.kept, address)
        answer = self._answer(view, address)
        choice, problem = _choice(view, address)
        story = self.read_story(view, address)
        return {
            "story": None
            if story is None
            else story_view(story, view.version, view.facts.commits.record, _begins(answer)),
            "needs_spark": answer.story if answer is not None and isinstance(answer.story, SparkOnly) else None,
            "job": self._row.state(view, address.row, address.row_keys),
            "choice": choice,
            "entered": _entered(address, choice.columns, story),
            "choice_problem": problem,
            "tracked": view.facts.snapshot(view.version).row_tracking.enabled,
            "columns": key_choices(view, view.version),
            "erase": "" if story is None else _erase(view, story, address),
            "engine": engine_state(),
            "starts": start_notice(),
            "shared": shared,
        }

    def _answer(self, view: TableView, address: Address) -> StoryAnswer | None:
        return self._row.answer(view, address.row, address.row_keys) if address.row else None


def row_links(
    view: TableView, address: Address, listing: Listing | None, rows: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return for each row that is shown the address of its story; empty ones where no column can be a key.

    Args:
        view: The table and its version.
        address: The address of the page.
        listing: The rows that were read; None without any.
        rows: Those on show.
    """
    if listing is None:
        return []
    snapshot = view.facts.snapshot(view.version)
    placed = listing.name.startswith("rows-") and snapshot.row_tracking.enabled and not address.row_keys
    columns = _choice(view, address)[0].columns

    def text(row: Mapping[str, Any]) -> str:
        if placed:
            file, place = (column.key for column in listing.columns[-2:])
            return place_text(row[file], row[place])
        return (
            row_text({name: row[name] for name in columns}) if columns and all(name in row for name in columns) else ""
        )

    to = address.to_each("row", tab="row", page=None, sort=None, find=None)
    return [to(named) if (named := text(row)) else "" for row in rows]


def _entered(address: Address, columns: Sequence[str], story: RowStory | None) -> list[str]:
    """The texts of the key's values, as the address or the story has them; empty where neither has."""
    try:
        reference = parsed_row(address.row) if address.row else {}
    except ExplorerError:
        reference = {}
    known = dict(reference) if isinstance(reference, Mapping) else dict(story.followed.key) if story else {}
    return [str(known[name]) if known.get(name) is not None else "" for name in columns]


def _begins(answer: StoryAnswer | None) -> str:
    return "" if answer is None else answer.begins


def _choice(view: TableView, address: Address) -> tuple[KeyChoice, Any]:
    """The key columns, and why they cannot be those of the address."""
    snapshot = view.facts.snapshot(view.version)
    # Statistics are looked at once, not each time that rows are drawn.
    usual = view.facts.keep(("key", view.version), lambda: key_choice(snapshot, ()))
    try:
        return key_choice(snapshot, names_in(address.row_keys)) if address.row_keys else usual, None
    except ExplorerError as error:
        return usual, problem_of(error)


def _erase(view: TableView, story: RowStory, address: Address) -> str:
    """The address of the Erasure tab with the condition of the row."""
    condition = _condition(view, story, address)
    return address.to(tab="erasure", where=condition, requests=None, page=None) if condition else ""


def _condition(view: TableView, story: RowStory, address: Address) -> str:
    """SQL that is true for the row; empty where no column is its key."""
    key = dict(story.followed.key)
    if not key and story.rows.num_rows:
        newest = view.facts.snapshot(story.followed.last)
        try:
            columns = key_choice(newest, names_in(address.row_keys)).columns
        except ExplorerError:
            columns = ()
        key = {name: story.rows.column(name)[-1].as_py() for name in columns if name in story.rows.column_names}
    return condition_of(key, story.followed.schema) if key else ""


def pinned_rows(view: TableView, address: Address, work: StoryWork) -> tuple[int, str, list[JsonObject]]:
    """Return a story as a case has it: its last version, its condition, and what each version did."""
    story = work.story(view, address)
    shown = story_view(story, view.version, view.facts.commits.record, "")
    rows: list[JsonObject] = []
    for step in shown.steps:
        commit = step.commit
        rows.append(
            {
                "version": f"v{step.version}",
                "what": step.word,
                "changes": "; ".join(f"{each.column}: {each.before} \u2192 {each.after}" for each in step.changes),
                "operation": "" if commit is None else commit.operation,
                "by": "" if commit is None else commit.user_name,
                "reason": "" if commit is None else commit.reason,
                "file": "; ".join(f"{each.path}, row {each.row}" for each in step.files),
            }
        )
    return story.followed.last, _condition(view, story, address), rows


def _row(view: TableView, address: Address, work: WindowWork) -> Tab:
    values = work.of(StoryWork).values(view, address)
    return Tab(values, needs_spark=values["needs_spark"] is not None)


def _open(view: TableView, address: Address, work: WindowWork) -> Event | None:
    return work.of(StoryWork).open(view, address)


def _messages(window: Window) -> Mapping[str, Handler]:
    handlers = {"row": _follow, "row-keys": _choose, "row-read": _read, "row-cancel": _cancel}
    own = {kind: partial(handler, window) for kind, handler in handlers.items()}
    return own | dict(share_handlers(window, "story", window.work.of(StoryWork)))


def _follow(window: Window, message: Message) -> None:
    """Follow the row whose values were entered."""
    view = window.view
    if view is None:
        window.answer(message)
        return
    address, snapshot = Address.parse(window.query), view.facts.snapshot(view.version)
    columns = key_choice(snapshot, names_in(address.row_keys)).columns
    key = {}
    for place, name in enumerate(columns[:_MOST_VALUES]):
        field = snapshot.schema.field(name)
        assert field is not None
        key[name] = typed_value(field, message.text(f"value.{place}", LONGEST_QUESTION).strip())
    begin_reading(window, message, window.work.of(StoryWork).open, {"row": row_text(key), "result": ""})


def _choose(window: Window, message: Message) -> None:
    """Follow rows by other columns: the row that is shown too, by its values there."""
    view, text = window.view, message.text("keys", LONGEST_QUESTION).strip()
    if view is None:
        window.answer(message)
        return
    address, row = Address.parse(window.query), ""
    columns = key_choice(view.facts.snapshot(view.version), names_in(text)).columns
    story = window.work.of(StoryWork).read_story(view, address)
    if story is not None:
        row = _again(view, story, columns)
    chosen = ", ".join(quoted_name(name) for name in columns) if text else ""
    begin_reading(window, message, window.work.of(StoryWork).open, {"row_keys": chosen, "row": row, "result": ""})


def _again(view: TableView, story: RowStory, columns: Sequence[str]) -> str:
    """How an address names the row of a story by other columns; empty where the story has them under other names."""
    if not story.rows.num_rows or any(name not in story.rows.column_names for name in columns):
        return ""
    at = next((step.rows for step in reversed(story.steps) if step.version <= view.version and step.rows), story.latest)
    number = at[0].number if at else 0
    return row_text({name: story.rows.column(name)[number].as_py() for name in columns})


def _read(window: Window, message: Message) -> None:
    begin_reading(window, message, window.work.of(StoryWork).start, {"result": ""})


def _cancel(window: Window, message: Message) -> None:
    window.work.of(StoryWork).stop_reading()
    window.answer(message)


TAB = TabSpec(
    "row",
    "Row",
    "row",
    _row,
    messages=_messages,
    work=lambda window: StoryWork(window.changed, window.tables.kept),
    opened=_open,
)
