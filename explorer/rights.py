"""What people may do: rights, the roles that give them, and to whom they are given on which tables.

Invariants: a right is only ever given, never taken away, so what is not named is not allowed. Tables go by where they
are, links resolved, and not by their names: one table has the same rights under each of its names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias


class Right(Enum):
    """A right on a table; its value is what a person may do, in words."""

    SEE = "see this table"
    ROWS = "read rows of this table"
    REPORT = "read reports about this table"
    COMMIT = "plan and commit changes to this table"
    REQUESTS = "see requests for approval of changes to this table"
    APPROVE = "approve changes to this table"
    NOTICES = "acknowledge or snooze notices about this table"
    ACTIVITY = "read the record of activity about this table"


ROLES: Final[Mapping[str, frozenset[Right]]] = {
    "viewer": frozenset({Right.SEE, Right.ROWS, Right.REPORT}),
    "committer": frozenset({Right.SEE, Right.ROWS, Right.REPORT, Right.COMMIT, Right.REQUESTS, Right.NOTICES}),
    "approver": frozenset({Right.SEE, Right.ROWS, Right.REPORT, Right.REQUESTS, Right.APPROVE, Right.NOTICES}),
    "auditor": frozenset({Right.SEE, Right.REPORT, Right.ACTIVITY}),
    "admin": frozenset(Right),
}
"""The rights of each role."""
NEEDS_APPROVAL: Final = "approval"
"""The reason of the error for what a second person must approve, or cannot."""
EVERYONE: Final = "*"
"""In the place of a name: everyone who may open the server."""
Place: TypeAlias = tuple[str, ...]
"""Where a table or a folder is, from the top down; a place is inside another if it begins with it."""
EVERYWHERE: Final[Place] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """A role that is given.

    Attributes:
        role: One of `ROLES`.
        people: Names; `EVERYONE` is everyone.
        groups: Names of groups.
        places: On which tables: those inside these places.
    """

    role: str
    people: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    places: tuple[Place, ...] = (EVERYWHERE,)

    def gives(self, right: Right) -> bool:
        """Return whether the role has a right."""
        return right in ROLES[self.role]

    def is_of(self, name: str, groups: Iterable[str]) -> bool:
        """Return whether a person has it; a person without a name only has what everyone has."""
        named = bool(name) and name != EVERYONE and name in self.people
        return EVERYONE in self.people or named or not self.groups.isdisjoint(groups)


@dataclass(frozen=True, slots=True)
class PersonalRights:
    """The rights of one person.

    Attributes:
        grants: The rights that are given, and where; None where everyone may everything.
        roles: All of them, to say whom to ask.
    """

    grants: tuple[tuple[frozenset[Right], tuple[Place, ...]], ...] | None = None
    roles: Roles | None = None

    @property
    def is_restricted(self) -> bool:
        """Whether there is anything that the person may not."""
        return not self.may(Right.SEE, EVERYWHERE) or not all(self.may(right, EVERYWHERE) for right in Right)

    def may(self, right: Right, place: Place) -> bool:
        """Return whether the person has a right on all that is at a place."""
        if self.grants is None:
            return True
        return any(right in rights and _is_inside(place, given) for rights, given in self.grants)

    def may_somewhere(self, right: Right, place: Place = EVERYWHERE) -> bool:
        """Return whether the person has a right on something at a place."""
        if self.grants is None:
            return True
        around = (given for rights, places in self.grants if right in rights for given in places)
        return any(place[: len(given)] == given or given[: len(place)] == place for given in around)

    def places(self, right: Right) -> tuple[Place, ...]:
        """Return where a right is given."""
        return (EVERYWHERE,) if self.grants is None else tuple(
            given for rights, places in self.grants if right in rights for given in places
        )  # fmt: skip

    def refusal(self, right: Right, place: Place) -> str:
        """Return what to say to a person who lacks a right: what it is, and whom to ask."""
        ask = "the people who run this server" if self.roles is None else self.roles.whom_to_ask(place)
        return f"You may not {right.value}. Ask {ask}."


@dataclass(frozen=True, slots=True)
class Roles:
    """All roles that are given.

    Attributes:
        grants: Each of them.
        contact: Whom to ask for more; empty names those with the role admin.
    """

    grants: tuple[Grant, ...]
    contact: str = ""

    def of(self, name: str, groups: Iterable[str]) -> PersonalRights:
        """Return the rights of a person."""
        own = [grant for grant in self.grants if grant.is_of(name, groups)]
        return PersonalRights(tuple((ROLES[grant.role], grant.places) for grant in own), self)

    def whom_to_ask(self, place: Place) -> str:
        """Return whom to ask for a right."""
        if self.contact:
            return self.contact
        admins = sorted(
            name
            for grant in self.grants
            if grant.role == "admin" and _is_inside(place, grant.places)
            for name in grant.people
            if name != EVERYONE
        )
        return " or ".join(admins[:3]) or "the people who run this server"


def _is_inside(place: Place, given: Iterable[Place]) -> bool:
    return any(place[: len(each)] == each for each in given)
