"""A place where a table may be created: the one change without a version before it.

Protocol section: Delta Log Entries. Invariants: version 0 is put only if no one else put it (LOG-005), so the first
writer creates the table; no table is created in a folder with other files, as no version would name them and a clean-up
of the table would delete them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.core.errors import InvalidIntent, NotAllowed, RequestError
from explorer.core.transaction.context import NewPlace
from explorer.core.transaction.intents.documents import intent_kind, parse_intent
from explorer.core.transaction.intents.records import CreateTable, Intent
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots, is_catalog_address
from explorer.storage.served_root import options_of
from explorer.table import Table, context_of, recorded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from explorer.core.protocol.log_store import LogStore
    from explorer.core.transaction.approval import Approval
    from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, Plan


def new_table(
    location: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    read_only: bool = False,
) -> NewTable:
    """Name a place for a table. Nothing is written there before a plan is committed.

    Args:
        location: A folder, or a URL with one of the schemes of `explorer.storage.schemes`.
        storage_options: Options of the object store; None for those of the configuration file, if it has some.
        roots: Places that may be used; None allows every place.
        read_only: Refuse every commit through this object.

    Raises:
        NotAllowed: The location is outside ``roots``.
    """
    if is_catalog_address(location):
        raise RequestError(
            f"This program creates no tables in a catalog. Create {os.fspath(location)} with an engine that is "
            "connected to the catalog, such as Spark; it can be read and changed here then.",
            location=os.fspath(location),
        )
    if storage_options is None:
        storage_options = options_of(os.fspath(location))
    allowed = None if roots is None else AllowedRoots(roots)
    return NewTable(open_store(location, storage_options, allowed), read_only=read_only, roots=allowed)


class NewTable:
    """A place without a table.

    Attributes:
        place: Where it will be.
        read_only: True if commits through this object are refused.
        roots: The places that may be used; None allows every place.
    """

    def __init__(self, store: LogStore, *, read_only: bool = False, roots: AllowedRoots | None = None) -> None:
        self.place = NewPlace(store)
        self.read_only, self.roots = read_only, roots

    def __repr__(self) -> str:
        return f"NewTable({self.location!r})"

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.place.location

    def latest_version(self) -> int:
        """The newest version, if someone created the table meanwhile; -1 if there is none."""
        return self.place.latest_version()

    def open(self) -> Table:
        """Open the table once it exists.

        Raises:
            TableNotFound: It does not exist.
        """
        return Table(self.place.store, read_only=self.read_only, roots=self.roots)

    def plan(
        self,
        intent: Intent | Mapping[str, Any] | str,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        rows: pa.Table | DataFrame | None = None,
    ) -> CommitPlan:
        """Plan the table: the exact actions and every guard with its evidence. Nothing is written.

        Args:
            intent: A `explorer.core.transaction.intents.records.CreateTable`, or its JSON.
            accept: Names of guards that may stay unknown.
            check_rows: Let Spark check the types of expressions if the table has any; otherwise they are unknown.
            user: Who would commit.
            rows: An Arrow table or a Spark DataFrame that the table begins with, instead of the intent's source.

        Raises:
            InvalidIntent: The intent makes no sense, or there is a table already.
        """
        from explorer.core.transaction.commit_info import check_provenance
        from explorer.core.transaction.planner import Request, make_plan
        from explorer.core.transaction.preparation import prepared_creation

        wanted = parse_intent(intent)
        check_provenance(user=user)
        if not isinstance(wanted, CreateTable):
            raise InvalidIntent(
                f"There is no table at {self.location} yet for {intent_kind(wanted)}: create it with create-table.",
                field="kind",
                allowed=["create-table"],
            )
        if self.latest_version() >= 0:
            raise InvalidIntent(f"There is already a table at {self.location}.", field="kind", table=self.location)
        context = context_of(self.roots)
        propose = prepared_creation(self.place.store, wanted, context, rows, check_types=check_rows)
        return make_plan(self.place, Request(wanted, propose, tuple(accept), check_rows, user), context)

    def commit(
        self, plan: Plan, *, reason: str | None = None, user: str | None = None, approval: Approval | None = None
    ) -> CommitResult:
        """Create the table; returns the outcome.

        Args:
            plan: The plan. It conflicts with a commit that was faster.
            reason: Why; kept in the history.
            user: Who commits.
            approval: The approval of a second person, as for `Table.commit`.

        Raises:
            NotAllowed: The place was opened read-only.
        """
        from explorer.core.transaction.commit.committer import commit_plan
        from explorer.core.transaction.commit_plan import CommitPlan

        if not isinstance(plan, CommitPlan):
            raise RequestError(f"There is no table at {self.location} yet, so there is nothing to maintain.")
        if self.read_only:
            raise NotAllowed(
                f"The table {self.location} was opened read-only. To change it, open it with read_only=False.",
                location=self.location,
            )
        context = context_of(self.roots)
        commit = partial(commit_plan, self.place, plan, context, reason=reason, user=user, approval=approval)
        return recorded(plan, self.location, commit, user)
