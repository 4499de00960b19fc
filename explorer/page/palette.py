"""The palette: one field from which every table, column, property, person, version, time, tab and change is reached.

It is asked by a message and answered from what is known: nothing is planned, and no table is read, for an answer. Names
that the browser remembers are shown only if a served table has them now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, cast

import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, RequestError, TimestampOutOfRange, VersionNotFound
from explorer.core.versions.commits.time_words import AMBIGUOUS, EXAMPLES, stated_time
from explorer.core.versions.named_version import version_number
from explorer.page.address import Address
from explorer.page.palette_names import NamesState, PaletteNames
from explorer.page.render import render
from explorer.page.tabs import LETTERS, TABS
from explorer.views import TableFacts, TableView
from explorer.views.act.intent_form import offers
from explorer.views.palette.name_index import KINDS, MOST_SHOWN, Name, NameKind
from explorer.views.palette.ranking import BESIDE, joined_scores, marked, name_scores, words_of

MOST_RECENT: Final = 12
LONGEST_TEXT: Final = 200
_LONGEST_NAME: Final = 400
_SHOWN_RECENT: Final = 8
_SHOWN_ACTIONS: Final = 6
_SHOWN_TABLES: Final = 10
_ON_SHOW: Final = "on show"
_TIME: Final = 1_000.0
"""What a version or a time scores: the text says it, and nothing else means it better."""
_WEIGHTS: Final = {"tab": 9.0, "action": 6.0, "help": 2.0, "page": 7.0, "feed": 8.0}
_FEEDS: Final = (
    ("recorded", "Recorded changes", "rows that the change feed recorded"),
    ("inferred", "Recorded or inferred changes", "where the feed was off, from the files added and removed"),
)


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be chosen.

    Attributes:
        kind: What it is, in one word.
        text: Its name.
        detail: What tells it from others.
        href: The address that it leads to; empty where ``do`` is done instead.
        do: An act of the page's script.
        keys: The keys that do the same.
        score: How well it matches.
        recent: By which the browser remembers it: kind, table, the table's identity, name. Empty where it does not.
    """

    kind: str
    text: str
    detail: str = ""
    href: str = ""
    do: str = ""
    keys: str = ""
    score: float = 0.0
    recent: tuple[str, str, str, str] | tuple[()] = ()

    @property
    def memo(self) -> str:
        """`recent` as the browser keeps it; empty for nothing."""
        return json.dumps(self.recent) if self.recent else ""


