"""The Case tab: what was pinned on any page of this window, as a case file and in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from explorer.core.errors import RequestError
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.tab_spec import Document, Page, Tab, TabSpec
from explorer.page.tabs.data import RowsWork
from explorer.page.tabs.row import StoryWork, pinned_rows
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.report import render, table_report
from explorer.report.case_desk import CaseDesk
from explorer.report.case_file import AnyPin, CommitPin, DiffPin, FilePin, FindingPin, PlanPin, RowsPin
from explorer.views import TableView
from explorer.views.table.maintenance import maintenance_entries

_LONGEST: Final = 8_000_000
_LONGEST_TEXT: Final = 8_000
_MOST_ROWS: Final = 50


def _case(view: TableView, _address: Address, work: WindowWork) -> Tab:
    return Tab({"case": work.of(CaseDesk).view(view.facts), "signer": work.signer})


def _file(_view: TableView, _address: Address, work: WindowWork) -> Document:
    file = work.of(CaseDesk).file
    return Document(f"{_slug(file.title)}", "case", file)


def _report(view: TableView, _address: Address, work: WindowWork) -> Page:
    facts, desk = view.facts, work.of(CaseDesk)
    person = work.of(ActDesk).person
    report = table_report(
        facts.subject(),
        facts.audit(),
        by=person or None,
        case=desk.file,
        signer=work.signer,
        maintenance=lambda: maintenance_entries(facts),
    )
    return Page(f"{_slug(desk.file.title)}-{facts.name}", "report", render(report), work.key)


def _slug(title: str) -> str:
    """Return A title as the name of a file."""
    return "-".join("".join(each if each.isalnum() else " " for each in title).split()).lower()[:80] or "case"


def _messages(window: Window) -> Mapping[str, Handler]:
    return {kind: partial(handler, window) for kind, handler in _HANDLERS.items()}


def _pin(window: Window, message: Message) -> None:
    """Check on a thread that the pin holds, as that may read the log."""
    view, desk = window.view, window.work.of(CaseDesk)
    if view is None:
        window.answer(message)
        return
    pin = _wanted(message, view, window)

    def added(checked_pin: AnyPin) -> None:
        desk.add(checked_pin)
        window.answer(message)
        window.redraw()

    window.compute(message, lambda: desk.checked(pin, view.facts), added)


def _wanted(message: Message, view: TableView, window: Window) -> AnyPin:
    """Return the pin that a message requests; raise `RequestError` for an unknown kind."""
    what = message.text("pin")
    makers: dict[str, Callable[[], AnyPin]] = {
        "commit": lambda: CommitPin(version=view.version),
        "diff": lambda: DiffPin(from_version=view.other, to_version=view.version),
        "finding": lambda: FindingPin(id=message.text("rule"), subject=message.text("subject", _LONGEST_TEXT)),
        "file": lambda: FilePin(path=message.text("path", _LONGEST_TEXT), version=view.version),
        "plan": lambda: PlanPin(plan=window.work.of(ActDesk).document()),
        "rows": lambda: _rows(window.work.of(RowsWork), view),
        "row": lambda: _story(view, window),
    }
    if what not in makers:
        raise RequestError(f"pin={what} is not known. It can be: {', '.join(makers)}.", field="pin")
    return makers[what]()


def _rows(work: RowsWork, view: TableView) -> RowsPin:
    """Return the rows of the table that were read last, as they were shown."""
    request, listing = work.listing_required(view)
    rows = msgspec.json.decode(listing.to_json(), type=list[dict[str, Any]])
    return RowsPin(version=request.version, where=request.where, rows=tuple(rows[:_MOST_ROWS]))


def _story(view: TableView, window: Window) -> RowsPin:
    """Return the story of the row that is shown, a row for each version that changed it."""
    version, where, steps = pinned_rows(view, Address.parse(window.query), window.work.of(StoryWork))
    return RowsPin(version=version, where=where, rows=tuple(steps[:_MOST_ROWS]))


def _change(window: Window, message: Message, change: Callable[[CaseDesk], None]) -> None:
    change(window.work.of(CaseDesk))
    window.answer(message)
    window.redraw()


def _unpin(window: Window, message: Message) -> None:
    _change(window, message, lambda desk: desk.remove(message.text("pin")))


def _note(window: Window, message: Message) -> None:
    _change(window, message, lambda desk: desk.note(message.text("pin"), message.text("note", _LONGEST_TEXT)))


def _describe(window: Window, message: Message) -> None:
    texts = (message.text(name, _LONGEST_TEXT).strip() for name in ("title", "author", "notes"))
    _change(window, message, lambda desk: desk.describe(*texts))


def _load(window: Window, message: Message) -> None:
    """Read the file on a thread, as a large one takes seconds."""
    name, desk = message.text("name") or "The file", window.work.of(CaseDesk)

    def loaded(_: None) -> None:
        window.answer(message)
        window.redraw()

    window.compute(message, lambda: desk.load(message.text("text", _LONGEST), name), loaded)


_HANDLERS: Final = {
    "pin": _pin, "unpin": _unpin, "case-note": _note, "case-describe": _describe, "case-load": _load,
}  # fmt: skip
TAB: Final = TabSpec(
    "case",
    "Case",
    "case",
    _case,
    exports={"case-file": _file, "case-report": _report},
    messages=_messages,
    work=lambda window: CaseDesk(window.person, signed_in=bool(window.identity.name)),
)
