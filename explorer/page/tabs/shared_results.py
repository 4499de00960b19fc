"""Long searches that a person shares: what one window has read is kept under an ID that the address of a page names.

Invariants: only what was read is kept, with what it is about (the table by its place and ID, the versions, the
question); a window shows it on a page that asks the same, to whoever may read the rows of that table, and reads
nothing for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import msgspec
import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.page.address import Address
from explorer.page.kept_results import LIFETIME, KeptResults
from explorer.page.window import Handler, Message, Window
from explorer.views import TableView
from explorer.views.rows.spark_work import Shareable

_SMALL: Final = 64


class SharingWork(Protocol):
    """The work of a tab in one window whose result can be shared."""

    @property
    def kept(self) -> KeptResults | None:
        """Results that people share; None where nobody else can open an address."""

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the result as others can open it."""


@dataclass(frozen=True, slots=True)
class SharedState:
    """What a page says of sharing a result.

    Attributes:
        message: The message that shares it; empty where there is no result, or nobody else can open an address.
        until: Until when the result on show is kept for others; None where it is not.
        expired: The address names a result that is not kept any more.
        days: How long results are kept.
    """

    message: str = ""
    until: datetime | None = None
    expired: bool = False
    days: int = LIFETIME.days


def shared_state(result: Shareable, kept: KeptResults | None, address: Address) -> SharedState:
    """Take over the result that an address names, if this window has none of its own, and say what can be shared."""
    kind = result.kind
    if kept is None:
        return SharedState()
    named = address.result if address.result.startswith(f"{kind}-") else ""
    shared = kept.find(named, result.about) if named else None
    if shared is not None and result.value is None:
        result.adopt(shared.value)
    there = shared is not None or result.value is not None
    return SharedState(
        message=f"{kind}-share" if there else "",
        until=None if shared is None else shared.until,
        expired=bool(named) and shared is None,
    )


def share_handlers(window: Window, kind: str, work: SharingWork) -> Mapping[str, Handler]:
    """Return the handler of the message that keeps a result for others, and puts its ID into the address."""

    def share(message: Message) -> None:
        if window.view is None:
            window.answer(message)
        else:
            share_result(window, message, work.shareable(window.view, Address.parse(window.query)), work.kept)

    return {f"{kind}-share": share}


def share_result(window: Window, message: Message, result: Shareable, kept: KeptResults | None) -> None:
    """Keep a result for others, put its ID into the address, and answer the message that asked for it.

    Raises:
        RequestError: Nothing was read, or it is too large to be kept.
    """
    window.query = Address.parse(window.query).to(**dict(result.pins), result=_keep(result, kept))
    window.answer(message, query=window.query)
    window.redraw()


def _keep(result: Shareable, kept: KeptResults | None) -> str:
    """Keep what was read for others; return the ID.

    Raises:
        RequestError: Nothing was read, or it is too large to be kept.
    """
    if kept is None or result.value is None:
        raise RequestError("There is no result to share. Read it first.", field="result")
    id_ = kept.keep(result.about, result.value, size_of(result.value), kind=result.kind)
    if id_ is None:
        raise RequestError("This result is too large to be kept here. Export it, and hand the file on.", field="result")
    return id_


def size_of(value: object) -> int:
    """Return about how many bytes a result takes: that of its columns and texts, and a little for each other value."""
    match value:
        case pa.Table() | pa.RecordBatch() | pa.Array() | pa.ChunkedArray():
            return int(value.nbytes)
        case str() | bytes():
            return _SMALL + len(value)
        case Mapping():
            return _SMALL + sum(size_of(key) + size_of(each) for key, each in value.items())
        case list() | tuple() | set() | frozenset():
            return _SMALL + sum(map(size_of, value))
        case msgspec.Struct():
            return _SMALL + sum(size_of(getattr(value, name)) for name in value.__struct_fields__)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _SMALL + sum(size_of(getattr(value, field.name)) for field in dataclasses.fields(value))
        case _:
            return _SMALL
