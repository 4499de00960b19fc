"""The state of a page as a query string: everything a person chose, and nothing else.

``?t=sales/orders&v=12&c=9&tab=diff``. A field at its default is left out, so that one state has one address.
Versions are kept as text until the table is known, as a time can name a version too: for a text that is not a version
of that table, the error shows the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from urllib.parse import parse_qs, quote_plus, urlencode

from explorer.activity.event import KINDS as ACTIVITY_KINDS
from explorer.core.errors import ExplorerError, RequestError
from explorer.credentials import safe_path
from explorer.views.act.intent_form import offered_kinds
from explorer.views.audit_work import AuditCheck, audit_checks, checks_text
from explorer.views.layout.groups import FILE_COLOURINGS
from explorer.views.many_tables.choice import FacetChoice
from explorer.views.table.comparison import CHANGES
from explorer.views.table.funnel import KINDS
from explorer.views.table.timeline import COLOURINGS
from explorer.views.table.version_axis import AXES
from explorer.views.table_view import METRICS

STATUSES = ("", "broken", "wrong", "unread", "watch", "fine", "pending")
"""Which tables the list shows: all, those that are broken, those that this program cannot read, and those by their
worst finding."""

_KEYS = {
    "table": "t",
    "version": "v",
    "compared": "c",
    "tab": "tab",
    "column": "col",
    "card": "card",
    "file": "file",
    "picked": "pick",
    "partition": "part",
    "sizes": "size",
    "group": "group",
    "files_by": "paint",
    "metric": "metric",
    "change": "change",
    "find": "q",
    "sort": "sort",
    "page": "page",
    "zoom": "zoom",
    "colour": "colour",
    "axis": "axis",
    "fold": "fold",
    "view": "view",
    "commit_find": "cq",
    "commit_operation": "cop",
    "commit_author": "cby",
    "commit_sort": "cs",
    "commit_page": "cp",
    "where": "where",
    "masked": "masked",
    "rule": "rule",
    "keep": "keep",
    "due": "due",
    "requests": "requests",
    "reference": "ref",
    "feed": "feed",
    "keys": "keys",
    "row": "row",
    "row_keys": "rk",
    "act": "act",
    "step": "step",
    "back": "back",
    "request": "request",
    "status": "standing",
    "show": "show",
    "other": "with",
    "other_version": "wv",
    "facets": "facet",
    "grouping": "by",
    "range": "range",
    "result": "result",
    "kind": "kind",
    "checks": "checks",
}
_ANSWER = "f."
_MOST_ANSWERS = 400
_CHOICES = {
    "metric": METRICS,
    "change": ("all", *CHANGES),
    "fold": ("", "0", "1"),
    "colour": COLOURINGS,
    "axis": AXES,
    "view": ("chart", "table"),
    "files_by": FILE_COLOURINGS,
    "masked": ("0", "1"),
    "rule": ("", *KINDS),
    "feed": ("", "recorded", "inferred"),
    "act": ("", *offered_kinds()),
    "step": ("fill", "plan", "receipt", "undo", "request"),
    "status": STATUSES,
    "show": ("", "activity", "timeline"),
    "grouping": ("", "catalog", "owner", "none"),
    "kind": ("", *ACTIVITY_KINDS),
}


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address; every field is text as it came, empty or at its default where absent.

    ``answers`` are those to the form of a change, by name: the keys that begin with ``f.``. ``back`` is the change from
    which a person came to another one, as `plan_key` writes it. ``requests`` are the conditions of erasure requests
    that are searched in one pass, a line each, where there are several: ``where`` is the one that is shown.
    ``request`` is the number of a request for approval.
    ``reference`` is what a request is called where it came from. ``card`` is the column whose card is open, ``column``
    the one that is chosen. ``picked`` are the paths of selected files, a line each. ``partition``, ``sizes`` and
    ``group`` are the files that the list shows, and ``files_by`` what colours them, as `explorer.views.layout` reads
    them. ``row`` names the row that is
    followed, as `explorer.views.rows.row_reference` reads it, and ``row_keys`` the columns by which rows are followed.
    ``other`` is the table to compare with, and ``other_version`` its version.
    ``facets``, ``grouping`` and ``range`` are of the list of tables and of its timeline; there ``column`` is a part of
    a column's name.
    ``result`` is the ID of a result that a person has shared.
    ``kind`` is what the entries of the activity page are about.
    ``checks`` are what an audit checks in addition to the log, as `explorer.views.audit_work` reads them.
    """

    table: str = ""
    version: str = ""
    compared: str = ""
    tab: str = "overview"
    column: str = ""
    card: str = ""
    file: str = ""
    picked: str = ""
    partition: str = ""
    sizes: str = ""
    group: str = ""
    files_by: str = "writer"
    metric: str = "rows"
    change: str = "all"
    find: str = ""
    sort: str = ""
    page: str = "1"
    zoom: str = ""
    colour: str = "effect"
    axis: str = "version"
    fold: str = ""
    view: str = "chart"
    commit_find: str = ""
    commit_operation: str = ""
    commit_author: str = ""
    commit_sort: str = ""
    commit_page: str = ""
    where: str = ""
    masked: str = "0"
    rule: str = ""
    keep: str = ""
    due: str = ""
    requests: str = ""
    reference: str = ""
    feed: str = ""
    keys: str = ""
    row: str = ""
    row_keys: str = ""
    act: str = ""
    step: str = "fill"
    back: str = ""
    request: str = ""
    status: str = ""
    show: str = ""
    other: str = ""
    other_version: str = ""
    facets: str = ""
    grouping: str = ""
    range: str = ""
    result: str = ""
    kind: str = ""
    checks: str = ""
    answers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, query: str) -> Address:
        """Read a query string, with or without its question mark; unknown keys are ignored.

        Raises:
            RequestError: A field has a value that does not exist; the message names those that do.
        """
        values = parse_qs(query.removeprefix("?"), keep_blank_values=True)
        given = [(key[len(_ANSWER) :], texts[-1]) for key, texts in values.items() if key.startswith(_ANSWER)]
        address = cls(
            **{name: values[key][-1] for name, key in _KEYS.items() if key in values},
            answers=tuple(sorted(answer for answer in given if answer[1]))[:_MOST_ANSWERS],
        )
        # An address of an earlier release can name a file by a path with credentials; it is now named without them.
        table, other = _one_name(address.table), _one_name(address.other)
        address = replace(address, table=table, other=other, file=safe_path(address.file))
        for name, choices in _CHOICES.items():
            value = getattr(address, name)
            if value not in choices:
                allowed = tuple(filter(None, choices))
                message = f"{_KEYS[name]}={value} is not known. It can be: {', '.join(allowed)}."
                raise RequestError(message, field=_KEYS[name], allowed=allowed)
        if address.checks:
            address = replace(address, checks=checks_text(audit_checks(address.checks)))
        if address.facets:
            address = replace(address, facets=FacetChoice.parse(address.facets).text)
        # Addresses of earlier releases have zoom=0 and zoom=1: the part that was on show is not known, so all is shown.
        address = replace(address, zoom="") if address.zoom in {"0", "1"} else address
        if address.zoom and address.window is None:
            raise RequestError("zoom is two versions, as in zoom=1200-1500.", field="zoom")
        return address

    @classmethod
    def of_table(cls, query: str) -> Address:
        """Return the address of a query's table alone, for a query that cannot be read."""
        return cls(table=_one_name(parse_qs(query.removeprefix("?")).get(_KEYS["table"], [""])[-1]))

    def to(self, **changes: object) -> str:
        """Return the query of this address with some fields changed; None puts a field back to its default."""
        defaults = _defaults()
        wanted = {name: defaults[name] if value is None else str(value) for name, value in changes.items()}
        stated = {name: value for name, value in (_stated(self) | wanted).items() if value != defaults[name]}
        return "?" + urlencode(_pairs(stated, self.answers, []), safe="/")

    def to_each(self, field: str, **changes: object) -> Callable[[str], str]:
        """Return what makes the queries of this address that differ in one field, for a page that has many of them.

        Args:
            field: The name of the field, whose value is never empty.
            **changes: Of other fields, as for `to`.
        """
        key = _KEYS[field]
        before, after = self.to(**changes, **{field: "\0"}).split(f"{key}=%00", 1)
        return lambda value: f"{before}{key}={quote_plus(value, safe='/')}{after}"

    def pairs(self, without: list[str]) -> list[tuple[str, str]]:
        """Return the keys and values that a form must carry along, except some fields and those at their default."""
        return _pairs(_stated(self), self.answers, without)

    def chosen(self, kind: str) -> str:
        """Return the query of the form of a kind of change, unanswered."""
        return replace(self, act=kind, step="fill", answers=(), back="").to(tab="act")

    def setting(self, key: str, value: str) -> str:
        """Return the query of the form that sets a property, filled in."""
        return self.filled("set-properties", {"key.0": key, "value.0": value})

    def filled(self, kind: str, answers: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
        """Return the query of the form of a kind of change, with answers."""
        return replace(self, act=kind, step="fill", answers=tuple(dict(answers).items())).to(tab="act", version=None)

    def receipt_of(self, version: int) -> str:
        """Return the query of the receipt of a version; it stays the same for everyone, at any time."""
        return replace(self, act="", answers=()).to(tab="act", version=version, compared=None, step="receipt")

    def undo_of(self, version: int) -> str:
        """Return the query of what undoes the commit of a version."""
        return replace(self, act="", answers=()).to(tab="act", version=version, compared=None, step="undo")

    def request_of(self, number: int | None) -> str:
        """Return the query of a request for approval; of the list of the table's requests without a number."""
        plain = replace(self, act="", answers=(), back="", request="" if number is None else str(number))
        return plain.to(tab="act", version=None, compared=None, step="request")

    @property
    def plan_key(self) -> str:
        """The change that is asked for, and those from which the person came to it, as one text."""
        own = [("act", self.act), *((_ANSWER + name, value) for name, value in self.answers)]
        return urlencode([*own, *([("back", self.back)] if self.back else [])]) if self.act else ""

    def resumed(self) -> Address | None:
        """Return the address of the plan from which the person came; None where there is none."""
        values = {key: texts[-1] for key, texts in parse_qs(self.back).items()}
        if values.get("act") not in offered_kinds():
            return None
        answers = sorted((key[len(_ANSWER) :], value) for key, value in values.items() if key.startswith(_ANSWER))
        return replace(
            self,
            tab="act",
            act=values["act"],
            step="plan",
            version="",
            compared="",
            where="",
            answers=tuple(answers)[:_MOST_ANSWERS],
            back=values.get("back", ""),
        )

    @property
    def choice(self) -> FacetChoice:
        """The values of facets by which the list of tables is filtered."""
        return FacetChoice.parse(self.facets)

    @classmethod
    def of_folder(cls, folder: str) -> str:
        """Return the query of the list of the tables in a folder, by its served name."""
        return cls().turned("folder", folder)

    def turned(self, facet: str, value: str) -> str:
        """Return the query with a value of a facet chosen that was not, or not chosen that was."""
        return self.to(facets=self.choice.turned(facet, value).text, page=None)

    @property
    def audit_checks(self) -> tuple[AuditCheck, ...]:
        """What an audit checks in addition to the log."""
        return audit_checks(self.checks)

    @property
    def window(self) -> tuple[int, int] | None:
        """The versions that the strip shows, ``zoom=1200-1500``; None for all."""
        first, _, last = self.zoom.partition("-")
        if not (first.isdecimal() and last.isdecimal() and len(self.zoom) < 40):
            return None
        return min(int(first), int(last)), max(int(first), int(last))

    @property
    def kept_days(self) -> int | None:
        """The chosen retention, in days; None for the table's own."""
        return int(self.keep) if self.keep.isdecimal() and len(self.keep) < 6 else None

    @property
    def page_number(self) -> int:
        """The page of the list, at least 1; a text that is not a number is page 1 (a list has always a first page)."""
        return max(1, int(self.page)) if self.page.isdecimal() and len(self.page) < 10 else 1


@cache
def _defaults() -> dict[str, str]:
    return {field.name: str(field.default) for field in fields(Address) if field.name != "answers"}


@lru_cache
def _stated(address: Address) -> dict[str, str]:
    """Return the fields of an address that are not at their default, without its answers."""
    defaults = _defaults()
    return {name: value for name in _KEYS if (value := getattr(address, name)) != defaults[name]}


def _pairs(
    stated: Mapping[str, str], answers: Sequence[tuple[str, str]], without: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the keys and values of an address with these fields, except some, in the order of the keys."""
    leaves_form = "act" not in stated and stated.get("step") not in {"receipt", "undo"}
    left_out = {*without, "back"} if leaves_form else without
    pairs = [(key, stated[name]) for name, key in _KEYS.items() if name in stated and name not in left_out]
    kept = answers if "act" in stated and "answers" not in without else ()
    return [*pairs, *((_ANSWER + name, value) for name, value in kept)]


def _one_name(table: str) -> str:
    """Return a table's name without slashes that name no folder; one that begins with a slash is invalid."""
    return table if table.startswith("/") else "/".join(filter(None, table.split("/")))


def address_of(query: str) -> Address:
    """Return the address of a query; of one that cannot be read, only its table."""
    try:
        return Address.parse(query)
    except ExplorerError:
        return Address.of_table(query)
