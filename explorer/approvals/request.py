"""A request for approval: the plan that is asked for, the people, and the states that it goes through.

Invariant: `STEPS` is the whole machine; a step that does not apply to the state of a request is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from explorer.approvals.person import Person
from explorer.approvals.rules import Committer
from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.transaction.approval import Approval
from explorer.core.transaction.commit_plan import Consequences
from explorer.core.transaction.proposal import Estimate, GuardResult
from explorer.rights import NEEDS_APPROVAL

State: TypeAlias = Literal["asked", "approved", "committing", "committed", "declined", "withdrawn", "stale"]
STATES: Final[tuple[str, ...]] = get_args(State)
OPEN: Final = frozenset({"asked", "approved", "committing"})
"""The states in which a request still leads to a commit."""
STEPS: Final[Mapping[str, Mapping[str, State]]] = {
    "approved": {"asked": "approved"},
    "declined": {"asked": "declined"},
    "withdrawn": {"asked": "withdrawn", "approved": "withdrawn"},
    "stale": {"asked": "stale", "approved": "stale", "committing": "stale"},
    "begun": {"approved": "committing", "committing": "committing"},
    "failed": {"committing": "approved"},
    "committed": {"committing": "committed"},
}
"""What happens to a request: the state that it leads to, by the state before."""
DIFFERENT_CLOCKS: Final = timedelta(minutes=5)
"""How far in the future of this clock a time may be that another one wrote."""
LONGEST_TEXT: Final = 4_000


class Step(JsonRecord, frozen=True, kw_only=True):
    """What happened to a request.

    Attributes:
        what: ``asked``, or one of `STEPS`.
        time: When, as ISO 8601 in UTC.
        by: Who; null for the program.
        note: Why, in that person's words; or what changed, of a stale request.
        changed: Which answers changed, of a stale request: names of
            `explorer.core.transaction.approval.ChangedAnswer`, such as ``source``.
    """

    what: str
    time: str
    by: Person | None = None
    note: str = ""
    changed: tuple[str, ...] = ()


class ApprovalRequest(JsonRecord, frozen=True, kw_only=True):
    """A request for approval.

    Attributes:
        number: Its number on the shelf, from 1.
        token: What tells it from a request of the same number on another shelf.
        table: The served name of the table, or its location where it has none.
        location: The table's root as a URL.
        kind, intent, accepted, checked_rows: What is asked for, as it is planned again; whether Spark checks rows.
        read_version: The version for which it was planned.
        plan_digest: The digest of that plan.
        answers: What of it is approved; see `explorer.core.transaction.approval`.
        guards, consequences, estimate: The plan as it was asked for.
        reason: Why; the reason of the commit.
        asked_by: Who asked, and commits.
        commits: Who commits it once it is approved.
        valid_until: Until when it can be approved and committed, as ISO 8601 in UTC.
        state: Where it is.
        steps: What happened, the oldest first.
        approved_by: Who approved it; null before that.
        transaction: The ``txnId`` of a commit that was begun; null for none, and for maintenance.
        version: The version that was committed; null before that, and for maintenance that writes none.
    """

    number: int
    token: str
    table: str
    location: str
    kind: str
    intent: JsonObject
    accepted: tuple[str, ...]
    checked_rows: bool
    read_version: int
    plan_digest: str
    answers: JsonObject
    guards: tuple[GuardResult, ...]
    consequences: Consequences
    estimate: Estimate | None
    reason: str
    asked_by: Person
    commits: Committer
    valid_until: str
    state: State
    steps: tuple[Step, ...]
    approved_by: Person | None = None
    transaction: str | None = None
    version: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it can still lead to a commit."""
        return self.state in OPEN

    @property
    def asked_at(self) -> datetime:
        """When it was asked."""
        return datetime.fromisoformat(self.steps[0].time)

    @property
    def last(self) -> Step:
        """What happened last."""
        return self.steps[-1]

    @property
    def approval(self) -> Approval:
        """The approval under which its plan is committed.

        Raises:
            NotAllowed: It is not approved.
        """
        if self.approved_by is None or self.state not in ("approved", "committing"):
            raise NotAllowed(f"Request {self.number} is not approved; it is {self.state}.", reason=NEEDS_APPROVAL)
        return Approval(
            request=self.number,
            asked_by=self.asked_by.name,
            approved_by=self.approved_by.name,
            reason=self.reason,
            digest=self.plan_digest,
            answers=self.answers,
        )

    def after(self, step: Step) -> ApprovalRequest:
        """Return the request after a step.

        Raises:
            RequestError: It does not apply to its state.
        """
        state = STEPS[step.what].get(self.state)
        if state is None:
            raise RequestError(
                f"Request {self.number} is {self.state}{_by(self.last)}, so it can no longer be {_DONE[step.what]}. "
                "Read it again.",
                field="request",
            )
        changed = msgspec.structs.replace(self, state=state, steps=(*self.steps, step))
        return msgspec.structs.replace(changed, approved_by=step.by) if step.what == "approved" else changed

    def check_time(self, now: datetime) -> None:
        """Check that it can still be approved and committed.

        Raises:
            RequestError: It was asked too long ago, or the clocks of two machines differ.
        """
        newest = max(datetime.fromisoformat(step.time) for step in self.steps)
        if newest - now > DIFFERENT_CLOCKS:
            raise RequestError(
                f"Request {self.number} was changed at {newest:%Y-%m-%d %H:%M} UTC, and the clock of this machine says "
                f"{now:%Y-%m-%d %H:%M} UTC. Correct the clock that is wrong, then try again.",
                field="clock",
            )
        if now > (ends := datetime.fromisoformat(self.valid_until)):
            raise RequestError(
                f"Request {self.number} expired at {ends:%Y-%m-%d %H:%M} UTC. Ask again.",
                field="request",
            )


def encoded(request: ApprovalRequest) -> bytes:
    """Return the content of the file of a request."""
    return msgspec.json.encode(request, order="deterministic")


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of the content of the file of a request."""
    return hashlib.sha256(content).hexdigest()


_DONE: Final = {
    "approved": "approved",
    "declined": "declined",
    "withdrawn": "withdrawn",
    "stale": "made stale",
    "begun": "committed",
    "failed": "approved again",
    "committed": "committed",
}


def _by(step: Step) -> str:
    return "" if step.by is None else f" by {step.by.name}"
