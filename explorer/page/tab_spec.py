"""The definition of a tab: its place in the address, its template, its values, its exports as files, its messages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from explorer.auditing import Aspect, Audit
from explorer.core.protocol.json_values import encode_json
from explorer.page.address import Address
from explorer.page.window import Handler, NewWindow, TabWork, Window, WindowWork
from explorer.report.signature import SigningKey
from explorer.spreadsheet import escaped_words
from explorer.views import TableView
from explorer.views.figures.plotly import Figure
from explorer.views.listing import Listing

_MOST_COLUMNS: Final = 100


@dataclass(frozen=True, slots=True)
class Tab:
    """What a tab shows.

    Two figures with the same ``drawn`` differ in their shapes alone, so that moving the cursor redraws no data.

    Attributes:
        values: Of the template.
        figure, drawn: The chart, if there is one, and what its data follow from.
        template: Another template than the tab's own.
        needs_spark: What it offers next needs Spark.
        audit: The audit whose findings it shows, where that is not the one of the log alone.
    """

    values: dict[str, Any] = field(default_factory=dict)
    figure: Figure | None = None
    drawn: tuple[object, ...] = ()
    template: str = ""
    needs_spark: bool = False
    audit: Audit | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document to be kept: its name without the ending, its title, its content, whether it is one line, in the
    form over which its digest is taken, and the key that signs it."""

    name: str
    what: str
    content: msgspec.Struct
    compact: bool = False
    key: SigningKey | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page to be kept: its name without the ending, its title, its text, and the key that signs it."""

    name: str
    what: str
    text: str
    key: SigningKey | None = None


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON text as the log has it: its name without the ending, its title, and the text."""

    name: str
    what: str
    text: str


Exported: TypeAlias = Listing | Document | Page | JsonText
Export = Callable[[TableView, Address, WindowWork], Exported]


class Ask(Protocol):
    """Begins or computes what must be there before a tab is drawn; may take long."""

    def __call__(self, view: TableView, address: Address, work: WindowWork, *, by_person: bool) -> None:
        """Begin it; ``by_person`` is false for an address that was opened or reloaded, which begins nothing."""


def _asks_for_nothing(view: TableView, address: Address, work: WindowWork, *, by_person: bool) -> None:
    """Begin nothing, as most tabs."""


def _begins_nothing(_view: TableView, _address: Address, _work: WindowWork) -> None:
    """What most tabs begin once they are on show."""


def _hears_nothing(_window: Window) -> Mapping[str, Handler]:
    return {}


@dataclass(frozen=True, slots=True)
class TabSpec:
    """One tab of a table's page.

    Attributes:
        key: Its name in the address.
        label: Its name for people.
        template: Blocks ``lead``, ``charthead``, ``chartfoot``, ``rest`` and ``side``, in ``templates/``.
        view: What it shows; begins no work.
        ask: What must begin or be computed before it is drawn.
        exports: Its exports, by the name that the page uses.
        messages: Handlers of the browser's messages, by kind.
        work: Makes its work in a new window.
        opened: Begins what it needs in a window that is open, which a GET alone never reaches; may take long. Returns
            what `explorer.views.rows.spark_work.SparkWork.begin` returns, None where nothing has just begun.
        shows: The aspects of a table whose evidence it shows.
    """

    key: str
    label: str
    template: str
    view: Callable[[TableView, Address, WindowWork], Tab]
    ask: Ask = _asks_for_nothing
    exports: Mapping[str, Export] = field(default_factory=dict)
    messages: Callable[[Window], Mapping[str, Handler]] = _hears_nothing
    work: Callable[[NewWindow], TabWork] | None = None
    opened: Callable[[TableView, Address, WindowWork], Event | None] = _begins_nothing
    shows: tuple[Aspect, ...] = ()


def arranged(listing: Listing, address: Address) -> Listing:
    """Return a list as the address asks for it."""
    key = address.sort.removeprefix("-")
    return listing.arranged(sort=key, descending=address.sort.startswith("-"), find=address.find).at(
        address.page_number
    )


def pinned(listing: Listing | None, address: Address, own: int) -> str:
    """Return the key of the column that stays in sight: the one that the address names, else the first of the table's.

    Args:
        listing: The rows.
        address: What was chosen.
        own: How many columns of ours come before the table's.
    """
    if listing is None:
        return ""
    keys = [column.key for column in listing.columns]
    return address.column if address.column in keys else keys[own] if len(keys) > own else ""


def narrowed(listing: Listing | None, pin: str) -> dict[str, Any]:
    """Return the values by which a template shows rows: of many columns the first ones, and the one in sight."""
    if listing is None:
        return {"listing": None, "page": None, "pin": pin, "more_columns": 0}
    shown = listing.narrowed(_MOST_COLUMNS, pin)
    more = len(listing.columns) - len(shown.columns)
    return {"listing": shown, "page": shown.paged(), "pin": pin, "more_columns": more}


def listed(listing: Listing, address: Address) -> dict[str, Any]:
    """Return the values by which a template shows a list as the address asks for it."""
    shown = arranged(listing, address)
    return {"listing": shown, "page": shown.paged()}


_CHUNK = 1_000_000
_PARQUET: Final = "application/vnd.apache.parquet"


def export_files(exported: Exported, id_: str, format_: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that carry a file to the browser, and its signature if there is a key.

    Args:
        exported: The export; a list as CSV says what was done to cells that a spreadsheet would run.
        id_: By which the browser puts the parts together.
        format_: ``csv``, ``json``, ``parquet``, or ``copy`` for the clipboard.
    """
    key, note = exported.key if isinstance(exported, Document | Page) else None, ""
    match exported:
        case Document():
            text, suffix, media = _json(exported), "json", "application/json"
            what = exported.what
        case Page():
            text, suffix, media, what = exported.text, "html", "text/html", exported.what
        case JsonText():
            text, suffix, media, what = exported.text, "json", "application/json", exported.what
        case Listing() if format_ == "parquet":
            yield from _parts(
                id_, f"{exported.name}.parquet", _PARQUET, "list", _letters(exported.to_parquet()), coded=True
            )
            return
        case Listing() if format_ == "json":
            text, suffix, media, what = exported.to_json(), "json", "application/json", "list"
        case Listing():
            text, escaped = exported.csv()
            suffix, media, what, note = "csv", "text/csv", "list", escaped_words(escaped)
    name = f"{exported.name}.{suffix}"
    yield from _parts(id_, name, media, what, text, copy=format_ == "copy", note=note)
    if key is not None:
        signature = key.sign(text.encode()).decode()
        yield from _parts(f"{id_}-signature", f"{name}.sig", "text/plain", "signature", signature)


def _parts(
    id_: str, name: str, media: str, what: str, text: str, *, copy: bool = False, note: str = "", coded: bool = False
) -> Iterator[dict[str, Any]]:
    file = {"kind": "file", "id": id_, "copy": copy, "name": name, "type": media, "note": note, "coded": coded}
    for start in range(0, max(len(text), 1), _CHUNK):
        end = start + _CHUNK
        yield {**file, "what": what, "text": text[start:end], "done": end >= len(text)}


def _letters(content: bytes) -> str:
    """Return bytes as letters, in base64: a message carries text."""
    return base64.b64encode(content).decode()


def _json(document: Document) -> str:
    if document.compact:
        return msgspec.json.encode(document.content).decode() + "\n"
    return msgspec.json.format(encode_json(document.content), indent=2).decode()
