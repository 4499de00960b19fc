"""The open requests for approval on the list of tables: those that this person can decide come first."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.core.errors import ExplorerError
from explorer.page.address import Address
from explorer.page.approvals import Approvals
from explorer.views.act.request_view import RequestLine, request_line

_MOST = 12


@dataclass(frozen=True, slots=True)
class HomeRequest:
    """A request on the list of tables.

    Attributes:
        line: The request.
        href: Its address.
        decides: The person can approve or decline it now.
    """

    line: RequestLine
    href: str
    decides: bool


@dataclass(frozen=True, slots=True)
class HomeRequests:
    """The open requests.

    Attributes:
        lines: Those that are shown.
        deciding: How many of all wait for this person.
        more: Whether there are others.
        trouble: Why there is no list; empty if there is one.
    """

    lines: tuple[HomeRequest, ...] = ()
    deciding: int = 0
    more: bool = False
    trouble: str = ""


def home_requests(approvals: Approvals | None) -> HomeRequests:
    """Return the open requests that a person may see; none where no change needs a second person."""
    if approvals is None:
        return HomeRequests()
    try:
        open_requests = [shown for shown in approvals.requests() if shown.request.is_open]
    except ExplorerError as error:
        return HomeRequests(trouble=str(error))
    lines = [
        HomeRequest(
            request_line(shown.request, shown.name),
            Address(table=shown.name).request_of(shown.request.number),
            shown.request.state == "asked" and not shown.why_not,
        )
        for shown in open_requests
    ]
    lines.sort(key=lambda item: not item.decides)
    return HomeRequests(tuple(lines[:_MOST]), sum(item.decides for item in lines), len(lines) > _MOST)