@dataclass(frozen=True, slots=True)
class Group:
    """Options under a heading."""

    heading: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text leads to.

    Attributes:
        groups: The options; those that match a text are one group without a heading.
        words: What is marked in them.
        note: What is said of the text, such as a time that has not come yet; empty for nothing.
        total: How many match.
        counts: How many names of each kind match, as words.
        spread: As of `explorer.views.palette.name_index.Matches`.
        state: How many of the names are known.
    """

    groups: tuple[Group, ...]
    words: tuple[str, ...]
    note: str
    total: int
    counts: str
    spread: bool
    state: NamesState

    @property
    def shown(self) -> int:
        """How many options there are."""
        return sum(len(group.options) for group in self.groups)


@dataclass(frozen=True, slots=True)
class PaletteContext:
    """The page from which the palette is asked.

    Attributes:
        palette_names: The tables, and their names.
        address: The address of the page.
        view: The table on show; None on the list of tables, or where a table cannot be shown.
        may_commit: Changes may be committed here.
        has_home: There is a list of tables to go to.
    """

    palette_names: PaletteNames
    address: Address
    view: TableView | None
    may_commit: bool
    has_home: bool


def palette(context: PaletteContext, text: str, recents: object) -> str:
    """Return the HTML of what a text leads to.

    Args:
        context: The page.
        text: What was typed.
        recents: What the browser remembers, as the message has it: nothing in it is trusted.
    """
    answer = answered(context, fmt.plain(text, LONGEST_TEXT), _recent_names(recents))
    return render("palette-results", answer=answer, marked=marked, text=text.strip(), examples=EXAMPLES)


def answered(context: PaletteContext, text: str, recents: Sequence[Name]) -> Answer:
    """Return what a text leads to: for no text what was used last, the tabs, and some actions."""
    names, view = context.palette_names, context.view
    if view is not None and view.facts.last >= 0:
        names.put(context.address.table, view.facts)
    names.begin()
    known = [name for each in recents if (name := _known(context, each)) is not None]
    if not text.strip():
        return Answer(_beginning(context, known), (), "", 0, "", spread=False, state=names.state())
    words = words_of(text)
    dated, note = _times(context, text.strip(), known)
    fixed = _ranked(_fixed(context), words)
    here = context.address.table if view is not None else ""
    matches = names.search(text, here=here, recent=known)
    named = [_of_name(context, match.name, match.score) for match in matches.best]
    ranked = sorted([*dated, *fixed, *named], key=lambda option: -option.score)
    counts = ", ".join(
        fmt.plural(count, kind, {"property": "properties", "person": "people"}.get(kind, ""))
        for kind in KINDS
        if (count := matches.by_kind.get(kind, 0))
    )
    total = len(dated) + len(fixed) + matches.total
    spread = matches.spread and matches.total == total
    return Answer(
        (Group("", tuple(ranked[:MOST_SHOWN])),) if ranked else (),
        words, note, total, counts, spread, names.state(),
    )  # fmt: skip


def _recent_names(recents: object) -> list[Name]:
    if not isinstance(recents, list):
        return []
    names = []
    for each in islice(recents, MOST_RECENT):
        if not (isinstance(each, list) and len(each) == 4 and all(isinstance(part, str) for part in each)):
            continue
        kind, table, identity, text = (part[:_LONGEST_NAME] for part in each)
        # Of a tab or an action the name is its key, and there is no table.
        if kind in (*KINDS, "tab", "action"):
            names.append(Name(cast("NameKind", kind), table, text, "", identity))
    return names


def _known(context: PaletteContext, name: Name) -> Name | None:
    """Return a name that is remembered, if it can be gone to from here."""
    return context.palette_names.holds(name) if name.kind in KINDS else name


def _beginning(context: PaletteContext, recents: Sequence[Name]) -> tuple[Group, ...]:
    """Return what is shown before anything is typed."""
    fixed = _fixed(context)
    by_key = {(option.recent[0], option.recent[3]): option for option in fixed if option.recent}
    used = []
    for name in recents:
        if name.kind in KINDS:
            if (name.kind, name.table) != ("table", context.address.table):
                used.append(_of_name(context, name))
        elif (option := by_key.get((name.kind, name.text))) is not None:
            used.append(option)
    tabs = tuple(option for option in fixed if option.kind in ("tab", "page") and option.detail != _ON_SHOW)
    actions = tuple(option for option in fixed if option.kind == "action")
    help_ = tuple(option for option in fixed if option.kind == "help")
    groups = (
        Group("Recent", tuple(used[:_SHOWN_RECENT])),
        Group("Tables", _first_tables(context, used)),
        Group("Go to", tabs),
        Group("Actions", actions[:_SHOWN_ACTIONS]),
        Group("Help", help_),
    )
    return tuple(group for group in groups if group.options)


def _first_tables(context: PaletteContext, used: Sequence[Option]) -> tuple[Option, ...]:
    """Return some tables on the list of them, where nothing else says which ones are wanted."""
    if context.view is not None or used:
        return ()
    tables = context.palette_names.tables()[:_SHOWN_TABLES]
    return tuple(_of_name(context, Name("table", table, fmt.plain(table, _LONGEST_NAME))) for table in tables)


def _fixed(context: PaletteContext) -> list[Option]:
    """Return what is the same for every table: tabs, changes, and what the page itself does."""
    address, view = context.address, context.view
    options: list[Option] = []
    if view is not None:
        at_rest = {"page": None, "sort": None, "find": None, "change": None}
        for tab in TABS:
            letter = LETTERS.get(tab.key, "")
            keys = f"g {letter}" if letter else ""
            about = _ON_SHOW if tab.key == address.tab else ""
            key = ("tab", "", "", tab.key)
            options.append(Option("tab", tab.label, about, address.to(tab=tab.key, **at_rest), keys=keys, recent=key))
        for feed, title, about in _FEEDS:
            href = address.to(tab="changes", feed=feed, **at_rest)
            is_shown = address.tab == "changes" and address.feed == feed
            keys = "r" if address.tab == "changes" and not is_shown else ""
            options.append(Option("feed", title, _ON_SHOW if is_shown else about, href, keys=keys))
        options += _changes(view, address, may_commit=context.may_commit)
    if context.has_home:
        home = Address()
        if view is not None or address.table:
            options.append(Option("page", "All tables", "the list of tables", home.to(), keys="g l"))
        if address.show != "timeline":
            options.append(Option("page", "Timeline", "commits of all tables over time", home.to(show="timeline")))
        if address.show != "activity":
            options.append(Option("page", "Activity", "commits made with this program", home.to(show="activity")))
    options += [
        Option("help", "Keyboard shortcuts", "keys and signs", do="shortcuts", keys="?"),
        Option("help", "Light or dark", "switch the colors", do="theme"),
        Option("help", "Copy a link to this view", "for others", do="copy-link"),
    ]
    return options


def _changes(view: TableView, address: Address, *, may_commit: bool) -> Iterable[Option]:
    """Return the changes that can be planned here."""
    try:
        groups = offers(view.facts.snapshot(view.facts.last))
    except ExplorerError:
        return  # what is wrong with the table is said by its page
    for group in groups:
        for offer in group.offers:
            detail = offer.why_not or (offer.about if may_commit else f"{offer.about} A plan only: this is read-only.")
            key = ("action", "", "", offer.kind)
            yield Option("action", offer.title, detail, address.chosen(offer.kind), recent=key)


def _ranked(options: Sequence[Option], words: tuple[str, ...]) -> list[Option]:
    names = pa.array([option.text.casefold() for option in options], pa.string())
    details = name_scores(pa.array([f"{each.kind} {each.detail}".casefold() for each in options], pa.string()), words)
    scores = joined_scores(name_scores(names, words), [score > 0 for score in details], len(options))
    return [
        replace(option, score=float(score) + _WEIGHTS[option.kind])
        for option, score in zip(options, scores, strict=True)
        if score > BESIDE / len(words)
    ]


def _of_name(context: PaletteContext, name: Name, score: float = 0.0) -> Option:
    """Return a name as what can be chosen."""
    here = context.view is not None and name.table == context.address.table
    own = context.address if here else Address(table=name.table)
    rest: dict[str, Any] = {"page": None, "sort": None, "find": None}
    match name.kind:
        case "table":
            href, where = own.to(**rest) if here else own.to(), name.detail
        case "column":
            href = own.to(tab="columns", column=name.text, card=None, file=None, **rest)
            where = f"{name.table} \u00b7 {name.detail}"
        case "property":
            href, where = own.to(tab="overview", **rest), name.table
        case "person":
            href = own.to(view="table", fold="0", commit_author=name.text, commit_page=None, **rest)
            where = f"{name.table} \u00b7 {name.detail}"
        case _:
            href, where = own.to(tab="audit", version=None, compared=None, **rest), f"{name.table} \u00b7 {name.detail}"
    shown = fmt.plain(where, _LONGEST_NAME)
    return Option(
        name.kind, name.text, shown, href, score=score, recent=(name.kind, name.table, name.table_id, name.text)
    )


def _times(context: PaletteContext, text: str, recents: Sequence[Name]) -> tuple[list[Option], str]:
    """Return where a version or a time leads, and what is said of one that leads nowhere."""
    if context.view is not None:
        options, note = _version_options(context.view.facts, context, text)
        if options or note:
            return options, note
    return _of_tables(context, text, recents)


def _version_options(facts: TableFacts, context: PaletteContext, text: str) -> tuple[list[Option], str]:
    try:
        version, reading = facts.named(text)
    except VersionNotFound as error:
        return [], error.message if version_number(text) is not None else ""
    except TimestampOutOfRange as error:
        return [], error.message
    except RequestError as error:
        return [], error.message if error.reason == AMBIGUOUS else ""
    except ExplorerError:
        return [], ""  # what is wrong with the table is said by its page
    address, commit = context.address, facts.commits.record(version) if len(facts.commits) else None
    done = "" if commit is None else f"{commit.operation} \u00b7 {fmt.moment(commit.timestamp)}"
    about = reading or done
    options = [Option("version" if not reading else "time", f"Go to v{version}", about, address.to(version=version))]
    options.append(Option("version", f"Compare with v{version}", about, address.to(compared=version, tab="diff")))
    if version < facts.last:
        changes = address.to(tab="changes", version=facts.last, compared=version)
        options.append(Option("version", f"Rows that changed since v{version}", about, changes))
        restore = address.filled("restore", {"version": str(version)})
        options.append(Option("action", f"Restore v{version}\u2026", about, restore))
    return [replace(each, score=_TIME - place) for place, each in enumerate(options)], ""


def _of_tables(context: PaletteContext, text: str, recents: Sequence[Name]) -> tuple[list[Option], str]:
    """Return tables at a version or a time that follows their name, as in ``orders yesterday 18:00``."""
    parts = text.split()
    for count in range(min(len(parts), 6) + 1):
        name, rest = " ".join(parts[:count]), " ".join(parts[count:])
        number = version_number(rest) if rest[:1] in ("v", "V") else None
        try:
            shown = f"v{number}" if number is not None else stated_time(rest, datetime.now(UTC)).text
        except RequestError as error:
            if error.reason == AMBIGUOUS:
                return [], error.message
            continue
        if name:
            tables = [
                match.name for match in context.palette_names.search(name, recent=recents, kinds=("table",)).best[:5]
            ]
        else:
            tables = [each for each in recents if each.kind == "table" and each.table != context.address.table][:5]
        named = [
            Option("time", table.text, f"at {shown}", Address(table=table.table).to(version=rest), score=_TIME - place)
            for place, table in enumerate(tables)
        ]
        if not named and context.view is None:
            what = "A version" if number is not None else shown
            return [], f"{what} is looked up in a table: put a table\u2019s name before it, or open the table first."
        return named, ""
    return [], ""
