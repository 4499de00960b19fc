"""What one person does with requests: ask, approve, decline, withdraw, and commit under an approval.

Everything is decided here, for the pages and for the command line: who may, on which plan, and what comes of it. What
takes long (a plan made again) is done outside of the lock of the shelf, and the state is looked at once more under it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from explorer.activity.event import Event
from explorer.approvals.person import Person, is_same_person
from explorer.approvals.request import LONGEST_TEXT, ApprovalRequest, Step
from explorer.approvals.rules import ApprovalRule, Rules
from explorer.approvals.shelf import Announce, Claim, Shelf
from explorer.core.errors import CommitUnknown, ExplorerError, NotAllowed, RequestError
from explorer.core.transaction.approval import GUARD as APPROVAL_GUARD
from explorer.core.transaction.approval import Approval, ChangedAnswer, answers_of_plan, changed_answers, names_of
from explorer.core.transaction.commit_plan import CommitPlan, Plan, PlanResult
from explorer.core.transaction.intents.documents import intent_document, intent_kind
from explorer.core.transaction.proposal import SOURCE_UNCHANGED
from explorer.rights import NEEDS_APPROVAL, Place, Right

_log = logging.getLogger(__name__)
_PATIENCE: Final = timedelta(minutes=10)
"""How long a commit that was begun is given before it counts as interrupted."""
May = Callable[[Right, Place, Person], bool]
"""Says whether a person has a right at a place now."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table, as requests name it.

    Attributes:
        name: Its served name; its location where it has none.
        place: Where it is, for rules and rights.
    """

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to commit one plan, once: the request that was taken for it, its approval, and the claim on it."""

    request: ApprovalRequest
    approval: Approval
    claim: Claim


