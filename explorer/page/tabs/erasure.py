"""The Erasure tab: where some rows physically are, what is left to do, from when each copy can be gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import msgspec

from explorer.auditing.erasure import Erasure, erasure_document
from explorer.core.errors import RequestError
from explorer.page.act.desk import ActDesk
from explorer.page.address import Address
from explorer.page.tab_spec import Document, Page, Tab, TabSpec, arranged, listed
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.window import Handler, Message, Window
from explorer.page.window_work import WindowWork
from explorer.report import ErasureStatement, erasure_statement, render
from explorer.views import TableView
from explorer.views.erasure_desk import ErasureDesk
from explorer.views.erasure_view import ErasureView, erasure_view, place_listing
from explorer.views.listing import Listing
from explorer.views.rows.spark_work import engine_state, start_notice

__all__ = ["TAB"]


def _erasure(view: TableView, address: Address, work: WindowWork) -> Tab:
    desk, requests = work.of(ErasureDesk), _requests(address)
    proofs = desk.proofs(view.facts, requests) or {}
    proof_shown = proofs.get(address.where.strip())
    snapshot = view.facts.snapshot(view.facts.last)
    values: dict[str, Any] = {
        "engine": engine_state(),
        "starts": start_notice(),
        "job": desk.state(view.facts, requests),
        "signer": work.signer,
        "requests": requests,
        "proofs": tuple(_Request(proof.where, erasure_view(proof)) for proof in proofs.values()),
        "example": snapshot.schema.fields[0].name if snapshot.schema.fields else "id",
        "found": None if proof_shown is None else erasure_view(proof_shown, _due(address)),
        "newest": view.facts.last,
        "outdated": proof_shown is not None and proof_shown.version < view.facts.last,
    }
    return Tab(
        values if proof_shown is None else values | listed(place_listing(proof_shown.places), address), needs_spark=True
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """One of the requests that were searched together, and what was found."""

    where: str
    found: ErasureView


def _requests(address: Address) -> tuple[str, ...]:
    """Return the conditions that are searched in one pass, each once; the one that is shown is among them."""
    where = address.where.strip()
    together = _lines(address.requests)
    if where in together:
        return together
    return (where,) if where else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _due(address: Address) -> date | None:
    try:
        return date.fromisoformat(address.due) if address.due else None
    except ValueError:
        raise RequestError(f"due={address.due} is not a date. Give it as 2026-12-06.", field="due") from None


def _required(view: TableView, address: Address, work: WindowWork) -> Erasure:
    proofs = work.of(ErasureDesk).proofs(view.facts, _requests(address))
    if not proofs:
        raise RequestError("Nothing has been searched yet.", field="list")
    return proofs[address.where.strip()]


def _places(view: TableView, address: Address, work: WindowWork) -> Listing:
    return arranged(place_listing(_required(view, address, work).places), address)


def _proof(view: TableView, address: Address, work: WindowWork) -> Document:
    name = f"{view.facts.name}-erasure"
    return Document(name, "proof", msgspec.to_builtins(erasure_document(_required(view, address, work))))


def _statement(view: TableView, address: Address, work: WindowWork) -> Document:
    stated = _stated(view, address, work)
    name = f"{view.facts.name}-erasure-statement"
    return Document(name, "statement", msgspec.to_builtins(stated), compact=True, key=work.key)


def _statement_page(view: TableView, address: Address, work: WindowWork) -> Page:
    return Page(f"{view.facts.name}-erasure-statement", "statement", render(_stated(view, address, work)), work.key)


def _stated(view: TableView, address: Address, work: WindowWork) -> ErasureStatement:
    person = work.of(ActDesk).person
    return erasure_statement(
        _required(view, address, work),
        view.facts.log,
        by=person or None,
        request=address.reference or None,
        signer=work.signer,
    )


def _messages(window: Window) -> Mapping[str, Handler]:
    return {"erasure": partial(_search, window), "erasure-cancel": partial(_cancel, window)}


def _search(window: Window, message: Message) -> None:
    requests = _lines(message.text("where", LONGEST_QUESTION))
    answers = {
        "where": requests[0] if requests else "",
        "requests": "\n".join(requests) if len(requests) > 1 else "",
        # A name is of one request: each of several has its own statement.
        "reference": message.text("reference").strip() if len(requests) == 1 else "",
        "due": message.text("due"),
    }
    begin_reading(window, message, _start(window), answers)


def _start(window: Window) -> Any:
    return lambda view, address: window.work.of(ErasureDesk).start(view.facts, _requests(address))


def _cancel(window: Window, message: Message) -> None:
    window.work.of(ErasureDesk).stop_reading()
    window.answer(message)


TAB = TabSpec(
    "erasure",
    "Erasure",
    "erasure",
    _erasure,
    exports={
        "erasure": _places,
        "erasure-proof": _proof,
        "erasure-statement": _statement,
        "erasure-page": _statement_page,
    },
    messages=_messages,
    work=lambda window: ErasureDesk(window.changed, window.tables.beside),
)
