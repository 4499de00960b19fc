"""The Erasure tab: where some rows physically are, what is left to do, from when each copy can be gone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.auditing.erasure import Erasure, Neighbour, erasure_document
from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import encode_json
from explorer.core.versions.commits.time_words import stated_time
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.kept_results import LIFETIME, KeptResult, KeptResults
from explorer.page.tab_spec import Document, Page, Tab, TabSpec, arranged, listed
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.report import ErasureStatement, erasure_statement, render
from explorer.views import TableView
from explorer.views.erasure_view import ErasureView, erasure_view, place_listing
from explorer.views.listing import Listing
from explorer.views.rows.spark_work import SparkWork, WorkState, engine_state, start_notice

if TYPE_CHECKING:
    from explorer.job import Job
    from explorer.views.table.facts import TableFacts


class ErasureDesk:
    """At most one search for one window.

    Args:
        changed: Called, on any thread, when something else is to be shown.
        beside: Returns the tables beside those of the window, and where these are all there are.
        kept: Results that people share; None where nobody else can open an address.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        other_tables: Callable[[], tuple[Iterable[Neighbour], tuple[str, ...]]],
        kept: KeptResults | None = None,
    ) -> None:
        self._other_tables, self._kept = other_tables, kept
        self._work: SparkWork[dict[str, Erasure]] = SparkWork(changed)

    def start(self, facts: TableFacts, requests: Sequence[str]) -> None:
        """Begin to search for the rows of some conditions, in one pass over the files; a running search is stopped.

        Raises:
            RequestError: There is no condition.
        """
        if not requests:
            raise RequestError("Enter a condition for the rows, such as customer_id = 'C-1'.", field="where")
        self._work.begin(_key(facts, requests), lambda: self._begin(facts, requests))

    def stop_reading(self) -> None:
        """Stop a running search."""
        self._work.cancel()

    def state(self, facts: TableFacts, requests: Sequence[str]) -> WorkState:
        """Return how far the search for the rows of some conditions on a table is; idle if it is another one."""
        return self._work.state_of(_key(facts, requests))

    def _begin(self, facts: TableFacts, requests: Sequence[str]) -> Job[dict[str, Erasure]]:
        from explorer.auditing.erasure.search import erasure_job

        others, looked_in = self._other_tables()
        predicates = {where: where for where in requests}
        return erasure_job(facts.log, predicates, datetime.now(UTC), others=others, looked_in=looked_in)

    def proofs(self, facts: TableFacts, requests: Sequence[str], shared: str = "") -> Mapping[str, Erasure] | None:
        """Return the proof of each of some conditions on a table, if these are what was searched.

        Args:
            facts: The table.
            requests: The conditions.
            shared: The ID of a result that somebody shared, which counts unless this window has searched.
        """
        key = _key(facts, requests)
        own = self._work.about(key)
        kept = self.kept(facts, requests, shared)
        if own is not None or kept is None:
            return own
        assert isinstance(kept.value, dict), "what is kept about a search are its proofs"
        return kept.value

    def kept(self, facts: TableFacts, requests: Sequence[str], shared: str) -> KeptResult | None:
        """Return the result that somebody shared, if it is about this; None if it has expired."""
        return self._kept.find(shared, _key(facts, requests)) if self._kept is not None and shared else None

    @property
    def shares(self) -> bool:
        """Whether others can open a result."""
        return self._kept is not None

    def share(self, facts: TableFacts, requests: Sequence[str]) -> str:
        """Keep what was searched for others; return the ID.

        Raises:
            RequestError: Nothing was searched, or it is too large to be kept.
        """
        proofs = self._work.about(_key(facts, requests))
        if self._kept is None or not proofs:
            raise RequestError("There is no result to share. Search first.", field="result")
        size = sum(len(encode_json(erasure_document(proof))) for proof in proofs.values())
        id_ = self._kept.keep(_key(facts, requests), dict(proofs), size)
        if id_ is None:
            raise RequestError(
                "This result is too large to be kept here. Download the statement, and hand that on.", field="result"
            )
        return id_


