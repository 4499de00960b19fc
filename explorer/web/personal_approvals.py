"""Requests for approval on a server: one shelf for all, and what each person may do with it.

Invariants: the rights of both people are those that the server knows now: their roles with the newest groups that it
has seen of them, and, with a password file, only as long as the account is there. What is committed by itself goes the
same way as every other commit: through a `GuardedTable`, with its lines in the record.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from explorer.activity.record import ActivityRecord
from explorer.approvals.decisions import Decisions, Target
from explorer.approvals.guarded_table import GuardedTable
from explorer.approvals.notices import post_request, settle_notices
from explorer.approvals.person import Person
from explorer.approvals.request import ApprovalRequest
from explorer.approvals.rules import ApprovalRule, GivenApprovals, resolved_rules
from explorer.approvals.shelf import Shelf
from explorer.core.errors import ExplorerError, NotAllowed, RequestError, StorageError
from explorer.core.transaction.changeable_table import ApprovableTable, ChangeableTable
from explorer.core.transaction.commit_plan import Plan
from explorer.core.transaction.intents.documents import parse_intent
from explorer.given_roles import place_of
from explorer.notices.book import NoticeBook
from explorer.page.approvals import ShownRequest
from explorer.page.host import Identity
from explorer.rights import PersonalRights, Place, Right, Roles
from explorer.web.recorder import RecordedTable, Recorder
from explorer.web.served_tables import Catalog

_log = logging.getLogger(__name__)
PASSWORD_FILE = "password file"  # noqa: S105  # the name of a way, no secret
_MOST_SHOWN = 500


class ServerApprovals:
    """The requests of one server.

    Args:
        given: The rules, and where requests are.
        catalog: The served tables, for all.
        record: The activity record.
        roles: Who may do what; None where everyone may all.
        has_account: Says whether the password file has a name; None without such a file.
        notices: The notices, in which requests are told of; None for none.

    Raises:
        RequestError: A rule does not fit the served tables, or no role can approve.
        StorageError: The shelf cannot be used.
    """

    def __init__(
        self,
        given: GivenApprovals,
        catalog: Catalog,
        record: ActivityRecord,
        roles: Roles | None,
        *,
        has_account: Callable[[str], bool] | None = None,
        notices: NoticeBook | None = None,
    ) -> None:
        self.rules = resolved_rules(given.rules, catalog.roots, accounts=given.accounts, valid_days=given.valid_days)
        if roles is not None and not any(grant.gives(Right.APPROVE) for grant in roles.grants):
            raise RequestError(
                "[[two_people]] needs people who can approve, and no role approver or admin is given. Add one to "
                "[[roles]].",
                field="two_people",
            )
        self.catalog = catalog
        self._notices = notices
        self.shelf = Shelf(given.folder or record.files.current.parent / "approvals", record.files, self._post)
        self._roles, self._has_account = roles, has_account
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], tuple[str, ...]] = {}

    def _post(self, request: ApprovalRequest) -> None:
        """Post a request among the notices; who asks is told if that fails, and what is under way goes on."""
        if self._notices is None:
            return
        try:
            post_request(self._notices, request)
        except StorageError as error:
            if request.state == "asked":
                raise
            _log.error("%s", error)  # the message is complete

    def settle(self) -> int:
        """Say of notices that are over that they are; another program may have decided their requests."""
        try:
            return 0 if self._notices is None else settle_notices(self._notices, self.shelf)
        except StorageError as error:
            _log.error("%s", error)  # the message is complete
            return 0

    def of(self, identity: Identity, visible: Catalog, recorder: Recorder, rights: PersonalRights) -> PersonalApprovals:
        """Return the requests as one person may use them."""
        person = person_of(identity)
        if person is not None:
            with self._lock:
                self._seen[person.key] = person.groups
        decisions = Decisions(self.shelf, self.rules, person, may=self.may, announce=recorder.before)
        return PersonalApprovals(self, decisions, visible, recorder, rights)

    def may(self, right: Right, place: Place, person: Person) -> bool:
        """Return whether a person has a right at a place, by what the server knows now."""
        if person.issuer == PASSWORD_FILE and not (self._has_account and self._has_account(person.subject)):
            return False
        if self._roles is None:
            return True
        with self._lock:
            groups = self._seen.get(person.key, person.groups)
        return self._roles.of(person.name, groups).may(right, place)


class PersonalApprovals:
    """The requests of a server, as one person may use them: a `explorer.page.approvals.Approvals`.

    Args:
        server: The requests of the server.
        decisions: Those of this person.
        visible: The served tables that the person may see.
        recorder: Tells the record what is committed.
        rights: The rights of the person.
    """

    def __init__(
        self,
        server: ServerApprovals,
        decisions: Decisions,
        visible: Catalog,
        recorder: Recorder,
        rights: PersonalRights,
    ) -> None:
        self._server, self._decisions, self._visible = server, decisions, visible
        self._recorder, self._rights = recorder, rights
        self.person = decisions.person

    def guarded(self, name: str, table: ApprovableTable) -> ChangeableTable:
        """Return a table that commits only under an approval, where the rules ask for one."""
        return GuardedTable(table, self._target(name), self._decisions)

    def rule(self, name: str, plan: Plan) -> ApprovalRule | None:
        """Return the rule by which a plan needs a second person; None where it needs none."""
        return self._decisions.rule_of(self._target(name), plan)

    def open_request(self, name: str, plan: Plan) -> ApprovalRequest | None:
        """Return the open request of this person for the change of a plan; None without one."""
        self._visible.roots.locate(name)
        return self._decisions.approved_for(plan)

    def requests(self, name: str = "") -> Sequence[ShownRequest]:
        """Return the requests of a table, or of all tables, as far as the person may see them, the newest first."""
        wanted = self._target(name).place if name else None
        shown = []
        for request in self._server.shelf.all():
            try:
                place = self._target(request.table).place
            except ExplorerError:
                continue  # a table that this person does not see, or that is not served any more
            if (wanted is None or place == wanted) and self._rights.may(Right.REQUESTS, place):
                shown.append(self._shown(request, name or request.table, place))
            if len(shown) >= _MOST_SHOWN:
                break
        return shown

    def request(self, name: str, number: int) -> ShownRequest:
        """Return a request of a table; one that something else changed is shown with what is wrong."""
        place = self._target(name).place
        damage = ""
        try:
            request = self._server.shelf.get(number)
        except StorageError as error:
            stored = next((each for each in self._server.shelf.all() if each.number == number), None)
            if stored is None:
                raise
            request, damage = stored, str(error)
        self._check_table(request, name, place)
        if not damage and request.state == "committing":
            request = self._decisions.resolve(number, lambda transaction: self._version_of(name, transaction))
        return self._shown(request, name, place, damage)

    def ask(self, name: str, plan: Plan, reason: str) -> ApprovalRequest:
        """Ask for the approval of a plan."""
        return self._decisions.ask(self._target(name), plan, reason)

    def approve(self, name: str, number: int, note: str, shown: str) -> ApprovalRequest:
        """Approve a request, after its plan was made again; and commit it, if the program is to do that by itself."""
        target = self._target(name)
        self._check_table(self._server.shelf.get(number), name, target.place)
        made: list[Plan] = []

        def remake(request: ApprovalRequest) -> Plan:
            made.append(self._planned(name, request))
            return made[-1]

        request = self._decisions.approve(number, note, target.place, remake, shown=shown)
        if request.state != "approved" or request.commits != "itself":
            return request
        table = RecordedTable(self.guarded(name, self._server.catalog.open(name)), name, self._recorder)
        table.commit(made[-1], reason=request.reason, user=request.asked_by.name)
        self._visible.check_again(name, reopen=made[-1].commit_version is None)
        return self._server.shelf.get(number)

    def decline(self, name: str, number: int, note: str) -> ApprovalRequest:
        """Decline a request."""
        place = self._target(name).place
        self._check_table(self._server.shelf.get(number), name, place)
        return self._decisions.decline(number, note, place)

    def withdraw(self, name: str, number: int) -> ApprovalRequest:
        """Withdraw a request of one's own."""
        self._check_table(self._server.shelf.get(number), name, self._target(name).place)
        return self._decisions.withdraw(number)

    def may_plan(self, name: str) -> bool:
        """Return whether the person may plan changes of a table."""
        return self._rights.may(Right.COMMIT, self._target(name).place)

    # --- inside

    def _target(self, name: str) -> Target:
        return Target(name, place_of(self._visible.roots.locate(name)))

    def _check_table(self, request: ApprovalRequest, name: str, place: Place) -> None:
        """Refuse a request of another table, as if there were none."""
        if not self._rights.may(Right.REQUESTS, place) or self._place_of(request) != place:
            raise RequestError(f"{name} has no request {request.number}.", field="request")

    def _place_of(self, request: ApprovalRequest) -> Place | None:
        try:
            return place_of(self._server.catalog.roots.locate(request.table))
        except NotAllowed:
            return None

    def _shown(self, request: ApprovalRequest, name: str, place: Place, damage: str = "") -> ShownRequest:
        own = self.person is not None and self.person.key == request.asked_by.key
        return ShownRequest(request, name, own, self._decisions.why_not_decide(request, place), damage)

    def _planned(self, name: str, request: ApprovalRequest) -> Plan:
        table = self._server.catalog.open(name)
        return table.plan(
            parse_intent(request.intent),
            accept=request.accepted,
            check_rows=request.checked_rows,
            user=request.asked_by.name,
        )

    def _version_of(self, name: str, transaction: str) -> int | None:
        record = self._server.catalog.open(name).provenance_record()
        versions = (
            each.version for each in record.commits if each.info is not None and each.info.txn_id == transaction
        )
        return next(versions, None)


def person_of(identity: Identity) -> Person | None:
    """Return the person of an identity; None if nothing but an address or a token let the request in."""
    if not (identity.issuer and identity.subject and identity.name):
        return None
    return Person(
        issuer=identity.issuer,
        subject=identity.subject,
        name=identity.name,
        email=identity.email,
        groups=identity.groups,
    )
