"""What a page knows of approvals: which plans need a second person, and the requests of one person's window.

Every method that takes a name raises what `explorer.page.tables.Tables` raises for one that leads nowhere. Whether a
person may do what is asked is decided where it is done, never by what a page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from explorer.approvals.person import Person
from explorer.approvals.request import ApprovalRequest
from explorer.approvals.rules import ApprovalRule
from explorer.core.transaction.commit_plan import Plan


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request, as one person sees it.

    Attributes:
        request: The request.
        name: The served name of its table.
        is_own: The person asked.
        why_not: Why the person cannot approve or decline it; empty if that is possible.
        damage: Why it counts for nothing; empty if it is as the record says.
    """

    request: ApprovalRequest
    name: str
    is_own: bool
    why_not: str
    damage: str = ""


class Approvals(Protocol):
    """The requests of a server, as one person may use them.

    Attributes:
        person: The person; None for somebody without an identity.
    """

    person: Person | None

    def rule(self, name: str, plan: Plan) -> ApprovalRule | None:
        """Return the rule by which a plan needs a second person; None where it needs none."""

    def open_request(self, name: str, plan: Plan) -> ApprovalRequest | None:
        """Return the open request of this person for the change of a plan; None without one."""

    def requests(self, name: str = "") -> Sequence[ShownRequest]:
        """Return the requests of a table, or of all tables, as far as the person may see them, the newest first."""

    def request(self, name: str, number: int) -> ShownRequest:
        """Return a request of a table."""

    def ask(self, name: str, plan: Plan, reason: str) -> ApprovalRequest:
        """Ask for the approval of a plan."""

    def approve(self, name: str, number: int, note: str, shown: str) -> ApprovalRequest:
        """Approve a request, after its plan was made again; and commit it, if the program is to do that by itself."""

    def decline(self, name: str, number: int, note: str) -> ApprovalRequest:
        """Decline a request."""

    def withdraw(self, name: str, number: int) -> ApprovalRequest:
        """Withdraw a request of one's own."""

    def may_plan(self, name: str) -> bool:
        """Return whether the person may plan changes of a table."""
