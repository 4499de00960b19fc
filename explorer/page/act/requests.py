"""Requests for approval in the Edit tab of one window: what a person asks, approves, declines, or withdraws.

Drawing reads the shelf and begins no work. Handlers run on the loop and hand to a thread what makes a plan again. What
is allowed is decided by `explorer.page.approvals.Approvals`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from explorer.approvals.request import LONGEST_TEXT, ApprovalRequest
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.transaction.commit_plan import Plan
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.approvals import Approvals, ShownRequest
from explorer.page.window import Handler, Message, Window
from explorer.views import TableView
from explorer.views.act.desk.state import Ready
from explorer.views.act.request_view import RequestLine, request_line, request_view
from explorer.views.problems import Problem, problem_of

_MOST_SHOWN: Final = 50
_MOST_OPEN: Final = 8
_NO_APPROVALS: Final = (
    "No change on this server needs approval by a second person. [[two_people]] in its configuration sets which do."
)


@dataclass(frozen=True, slots=True)
class ApprovalNeed:
    """What a plan needs before its commit.

    Attributes:
        needed: A second person must approve it.
        request: The open request for it; None where nobody asked yet.
        by_itself: The program commits it, once it is approved.
        why_not: Why the person cannot ask; empty if that is possible.
    """

    needed: bool = False
    request: ApprovalRequest | None = None
    by_itself: bool = False
    why_not: str = ""

    @property
    def granted(self) -> bool:
        """Whether it can be committed now."""
        return not self.needed or (self.request is not None and self.request.state == "approved")


class RequestDesk:
    """The requests as a window shows them, and what is under way.

    Args:
        approvals: The requests; None where no change needs a second person.
    """

    def __init__(self, approvals: Approvals | None) -> None:
        self.approvals = approvals
        self.busy: int | None = None
        self._problem: tuple[int, Problem] | None = None

    def stop_reading(self) -> None:
        """Stop nothing: what is decided is decided."""

    def needed_approvals(self) -> Approvals:
        """Return the requests.

        Raises:
            RequestError: No change here needs a second person.
        """
        if self.approvals is None:
            raise RequestError(_NO_APPROVALS, field="request")
        return self.approvals

    def approval_need(self, name: str, plan: Plan) -> ApprovalNeed:
        """Return what a plan needs before its commit."""
        approvals = self.approvals
        if approvals is None or (rule := approvals.rule(name, plan)) is None:
            return ApprovalNeed()
        why_not = "" if approvals.person is not None else "Sign in to ask for approval: nothing here identifies you."
        return ApprovalNeed(True, approvals.open_request(name, plan), rule.commits == "itself", why_not)

    def only_decides(self, name: str) -> bool:
        """Return whether the person sees the requests of a table and plans none of its changes."""
        return self.approvals is not None and not self.approvals.may_plan(name)

    def open_lines(self, name: str) -> list[RequestLine]:
        """Return the open requests of a table, newest first."""
        if self.approvals is None:
            return []
        open_requests = [shown for shown in self.approvals.requests(name) if shown.request.is_open]
        return [request_line(shown.request, name) for shown in open_requests[:_MOST_OPEN]]

    def page(self, view: TableView, address: Address) -> tuple[str, dict[str, Any]]:
        """Return the template of the requests of a table, or of one of them, and its values."""
        approvals, name = self.needed_approvals(), address.table
        if not address.request:
            lines = [request_line(shown.request, name) for shown in approvals.requests(name)[:_MOST_SHOWN]]
            return "act-requests", {"lines": lines, "may_plan": approvals.may_plan(name), "newest": view.facts.last}
        shown = approvals.request(name, number_of(address))
        problem = self._problem[1] if self._problem is not None and self._problem[0] == shown.request.number else None
        return "act-request", _values(view, address, shown) | {
            "busy": self.busy == shown.request.number,
            "problem": problem,
        }

    def work(self, number: int, call: Callable[[], object]) -> None:
        """Do what a person decided of a request; what it raises is shown on its page."""
        self._problem = None
        try:
            call()
        except ExplorerError as error:
            self._problem = number, problem_of(error)
        finally:
            self.busy = None


def number_of(address: Address) -> int:
    """Return the number of the request in an address.

    Raises:
        RequestError: It is no number.
    """
    text = address.request
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise RequestError(f"request={text[:40]} is not the number of a request.", field="request")
    return int(text)


def _values(view: TableView, address: Address, shown: ShownRequest) -> dict[str, Any]:
    request = shown.request
    shown_request = request_view(request, shown.name)
    plan_href = None
    if shown_request.answers is not None:
        plain = replace(address, act=request.kind, step="plan", answers=shown_request.answers, back="", request="")
        plan_href = plain.to(tab="act", version=None, compared=None)
    return {
        "request": request,
        "found": shown_request,
        "is_own": shown.is_own,
        "why_not": shown.why_not,
        "damage": shown.damage,
        "plan_href": plan_href,
        "newest": view.facts.last,
    }


def messages(window: Window) -> Mapping[str, Handler]:
    """Return the messages about requests that the Edit tab handles for a window."""
    heard = RequestMessages(window)
    return {
        "request-ask": heard.ask,
        "request-approve": heard.approve,
        "request-decline": heard.decline,
        "request-withdraw": heard.withdraw,
    }


class RequestMessages:
    """The handlers of one window."""

    def __init__(self, window: Window) -> None:
        self._window = window

    @property
    def _desk(self) -> RequestDesk:
        return self._window.work.of(RequestDesk)

    def ask(self, message: Message) -> None:
        """Ask for the approval of the plan that was shown."""
        window, approvals = self._window, self._desk.needed_approvals()
        state = window.work.of(ActDesk).state
        if not isinstance(state, Ready):
            raise RequestError("There is no plan to approve. Make one first.", field="plan")
        plan, name = state.draft.plan, state.draft.question.table
        if message.text("digest") != plan.digest:
            raise RequestError("The plan has changed since it was shown. Read it again.", field="digest")
        reason = message.text("reason", LONGEST_TEXT)

        def asked(request: ApprovalRequest) -> None:
            window.query = Address.parse(window.query).request_of(request.number)
            window.answer(message, query=window.query)
            window.redraw()

        window.compute(message, lambda: approvals.ask(name, plan, reason), asked)

    def approve(self, message: Message) -> None:
        """Approve the request that is shown: its plan is made again first."""
        name, number, note = self._named(message)
        shown, approvals = message.text("digest"), self._desk.needed_approvals()
        self._do(message, number, lambda: approvals.approve(name, number, note, shown))

    def decline(self, message: Message) -> None:
        """Decline the request that is shown."""
        name, number, note = self._named(message)
        approvals = self._desk.needed_approvals()
        self._do(message, number, lambda: approvals.decline(name, number, note))

    def withdraw(self, message: Message) -> None:
        """Withdraw the request that is shown."""
        name, number, _ = self._named(message)
        approvals = self._desk.needed_approvals()
        self._do(message, number, lambda: approvals.withdraw(name, number))

    def _named(self, message: Message) -> tuple[str, int, str]:
        """Return the table, the number of the request in the address, and the note; another number was not shown."""
        address = Address.parse(self._window.query)
        number = number_of(address)
        if message.text("request") != str(number):
            raise RequestError("Another request was shown. Reload the page and read it again.", field="request")
        return address.table, number, message.text("note", LONGEST_TEXT)

    def _do(self, message: Message, number: int, call: Callable[[], object]) -> None:
        desk, window = self._desk, self._window
        if desk.busy is not None:
            window.answer(message)
            return
        desk.busy = number

        def ended(_: None) -> None:
            window.answer(message)
            window.redraw()

        window.compute(message, lambda: desk.work(number, call), ended)
        window.redraw()
