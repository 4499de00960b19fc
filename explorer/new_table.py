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
from explorer.table import Table, context_of, open_table, recorded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from explorer.catalogs.creation import NewTableInCatalog
    from explorer.core.protocol.log_store import LogStore
    from explorer.core.transaction.approval import Approval
    from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, Plan, Proposer
    from explorer.core.transaction.context import Context


def new_table(
    location: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    roots: Sequence[str] | None = None,
    read_only: bool = False,
) -> NewTable:
    """Name a place for a table. Nothing is written there before a plan is committed.

    Args:
        location: A folder, a URL with one of the schemes of `explorer.storage.schemes`, or a name in the Unity Catalog
            that ``UNITY_CATALOG_URL`` names: ``uc://catalog.schema.table``. The catalog reserves a place for that name
            when the table is planned.
        storage_options: Options of the object store; None for those of the configuration file, if it has some.
        roots: Places that may be used; None allows every place.
        read_only: Refuse every commit through this object.

    Raises:
        NotAllowed: The location is outside ``roots``.
        RequestError: It is in a catalog that creates no tables here, or no catalog is set.
    """
    if os.fspath(location).lower().startswith("glue://"):
        raise RequestError(
            f"This program cannot create tables in AWS Glue. Create {os.fspath(location)} with an engine that is "
            "connected to it, or create the table at its place in S3, and register that place in Glue.",
            location=os.fspath(location),
        )
    if storage_options is None:
        storage_options = options_of(os.fspath(location))
    if is_catalog_address(location):
        from explorer.catalogs.creation import NewTableInCatalog

        return NewCatalogTable(
            NewTableInCatalog(os.fspath(location), storage_options, roots), read_only=read_only, roots=roots
        )
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

    @property
    def catalog_address(self) -> str | None:
        """The name in a catalog that the table will have; None if it will have none."""
        return None

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
        wanted = self._placed(wanted)
        if self.latest_version() >= 0:
            raise InvalidIntent(f"There is already a table at {self.location}.", field="kind", table=self.location)
        context = context_of(self.roots)
        propose = self._adapted(prepared_creation(self.place.store, wanted, context, rows, check_types=check_rows))
        return make_plan(self.place, Request(wanted, propose, tuple(accept), check_rows, user), context)

    def commit(
        self, plan: Plan, *, reason: str | None = None, user: str | None = None, approval: Approval | None = None
    ) -> CommitResult:
        """Create the table; returns the outcome.

        Args:
            plan: The plan. It conflicts with a commit that was faster.
            reason: Why; recorded in the history.
            user: Who commits.
            approval: The approval of a second person, as for `Table.commit`.

        Raises:
            NotAllowed: The place was opened read-only.
        """
        from explorer.core.transaction.commit_plan import CommitPlan

        if not isinstance(plan, CommitPlan):
            raise RequestError(f"There is no table at {self.location} yet, so there is nothing to maintain.")
        if self.read_only:
            raise NotAllowed(
                f"The table {self.location} was opened read-only. To change it, open it with read_only=False.",
                location=self.location,
            )
        context = context_of(self.roots)
        commit = partial(self._committed, plan, context, reason=reason, user=user, approval=approval)
        return recorded(plan, self.location, commit, user)

    def _placed(self, intent: CreateTable) -> CreateTable:
        """Return the intent for this place."""
        if intent.location is not None:
            raise InvalidIntent(
                f"The table will be at {self.location}. Remove location: it is only for a name in a catalog.",
                field="location",
            )
        return intent

    def _adapted(self, propose: Proposer) -> Proposer:
        """Return what makes the proposal, in the words of this place."""
        return propose

    def _committed(self, plan: CommitPlan, context: Context, **given: Any) -> CommitResult:
        from explorer.core.transaction.commit.committer import commit_plan

        return commit_plan(self.place, plan, context, **given)


class NewCatalogTable(NewTable):
    """A name in a catalog without a table. The first plan has the catalog reserve a place for it.

    Args:
        named: The name.
        read_only: As of `NewTable`; such a name is not planned either, as the catalog would reserve a place.
        roots: The places that rows may be read from; None allows every place.
    """

    def __init__(self, named: NewTableInCatalog, *, read_only: bool, roots: Sequence[str] | None) -> None:
        self.read_only, self._named = read_only, named
        self.roots = None if roots is None else AllowedRoots([root for root in roots if not is_catalog_address(root)])
        self._place: NewPlace | None = None

    @property
    def place(self) -> NewPlace:  # type: ignore[override]  # it is known once the catalog gave it
        """Where the files of the table will be.

        Raises:
            RequestError: The table was not planned yet.
        """
        if self._place is None:
            raise RequestError(
                f"{self.location} has no place before a table is planned there.", location=self.catalog_address
            )
        return self._place

    @property
    def location(self) -> str:
        """Where the files of the table will be, as a URL; the name in the catalog before it is planned."""
        return self.catalog_address if self._place is None else self._place.location

    @property
    def catalog_address(self) -> str:
        """The name."""
        return self._named.address.url

    def latest_version(self) -> int:
        """The newest version at the place, -1 if there is none."""
        return -1 if self._place is None else super().latest_version()

    def open(self) -> Table:
        """Open the table by its name once it exists.

        Raises:
            TableNotFound: It does not exist.
        """
        return open_table(self.catalog_address, read_only=self.read_only)

    def _placed(self, intent: CreateTable) -> CreateTable:
        if self.read_only:
            raise NotAllowed(
                f"{self.location} was named read-only, and the catalog reserves a place for a table that is planned.",
                location=self.location,
            )
        self._place, placed = self._named.place(intent)
        return placed

    def _adapted(self, propose: Proposer) -> Proposer:
        return lambda snapshot: self._named.for_catalog(propose(snapshot))

    def _committed(self, plan: CommitPlan, context: Context, **given: Any) -> CommitResult:
        result = super()._committed(plan, context, **given)
        return self._named.named(self.place.store, result) if result.outcome == "committed" else result
