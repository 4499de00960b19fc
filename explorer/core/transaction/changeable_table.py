"""A table on which changes are planned and committed, and what stands around one: it hands on all but the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from explorer.core.transaction.approval import Approval
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.snapshot import Snapshot


@runtime_checkable
class ChangeableTable(Protocol):
    """A table that plans and commits changes, as `explorer.Table` does."""

    @property
    def name(self) -> str:
        """Its name for people, which a person types to commit."""

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the table at a version."""

    def check_source(self, source: str) -> None:
        """Refuse a source of rows that may not be read."""

    def plan(
        self,
        intent: Intent,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change; nothing is written."""

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> PlanResult:
        """Carry out a plan."""


class ApprovableTable(ChangeableTable, Protocol):
    """One that takes the approval of a second person with a commit."""

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
        approval: Approval | None = None,
    ) -> PlanResult:
        """Carry out a plan."""


TableT = TypeVar("TableT", bound=ChangeableTable)


class TableAround(Generic[TableT]):
    """Wraps a table and decides how its plans are carried out: a `ChangeableTable` once it has `commit`.

    Args:
        table: The table.
    """

    def __init__(self, table: TableT) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """Its name for people, which a person types to commit."""
        return self._table.name

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the table at a version."""
        return self._table.snapshot(version)

    def check_source(self, source: str) -> None:
        """Refuse a source of rows that may not be read."""
        self._table.check_source(source)

    def plan(
        self,
        intent: Intent,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change; nothing is written."""
        return self._table.plan(intent, accept=accept, check_rows=check_rows, user=user, watch=watch)