def _key(facts: TableFacts, requests: Sequence[str]) -> Hashable:
    return facts.place, facts.snapshot(facts.last).metadata.id, tuple(requests)


def _erasure(view: TableView, address: Address, work: WindowWork) -> Tab:
    desk, requests = work.of(ErasureDesk), _requests(address)
    proofs = desk.proofs(view.facts, requests, address.result) or {}
    kept = desk.kept(view.facts, requests, address.result)
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
        "result": None if proof_shown is None else erasure_view(proof_shown, _due(address.due, view.facts.now())),
        "newest": view.facts.last,
        "shares": desk.shares,
        "kept_until": None if kept is None else kept.until,
        "expired": bool(address.result) and kept is None and desk.shares,
        "kept_days": LIFETIME.days,
        "outdated": proof_shown is not None and proof_shown.version < view.facts.last,
    }
    return Tab(
        values if proof_shown is None else values | listed(place_listing(proof_shown.places), address), needs_spark=True
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """One of the requests of a search, and its result."""

    where: str
    result: ErasureView


def _requests(address: Address) -> tuple[str, ...]:
    """Return the conditions that are searched in one pass, each once; the one that is shown is among them."""
    where = address.where.strip()
    together = _lines(address.requests)
    if where in together:
        return together
    return (where,) if where else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _due(text: str, now: datetime) -> date | None:
    """Return the day that a person names, in words or by its date; None for no text.

    Raises:
        RequestError: It is no day, or more than one.
    """
    if not text.strip():
        return None
    try:
        return stated_time(text, now).moment.date()
    except RequestError as error:
        raise error.with_facts(field="due") from error


def _required(view: TableView, address: Address, work: WindowWork) -> Erasure:
    proofs = work.of(ErasureDesk).proofs(view.facts, _requests(address), address.result)
    if not proofs:
        raise RequestError("Nothing has been searched yet.", field="list")
    return proofs[address.where.strip()]


def _places(view: TableView, address: Address, work: WindowWork) -> Listing:
    return arranged(place_listing(_required(view, address, work).places), address)


def _proof(view: TableView, address: Address, work: WindowWork) -> Document:
    name = f"{view.facts.name}-erasure"
    return Document(name, "proof", erasure_document(_required(view, address, work)))


def _statement(view: TableView, address: Address, work: WindowWork) -> Document:
    stated = _stated(view, address, work)
    name = f"{view.facts.name}-erasure-statement"
    return Document(name, "statement", stated, compact=True, key=work.key)


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
    return {
        "erasure": partial(_search, window),
        "erasure-cancel": partial(_cancel, window),
        "erasure-share": partial(_share, window),
    }


def _search(window: Window, message: Message) -> None:
    requests = _lines(message.text("where", LONGEST_QUESTION))
    due = None if window.view is None else _due(message.text("due"), window.view.facts.now())
    answers = {
        "where": requests[0] if requests else "",
        "requests": "\n".join(requests) if len(requests) > 1 else "",
        # A name is of one request: each of several has its own statement.
        "reference": message.text("reference").strip() if len(requests) == 1 else "",
        "due": "" if due is None else due.isoformat(),
        "result": "",
    }
    begin_reading(window, message, _start(window), answers)


def _start(window: Window) -> Any:
    return lambda view, address: window.work.of(ErasureDesk).start(view.facts, _requests(address))


def _share(window: Window, message: Message) -> None:
    """Keep the result for others, and put its ID into the address."""
    if window.view is None:
        window.answer(message)
        return
    address = Address.parse(window.query)
    window.query = address.to(result=window.work.of(ErasureDesk).share(window.view.facts, _requests(address)))
    window.answer(message, query=window.query)
    window.redraw()


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
    work=lambda window: ErasureDesk(window.changed, window.tables.beside, window.tables.kept),
)
