"""A place where a table may be made: the one change that has no version before it.

Protocol section: Delta Log Entries. Invariants: version 0 is put only if no one else put it (LOG-005), and whoever was
first has the table; nothing is made where other files lie, for no version would name them and a clean-up of the table
would delete them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from explorer.core.errors import ExplorerError, InvalidIntent, NotAllowed, TableNotFound
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.transaction.intents.documents import intent_kind, parse_intent
from explorer.core.transaction.intents.records import CreateTable, Intent
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.storage import open_store
from explorer.storage.roots import Roots
from explorer.table import Table

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore
    from explorer.core.transaction.commit_plan import CommitPlan, CommitResult

__all__ = ["NewTable", "new_table"]

_SHOWN = 5


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
        storage_options: Options of the object store.
        roots: Places that may be used; None allows every place.
        read_only: Refuse every commit through this object.

    Raises:
        NotAllowed: The location lies outside ``roots``.
    """
    allowed = None if roots is None else Roots(roots)
    return NewTable(open_store(location, storage_options, allowed), read_only=read_only, roots=allowed)


class NewTable:
    """A place without a table.

    Attributes:
        store: Where its bytes will be.
        read_only: True if commits through this object are refused.
        roots: The places that may be used; None allows every place.
    """

    def __init__(self, store: LogStore, *, read_only: bool = False, roots: Roots | None = None) -> None:
        self.store = store
        self.read_only, self.roots = read_only, roots

    def __repr__(self) -> str:
        return f"NewTable({self.location!r})"

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.store.root

    def latest_version(self) -> int:
        """The newest version, should someone have made the table meanwhile; -1 if there is none."""
        try:
            return list_log(self.store, use_hint=True).latest
        except TableNotFound:
            return -1

    def refresh(self) -> None:
        """Nothing is kept, so there is nothing to look for."""

    def outdate(self) -> None:
        """As for `refresh`."""

    def open(self) -> Table:
        """Open the table once it is made.

        Raises:
            TableNotFound: It is not.
        """
        return Table(self.store, read_only=self.read_only, roots=self.roots)

    def plan(
        self,
        intent: Intent | Mapping[str, Any] | str,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
    ) -> CommitPlan:
        """Plan the table: the exact actions and every guard with its evidence. Nothing is written.

        Args:
            intent: A `explorer.core.transaction.intents.records.CreateTable`, or its JSON.
            accept: Names of guards that may stay unknown.
            check_rows: Let Spark look at the types of expressions where the table has some; else that is unknown.
            user: Who would commit.

        Raises:
            InvalidIntent: The intent makes no sense, or there is a table already.
        """
        from explorer.core.transaction.commit_info import check_provenance, commit_info, commit_lines
        from explorer.core.transaction.commit_plan import CommitPlan, Consequences
        from explorer.core.transaction.guards.judge import Situation, judge
        from explorer.core.transaction.planner import circumstances, engine_info
        from explorer.core.transaction.proposals.create_table import create_table

        wanted = parse_intent(intent)
        check_provenance(user=user)
        if not isinstance(wanted, CreateTable):
            raise InvalidIntent(
                f"There is no table at {self.location} yet for {intent_kind(wanted)}: make it with create-table.",
                field="kind",
                allowed=["create-table"],
            )
        if self.latest_version() >= 0:
            raise InvalidIntent(f"There is a table at {self.location} already.", field="kind", table=self.location)
        made = circumstances()
        proposal = create_table(wanted, made)
        if check_rows:
            proposal = _with_types(proposal)
        guards = (*judge(Situation(None, proposal, user)), self._place_guard(), self._outer_guard())
        txn_id = made.new_id()
        info = commit_info(proposal, read_version=-1, now=made.now, txn_id=txn_id, engine=engine_info(), user=user)
        return CommitPlan(
            table=self.location,
            read_version=-1,
            intent=wanted,
            guards=guards,
            actions=commit_lines(proposal, info),
            consequences=Consequences(time_travel="The table begins with this version.", undo=proposal.undo),
            accepted=tuple(accept),
            txn_id=txn_id,
            proposal=proposal,
            checked_rows=check_rows,
            user=user,
        )

    def commit(self, plan: CommitPlan, *, reason: str | None = None, user: str | None = None) -> CommitResult:
        """Make the table; what came of it is a value.

        Args:
            plan: The plan. If someone was faster it is in conflict with them.
            reason: Why; kept in the history.
            user: Who commits.

        Raises:
            NotAllowed: The place was opened for reading only.
        """
        from explorer.core.transaction.commit.committer import commit_plan

        if self.read_only:
            raise NotAllowed(f"The table {self.location} was opened for reading only.", location=self.location)
        # Of a table the committer uses what this class has too, as long as there is no version to rest on; and once
        # there is one, it stands against version 0.
        return commit_plan(cast("Table", self), plan, reason=reason, user=user)

    def _place_guard(self) -> GuardResult:
        """Whether other files lie where the table's will."""
        others = (key for key in self.store.list_tree() if not key.startswith("_delta_log/"))
        found = sorted(islice(others, _SHOWN))
        if not found:
            return GuardResult("location-free", "pass", {"detail": "Nothing lies there."})
        evidence = {"files": found, "detail": f"Files lie there already, such as {found[0]}."}
        remedy = "Choose an empty folder. To make the files there part of a table, append them to one elsewhere."
        return GuardResult("location-free", "fail", evidence, remedy)

    def _outer_guard(self) -> GuardResult:
        """Whether the place lies in the folder of another table, whose clean-up would delete what is put there."""
        looked = []
        for place in _outer_places(self.location):
            try:
                store, _ = self.store.elsewhere(f"{place}/")
                found = next(iter(store.list_from("_delta_log")), None)
            except NotAllowed:
                break  # what lies further out is nothing to this program
            except ExplorerError as error:
                evidence: dict[str, Any] = {"location": place, "detail": f"It could not be looked into: {error}"}
                remedy = "Make sure that this is no table, and accept this guard by name."
                return GuardResult("outside-other-tables", "unknown", evidence, remedy)
            if found is not None:
                detail = f"{place} is a table: its VACUUM would take the new table's files for leftovers."
                evidence = {"location": place, "detail": detail}
                return GuardResult("outside-other-tables", "fail", evidence, "Choose a folder beside that table.")
            looked.append(place)
        detail = "The place lies in no other table."
        return GuardResult("outside-other-tables", "pass", {"looked at": looked, "detail": detail})


def _outer_places(location: str) -> Iterator[str]:
    """The folders round a place, from the inside to the outside, decoded."""
    place = decode_path(location).rstrip("/")
    path = place.rpartition("://")[2]
    for _ in range(path.count("/")):
        place = place.rpartition("/")[0]
        if place and not place.endswith((":/", "://")):
            yield place


def _with_types(proposal: Proposal) -> Proposal:
    """The proposal with Spark's word on the types of generated columns, if it has some and Spark can be had."""
    from explorer.core.errors import EngineUnavailable
    from explorer.core.transaction.proposals.create_table import generation_expressions

    assert proposal.metadata is not None
    assert proposal.metadata.schema_string is not None
    schema = parse_schema(proposal.metadata.schema_string)
    expressions = generation_expressions(schema)
    if not expressions:
        return proposal
    from explorer.spark.checks.generated_types import type_guard

    try:
        found = type_guard(schema, expressions)
    except EngineUnavailable as error:
        evidence = {"expressions": expressions, "detail": str(error)}
        found = GuardResult("generated-types", "unknown", evidence, "Install Java, or accept this guard by name.")
    guards = tuple(found if guard.name == found.name else guard for guard in proposal.guards)
    return msgspec.structs.replace(proposal, guards=guards)
