"""Approvals on the command line: the rules of the configuration, the shelf, and the person at the terminal.

The person is the user of the operating system who runs the command, by the number that the system gives it: no option
and no variable changes that. Whoever may write to the storage can also write with any other tool; see SECURITY.md.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.cli.in_force import in_force

if TYPE_CHECKING:
    from explorer.activity.files import RecordFiles
    from explorer.approvals.decisions import Decisions, Target
    from explorer.approvals.person import Person
    from explorer.approvals.request import ApprovalRequest
    from explorer.approvals.rules import GivenApprovals
    from explorer.core.transaction.commit_plan import Plan, PlanResult
    from explorer.given_roles import GivenRole
    from explorer.notices.book import NoticeBook
    from explorer.rights import Place, Right, Roles
    from explorer.storage.served_roots import ServedRoots


def configured_roles() -> tuple[GivenRole, ...]:
    """Return the roles of the configuration in force."""
    from explorer.given_roles import GivenRole

    return tuple(GivenRole(each.role, each.people, each.groups, each.tables) for each in in_force().values.roles)


def needs_two_people() -> bool:
    """Return whether the configuration has rules for a second person; this loads nothing."""
    return bool(in_force().values.two_people)


def given_approvals() -> GivenApprovals | None:
    """Return the rules of the configuration; None without one."""
    values = in_force().values
    if not values.two_people:
        return None
    from explorer.approvals.rules import GivenApprovals, GivenRule

    return GivenApprovals(
        rules=tuple(GivenRule(rule.tables, rule.kinds, rule.commits) for rule in values.two_people),
        folder=values.approvals.folder,
        valid_days=values.approvals.valid_days,
        accounts=values.approvals.same_person,
    )


@dataclass(frozen=True, slots=True)
class CommandApprovals:
    """The requests, as the user of the command may use them.

    Attributes:
        decisions: What the user can do with them.
        roots: The roots of the configuration.
    """

    decisions: Decisions
    roots: ServedRoots

    def target(self, location: str) -> Target:
        """Return a table by its location, a folder or a URL, as requests name it."""
        from explorer.approvals.decisions import Target
        from explorer.given_roles import place_at
        from explorer.storage.roots import folder_of, is_url
        from explorer.storage.served_root import options_of

        # A catalog and its tables are URLs, too.
        full = location if is_url(location) else os.path.realpath(folder_of(location))
        place = place_at(full, options_of(location))
        for root in self.roots.named:
            below = place_at(root.tree.root, root.given.storage_options)
            if place[: len(below)] == below:
                return Target("/".join((root.name, *place[len(below) :])), place)
        return Target(full, place)


def command_approvals() -> CommandApprovals | None:
    """Return the requests of the configuration in force; None where no change needs a second person.

    Raises:
        RequestError: A rule or a role does not fit the roots, or there is no activity record.
        StorageError: The record or the shelf cannot be used.
    """
    given = given_approvals()
    if given is None:
        return None
    from explorer.activity.configured import PROGRAM
    from explorer.activity.place import activity_place
    from explorer.activity.record import ActivityRecord
    from explorer.approvals.decisions import Decisions
    from explorer.approvals.rules import resolved_rules
    from explorer.approvals.shelf import Shelf
    from explorer.catalogs.folders import served_roots
    from explorer.core.errors import RequestError
    from explorer.given_roles import resolved_roles
    from explorer.storage.served_root import configured_roots

    values = in_force().values
    place = activity_place(values.serve.activity)
    if place is None:
        raise RequestError(
            "[[two_people]] needs the activity record, which proves who approved what. Give serve.activity a place, "
            "not off.",
            field="two_people",
        )
    roots = served_roots(configured_roots())
    rules = resolved_rules(given.rules, roots, accounts=given.accounts, valid_days=given.valid_days)
    roles = resolved_roles(configured_roles(), roots, values.contact)
    record = ActivityRecord(place, program=PROGRAM)
    shelf = Shelf(_shelf_folder(given, record.files), record.files, _post)
    person = system_person()

    def announce(event: Any) -> object:
        from msgspec.structs import replace

        return record.add(replace(event, person=person.name, known_by="system"))

    return CommandApprovals(Decisions(shelf, rules, person, may=partial(_may, roles), announce=announce), roots)


def check_people() -> None:
    """Check the roles and the rules of the configuration in force.

    Raises:
        RequestError: One does not fit the roots.
    """
    from explorer.approvals.rules import resolved_rules
    from explorer.catalogs.folders import served_roots
    from explorer.given_roles import resolved_roles
    from explorer.storage.served_root import configured_roots

    given, roots = given_approvals(), served_roots(configured_roots())
    resolved_roles(configured_roles(), roots)
    if given is not None:
        resolved_rules(given.rules, roots)


def settle_notices(book: NoticeBook) -> None:
    """Say of notices of requests that were decided meanwhile, by whichever program, that they are over.

    Raises:
        StorageError: The notices or the requests cannot be read, or the notices cannot be written.
    """
    given = given_approvals()
    if given is None:
        return
    from explorer.activity.files import RecordFiles
    from explorer.activity.place import activity_place
    from explorer.approvals import notices
    from explorer.approvals.shelf import Shelf

    place = activity_place(in_force().values.serve.activity)
    if place is None:
        return
    record = RecordFiles.at(place)
    folder = _shelf_folder(given, record)
    if folder.is_dir():
        notices.settle_notices(book, Shelf(folder, record))


def open_requests_since() -> datetime | None:
    """Return the time since which the record must be whole for the open requests; None without any.

    Raises:
        StorageError: The requests cannot be read.
    """
    given = given_approvals()
    if given is None:
        return None
    from explorer.activity.files import RecordFiles
    from explorer.activity.place import activity_place
    from explorer.approvals.request import DIFFERENT_CLOCKS
    from explorer.approvals.shelf import Shelf

    place = activity_place(in_force().values.serve.activity)
    if place is None:
        return None
    record = RecordFiles.at(place)
    folder = _shelf_folder(given, record)
    if not folder.is_dir():
        return None
    times = (request.asked_at for request in Shelf(folder, record).all() if request.is_open)
    oldest = min(times, default=None)
    return None if oldest is None else oldest - 2 * DIFFERENT_CLOCKS


def _shelf_folder(given: GivenApprovals, record: RecordFiles) -> Path:
    """Return the folder of the requests."""
    return Path(given.folder).expanduser() if given.folder else record.current.parent / "approvals"


def _post(request: ApprovalRequest) -> None:
    """Post a request among the notices; a user who may not write them is told so, and nothing else is lost."""
    from explorer.approvals.notices import post_request
    from explorer.cli.notice_desk import used_book
    from explorer.cli.output import note
    from explorer.core.errors import StorageError

    try:
        book = used_book()
        if book is not None:
            post_request(book, request)
    except StorageError as error:
        note(error.message)


def system_person() -> Person:
    """Return the user of the operating system who runs the command; its name is the system's, not of a variable."""
    from explorer.approvals.person import Person

    return Person(issuer=f"system {socket.gethostname()}", subject=f"uid {os.getuid()}", name=system_name())


def system_name() -> str:
    """Return the name that the operating system gives its user who runs the command."""
    import pwd

    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def carried_out(target: Any, plan: Plan, reason: str, user: str | None) -> PlanResult:
    """Carry out a plan, under an approval where the configuration in force asks for one.

    Raises:
        NotAllowed: It needs an approval that it does not have.
    """
    approvals = command_approvals() if needs_two_people() else None
    if approvals is None:
        result: PlanResult = target.commit(plan, reason=reason, user=user)
        return result
    from explorer.approvals.guarded_table import commit_guarded

    named = approvals.target(target.location)
    return commit_guarded(target, named, approvals.decisions, plan, reason=reason, user=user)


def _may(roles: Roles | None, right: Right, place: Place, person: Person) -> bool:
    """Return whether a person has a right; groups of the operating system are not those of a sign-in service."""
    return roles is None or roles.of(person.name, person.groups).may(right, place)
