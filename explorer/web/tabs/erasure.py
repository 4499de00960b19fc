"""The Erasure tab: where some rows physically are, what is left to do, from when each copy can be gone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

from explorer.auditing.erasure import Erasure, erasure_document, statement_document
from explorer.core.errors import RequestError
from explorer.views import TableView
from explorer.views.erasure_desk import ErasureDesk, erasure_view, place_listing
from explorer.views.listing import Listing
from explorer.views.rows.spark_work import engine_state, start_notice
from explorer.web.address import Address
from explorer.web.data_messages import LONGEST_QUESTION, begin_reading
from explorer.web.tab_spec import Document, Tab, TabSpec, arranged, listed
from explorer.web.window import Handler, Message, Window
from explorer.web.window_work import WindowWork

__all__ = ["TAB"]


def _erasure(view: TableView, address: Address, work: WindowWork) -> Tab:
    desk = work.of(ErasureDesk)
    found = desk.proof(view.facts, address.where.strip())
    snapshot = view.facts.snapshot(view.facts.last)
    values: dict[str, Any] = {
        "engine": engine_state(),
        "starts": start_notice(),
        "job": desk.state,
        "example": snapshot.schema.fields[0].name if snapshot.schema.fields else "id",
        "found": None if found is None else erasure_view(found, _due(address)),
    }
    return Tab(values if found is None else values | listed(place_listing(found), address), needs_spark=True)


def _due(address: Address) -> date | None:
    try:
        return date.fromisoformat(address.due) if address.due else None
    except ValueError:
        raise RequestError(f"due={address.due} is not a date. Give it as 2026-12-06.", field="due") from None


def _required(view: TableView, address: Address, work: WindowWork) -> Erasure:
    found = work.of(ErasureDesk).proof(view.facts, address.where.strip())
    if found is None:
        raise RequestError("Nothing has been searched yet.", field="list")
    return found


def _places(view: TableView, address: Address, work: WindowWork) -> Listing:
    return arranged(place_listing(_required(view, address, work)), address)


def _proof(view: TableView, address: Address, work: WindowWork) -> Document:
    name = f"{view.facts.name}-erasure"
    return Document(name, "proof", erasure_document(_required(view, address, work)))


def _statement(view: TableView, address: Address, work: WindowWork) -> Document:
    name = f"{view.facts.name}-erasure-statement"
    return Document(name, "statement", statement_document(_required(view, address, work)))


def _messages(window: Window) -> Mapping[str, Handler]:
    return {"erasure": partial(_search, window), "erasure-cancel": partial(_cancel, window)}


def _search(window: Window, message: Message) -> None:
    asked = {"where": message.text("where", LONGEST_QUESTION).strip(), "due": message.text("due")}
    begin_reading(window, message, _start(window), asked)


def _start(window: Window) -> Any:
    return lambda view, address: window.work.of(ErasureDesk).start(view.facts, address.where)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(ErasureDesk).stop_reading()
    window.answer(message)


TAB = TabSpec(
    "erasure",
    "Erasure",
    "erasure",
    _erasure,
    exports={"erasure": _places, "erasure-proof": _proof, "erasure-statement": _statement},
    messages=_messages,
    work=lambda window: ErasureDesk(window.changed),
)