class Decisions:
    """The requests of a shelf, as one person may use them.

    Args:
        shelf: The shelf.
        rules: Which changes need a second person.
        person: Who acts; None for somebody without an identity.
        may: Says what people may.
        announce: Writes entries of the activity record, of this person.
        clock: Returns the time.

    Attributes:
        shelf, rules, person: As given.
    """

    def __init__(
        self,
        shelf: Shelf,
        rules: Rules,
        person: Person | None,
        *,
        may: May,
        announce: Announce,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.shelf, self.rules, self.person = shelf, rules, person
        self._may, self._announce, self._clock = may, announce, clock

    def rule_of(self, target: Target, plan: Plan) -> ApprovalRule | None:
        """Return the rule by which a plan needs a second person; None where it needs none."""
        return self.rules.of(target.place, intent_kind(plan.intent))

    # --- asking

    def ask(self, target: Target, plan: Plan, reason: str) -> ApprovalRequest:
        """Ask for the approval of a plan.

        Raises:
            NotAllowed: The person has no identity, or may not commit.
            RequestError: The plan needs no second person, cannot be committed, or has no reason; or nothing can say
                that the source of its rows stays as it is.
            StorageError: The source cannot be read, or the request not be written.
        """
        person = self._identified("ask for an approval")
        rule = self.rule_of(target, plan)
        if rule is None:
            raise RequestError("This change does not need approval. Commit it.", field="plan")
        if not self._may(Right.COMMIT, target.place, person):
            raise NotAllowed("You may not plan and commit changes to this table, so you cannot ask for approval.")
        if not (reason := reason.strip()[:LONGEST_TEXT]):
            raise RequestError("Give a reason. The commit records it.", field="reason")
        if not plan.committable:
            names = ", ".join(guard.name for guard in plan.blocking)
            raise RequestError(f"The plan cannot be committed: {names}. Ask when no guard blocks it.", field="plan")
        if plan.nothing_to_do:
            raise RequestError("There is nothing to commit, so there is nothing to approve.", field="plan")
        now = self._clock()
        # Before the lock of the shelf: the source of the rows is read here.
        record, answers = plan.record(), answers_of_plan(plan)
        estimate = record.estimate

        def make(number: int) -> ApprovalRequest:
            return ApprovalRequest(
                number=number,
                token=secrets.token_hex(8),
                table=target.name,
                location=plan.table,
                kind=intent_kind(plan.intent),
                intent=intent_document(plan.intent),
                accepted=plan.accepted,
                checked_rows=isinstance(plan, CommitPlan) and plan.checked_rows,
                read_version=plan.read_version,
                plan_digest=plan.digest,
                answers=answers,
                guards=plan.guards,
                consequences=plan.consequences,
                estimate=None if isinstance(estimate, msgspec.UnsetType) else estimate,
                reason=reason,
                asked_by=person,
                commits=rule.commits,
                valid_until=_text(now + timedelta(days=self.rules.valid_days)),
                state="asked",
                steps=(Step(what="asked", time=_text(now), by=person, note=reason),),
            )

        return self.shelf.create(make, self._announce, Event(kind="approval"))

    # --- deciding

    def why_not_decide(self, request: ApprovalRequest, place: Place) -> str:
        """Return why the person cannot approve or decline a request; empty if that is possible."""
        if self.person is None:
            return _NO_IDENTITY.format("approve a change")
        if self.person.key == request.asked_by.key:
            return "You asked for this change, so another person must approve it."
        if is_same_person(self.person, request.asked_by, self.rules.accounts):
            return (
                f"{request.asked_by.name} asked for this change, and counts as the same person as you. Another person "
                "must approve it."
            )
        return "" if self._may(Right.APPROVE, place, self.person) else "You may not approve changes to this table."

    def approve(
        self, number: int, note: str, place: Place, remake: Callable[[ApprovalRequest], Plan], *, shown: str = ""
    ) -> ApprovalRequest:
        """Approve a request, once its plan was made again on the newest version and answers as it did.

        Args:
            number: The request.
            note: Why, or on which condition; may be empty.
            place: Where its table is.
            remake: Makes the plan again; may take long.
            shown: The digest of the plan that the person was shown, which must be that of the request.

        Returns:
            The request: approved, or stale with what changed.

        Raises:
            NotAllowed: The person may not approve it.
            RequestError: It is not open any more, or too old.
        """
        request = self.shelf.get(number)
        self._check_decides(request, place, "approved")
        if shown and shown != request.plan_digest:
            raise RequestError("Another request was shown. Reload the page and read it again.", field="digest")
        changes = self._changes(request, remake)
        step = self._stale(changes) if changes else self._step("approved", note)

        def change(now: ApprovalRequest) -> ApprovalRequest:
            self._check_decides(now, place, step.what)
            return now.after(step)

        return self._change(request, change)

    def decline(self, number: int, note: str, place: Place) -> ApprovalRequest:
        """Decline a request.

        Raises:
            NotAllowed: The person may not.
            RequestError: It is not open any more, or there is no note.
        """
        if not note.strip():
            raise RequestError("Give a reason for declining it, so that the next plan can be better.", field="note")

        def change(now: ApprovalRequest) -> ApprovalRequest:
            self._check_decides(now, place, "declined")
            return now.after(self._step("declined", note))

        return self._change(self.shelf.get(number), change)

    def withdraw(self, number: int, note: str = "") -> ApprovalRequest:
        """Withdraw a request of one's own.

        Raises:
            NotAllowed: Somebody else asked.
            RequestError: It is not open any more.
        """
        person = self._identified("withdraw a request")

        def change(now: ApprovalRequest) -> ApprovalRequest:
            if now.asked_by.key != person.key:
                raise NotAllowed(f"Only {now.asked_by.name}, who asked for this change, can withdraw it.")
            return now.after(self._step("withdrawn", note))

        return self._change(self.shelf.get(number), change)

    # --- committing

    def approved_for(self, plan: Plan) -> ApprovalRequest | None:
        """Return the open request of this person for the same change as a plan, the furthest one; None without one."""
        person = self.person
        if person is None:
            return None
        requests = [request for request in self.shelf.all() if request.is_open and _is_for(request, plan, person)]
        requests.sort(key=lambda request: (request.state != "asked", request.number))
        return requests[-1] if requests else None

    def permit(self, target: Target, plan: Plan) -> Permit | None:
        """Take the approval of a plan for its commit, so that no other commit can use it.

        Returns:
            The permit; None where the plan needs no second person.

        Raises:
            NotAllowed: No second person approved it, or one of the two may not any more.
            RequestError: The approval is too old, or a commit under it is under way.
            StorageError: The request was changed by something else, or cannot be written.
        """
        if self.rule_of(target, plan) is None:
            return None
        person = self._identified("commit this change, which a second person must approve")
        request = self.approved_for(plan)
        if request is None or request.state == "asked":
            waits = "" if request is None else f" Request {request.number} is waiting for it."
            raise NotAllowed(
                f"This change needs approval by a second person.{waits or _ASK}",
                reason=NEEDS_APPROVAL,
            )
        transaction = plan.txn_id if isinstance(plan, CommitPlan) else None

        def change(now: ApprovalRequest) -> ApprovalRequest:
            self._check_commits(now, target.place, plan, person)
            begun = now.after(self._step("begun"))
            return msgspec.structs.replace(begun, transaction=transaction)

        claim = self.shelf.claim(request.number)
        if claim is None:
            raise RequestError(
                f"A commit under request {request.number} is under way. Wait for its outcome.", field="request"
            )
        try:
            begun = self._change(request, change)
        except BaseException:
            claim.close()
            raise
        return Permit(begun, begun.approval, claim)

    def ended(self, permit: Permit, result: PlanResult) -> str:
        """Take notice of how a commit under a permit ended; return a note where that could not be written down."""
        match result.outcome:
            case "committed":
                step = self._step("committed")
            case "unknown":
                return ""
            case "rejected" if [guard.name for guard in result.plan.blocking] == [SOURCE_UNCHANGED]:
                # Nobody knows whether it still contains what was approved: a new plan does.
                step = self._step("failed", _why(result))
            case _:
                step = self._step("stale", _why(result), _changed(result))

        def change(now: ApprovalRequest) -> ApprovalRequest:
            after = now.after(step)
            return msgspec.structs.replace(after, version=result.version) if result.outcome == "committed" else after

        return self._settled(permit, change)

    def broke_off(self, permit: Permit, plan: Plan, error: BaseException) -> None:
        """Take notice that a commit under a permit raised an error."""
        if not isinstance(plan, CommitPlan):
            self._settled(permit, lambda now: now.after(self._step("stale", _PARTLY)))
        elif isinstance(error, ExplorerError) and not isinstance(error, CommitUnknown):
            note = f"Nothing was written: {error}"
            self._settled(permit, lambda now: now.after(self._step("failed", note)))

    def resolve(self, number: int, find: Callable[[str], int | None]) -> ApprovalRequest:
        """Find out what came of a commit that was interrupted, by its transaction.

        Args:
            number: The request.
            find: Returns the version of the commit with a transaction; None if the log has none.
        """
        request = self.shelf.get(number)
        if request.state != "committing" or self._clock() - datetime.fromisoformat(request.last.time) < _PATIENCE:
            return request
        claim = self.shelf.claim(number)
        if claim is None:
            return request  # it runs
        try:
            return self._resolved(request, find)
        finally:
            claim.close()

    def _resolved(self, request: ApprovalRequest, find: Callable[[str], int | None]) -> ApprovalRequest:
        if request.transaction is None:
            return self._change(request, lambda now: now.after(self._step("stale", _PARTLY)))
        version = find(request.transaction)
        if version is None:
            return self._change(request, lambda now: now.after(self._step("failed", "The log has no such commit.")))

        def change(now: ApprovalRequest) -> ApprovalRequest:
            return msgspec.structs.replace(now.after(self._step("committed")), version=version)

        return self._change(request, change)

    # --- inside

    def _identified(self, what: str) -> Person:
        if self.person is None:
            raise NotAllowed(_NO_IDENTITY.format(what), reason=NEEDS_APPROVAL)
        return self.person

    def _stale(self, changes: Sequence[ChangedAnswer]) -> Step:
        return self._step("stale", " ".join(each.text for each in changes), names_of(changes))

    def _step(self, what: str, note: str = "", changed: tuple[str, ...] = ()) -> Step:
        # What the program finds out is nobody's step.
        by = None if what in ("stale", "failed") else self.person
        return Step(what=what, time=_text(self._clock()), by=by, note=note.strip()[:LONGEST_TEXT], changed=changed)

    def _change(
        self, request: ApprovalRequest, change: Callable[[ApprovalRequest], ApprovalRequest]
    ) -> ApprovalRequest:
        def checked(now: ApprovalRequest) -> ApprovalRequest:
            if now.token != request.token:
                raise RequestError(
                    "Another request has this number now. Reload the page and read it again.", field="request"
                )
            return change(now)

        return self.shelf.change(request.number, checked, self._announce, Event(kind="approval"))

    def _settled(self, permit: Permit, change: Callable[[ApprovalRequest], ApprovalRequest]) -> str:
        try:
            self._change(permit.request, change)
        except ExplorerError as error:
            _log.error("the outcome of request %d could not be recorded: %s", permit.request.number, error)
            return f"The outcome of request {permit.request.number} could not be recorded: {error}"
        return ""

    def _check_decides(self, request: ApprovalRequest, place: Place, what: str) -> None:
        if why := self.why_not_decide(request, place):
            raise NotAllowed(why, reason=NEEDS_APPROVAL)
        request.check_time(self._clock())
        request.after(Step(what=what, time=request.last.time))

    def _changes(
        self, request: ApprovalRequest, remake: Callable[[ApprovalRequest], Plan]
    ) -> tuple[ChangedAnswer, ...]:
        """Return what differs between the plan that was asked for and the same one on the newest version."""
        try:
            plan = remake(request)
        except NotAllowed:
            raise
        except RequestError as error:
            name = "source" if error.field == "source" else "guards"
            return (ChangedAnswer(name, f"The change is no longer possible: {error}"),)
        changes = changed_answers(request.answers, answers_of_plan(plan))
        if not changes and plan.nothing_to_do:
            return (ChangedAnswer("amounts", "There is nothing left to commit."),)
        return changes

    def _check_commits(self, request: ApprovalRequest, place: Place, plan: Plan, person: Person) -> None:
        """Check a request under the lock, before its approval is used."""
        approver = request.approved_by
        if request.state not in ("approved", "committing") or approver is None or not _is_for(request, plan, person):
            raise NotAllowed(
                f"Request {request.number} is {request.state}, so nothing can be committed under it.",
                reason=NEEDS_APPROVAL,
            )
        if request.state == "committing":
            own = isinstance(plan, CommitPlan) and request.transaction == plan.txn_id
            if not own:
                raise RequestError(
                    f"A commit under request {request.number} began at {request.last.time[:16]} UTC, and its "
                    "outcome is not known. Open the request: it looks for the commit in the log.",
                    field="request",
                )
        else:
            request.check_time(self._clock())
        if is_same_person(approver, request.asked_by, self.rules.accounts):
            raise NotAllowed(
                f"{approver.name} approved request {request.number}, and counts as the same person as "
                f"{request.asked_by.name}. Ask again, and let another person approve it.",
                reason=NEEDS_APPROVAL,
            )
        if not self._may(Right.APPROVE, place, approver):
            raise NotAllowed(
                f"{approver.name} approved request {request.number}, and may not approve changes to this table "
                "anymore. Ask again, and let another person approve it.",
                reason=NEEDS_APPROVAL,
            )
        if not self._may(Right.COMMIT, place, request.asked_by):
            raise NotAllowed(
                f"{request.asked_by.name} asked for this change, and may not commit changes to this table anymore.",
                reason=NEEDS_APPROVAL,
            )


_ASK: Final = " Ask for it in the Edit tab or with delta-explorer plan --ask."
_PARTLY: Final = "It was interrupted and may be partly done. Make a new plan for what remains."
_NO_IDENTITY: Final = (
    "To {}, sign in: nothing here identifies you. A server identifies people by a password file, single sign-on, or a "
    "proxy."
)


def _is_for(request: ApprovalRequest, plan: Plan, person: Person) -> bool:
    """Return whether a request is for the change of a plan, and of a person who may commit it."""
    approver = request.approved_by
    own = request.asked_by.key == person.key or (
        request.commits == "itself" and approver is not None and approver.key == person.key
    )
    return (
        own
        and request.location == plan.table
        and request.intent == _plain(intent_document(plan.intent))
        and sorted(request.accepted) == sorted(plan.accepted)
    )


def _plain(document: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(document))


def _why(result: PlanResult) -> str:
    if result.conflict is not None:
        return result.conflict.why
    details = (str(guard.evidence.get("detail") or guard.name) for guard in result.plan.blocking)
    return " ".join(details) or "A guard rejected the commit."


def _changed(result: PlanResult) -> tuple[str, ...]:
    """Return which answers changed of a plan that was not committed."""
    if result.conflict is not None:
        return ("table",)
    named = (guard.evidence.get("changed") for guard in result.plan.blocking if guard.name == APPROVAL_GUARD)
    return next((tuple(map(str, names)) for names in named if isinstance(names, tuple | list)), ("guards",))


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")
