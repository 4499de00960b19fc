"""The one table of a widget, as its desk changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from explorer.core.errors import NotAllowed
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.desk.attempts import Attempts
from explorer.views.act.desk.draft import ChangeableTable

__all__ = ["OneTable", "PlannedTable"]


class OneTable:
    """Where the desk of a widget finds its table.

    Args:
        table: The table.
        allow_commits: It may be changed.
        changed: Called, on any thread, when it was.

    Attributes:
        allow_commits: As given.
        attempts: What the desk carries out.
    """

    def __init__(self, table: ChangeableTable, *, allow_commits: bool, changed: Callable[[], None]) -> None:
        self.allow_commits = allow_commits
        self.attempts = Attempts()
        self._table, self._changed = table, changed

    def open(self, name: str) -> ChangeableTable:  # noqa: ARG002 - there is one
        """Return the table; one that may not be changed plans, and refuses commits."""
        return self._table if self.allow_commits else PlannedTable(self._table)

    def check_source(self, name: str, source: str) -> None:  # noqa: ARG002 - there is one
        """Refuse a source of rows that may not be read."""
        self._table.check_source(source)

    def look_again(self, name: str, *, reopen: bool = False) -> None:  # noqa: ARG002 - there is one, which follows its log
        """Take notice that the table was changed."""
        self._changed()


class PlannedTable:
    """A table that plans changes and refuses to make them.

    Args:
        table: The table.
    """

    def __init__(self, table: ChangeableTable) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """Its name for people."""
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

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,  # noqa: ARG002 - nothing is committed
        user: str | None = None,  # noqa: ARG002
        watch: Callable[[RowJob[CheckReport]], None] | None = None,  # noqa: ARG002
    ) -> PlanResult:
        """Refuse to carry out a plan.

        Raises:
            NotAllowed: Always.
        """
        raise NotAllowed(
            f"This widget plans changes of {plan.table} and makes none. To commit from a widget, make it with "
            "table.explore(allow_commits=True).",
            location=plan.table,
        )
