"""A server on which some changes need a second person, and the windows of its people: for tests without a browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from explorer.activity.newest import NewestEntries
from explorer.activity.record import ActivityRecord
from explorer.approvals.rules import GivenApprovals, GivenRule
from explorer.given_roles import GivenRole, resolved_roles
from explorer.page.address import address_of
from explorer.page.host import Identity, KnownBy
from explorer.rights import PersonalRights
from explorer.web.personal_approvals import PersonalApprovals, ServerApprovals
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.visible_tables import visible_catalog
from tests.support.pages.open_windows import Window

__all__ = ["ROLES", "TwoPeople", "login"]

ROLES = (
    GivenRole("committer", people=("ana", "cleo")),
    GivenRole("approver", people=("ben",), groups=("deciders",)),
    GivenRole("admin", people=("root",)),
    GivenRole("viewer", people=("vic",)),
)


def login(name: str, *, session: str = "", groups: tuple[str, ...] = (), **known: Any) -> Identity:
    """Return the identity of a person who signed in."""
    values = {"issuer": "https://login.example.org", "subject": f"subject of {name}"} | known
    return Identity(session or f"session of {name}", name, KnownBy.SINGLE_SIGN_ON, groups=groups, **values)


class TwoPeople:
    """The server.

    Args:
        root: The served folder.
        place: A folder for the record and the requests.
        commits: Who commits an approved change.
        kinds: The kinds of changes that need a second person; none for all.
        roles: The roles; None where everyone may all.
        accounts: Accounts that are of one person.
        has_account: Says whether the password file has a name.
    """

    def __init__(
        self,
        root: Path,
        place: Path,
        *,
        commits: str = "maker",
        kinds: tuple[str, ...] = (),
        roles: Sequence[GivenRole] | None = ROLES,
        accounts: tuple[tuple[str, ...], ...] = (),
        has_account: Callable[[str], bool] | None = None,
        tables: tuple[str, ...] = (),
    ) -> None:
        self.record = ActivityRecord(place / "record", program="tests/1")
        self.catalog = Catalog([str(root)], allow_commits=True, record=NewestEntries(self.record.files))
        self.roles = None if roles is None else resolved_roles(roles, self.catalog.roots)
        given = GivenApprovals((GivenRule(tables, kinds, commits),), str(place / "requests"), accounts=accounts)
        self.of_all = ServerApprovals(given, self.catalog, self.record, self.roles, has_account=has_account)

    def approvals(self, identity: Identity) -> PersonalApprovals:
        """Return the requests as a person may use them."""
        return self._parts(identity)[2]

    def tables(self, identity: Identity) -> PersonalTables:
        """Return the tables as a person has them."""
        return self._parts(identity)[0]

    def window(self, query: str, identity: Identity) -> Window:
        """Open a window of a person."""
        tables, entry, own = self._parts(identity)
        if address_of(query).table:
            return Window(tables, query, identity=identity, entry=entry)
        shown: Any = tables._catalog
        return Window(shown, query, identity=identity, entry=entry, approvals=own)

    def _parts(self, identity: Identity) -> tuple[PersonalTables, PersonalEntry, PersonalApprovals]:
        recorder = Recorder(self.record, identity)
        rights = PersonalRights() if self.roles is None else self.roles.of(identity.name, identity.groups)
        visible = visible_catalog(self.catalog, rights)
        own = self.of_all.of(identity, visible, recorder, rights)
        tables = PersonalTables(visible, recorder, rights, own)
        return tables, PersonalEntry(tables, recorder), own
