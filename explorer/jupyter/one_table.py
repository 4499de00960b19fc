"""The one table of a widget, as its page finds and changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from explorer.auditing.erasure import Neighbour
from explorer.core.errors import NotAllowed, RequestError
from explorer.core.transaction.changeable_table import ChangeableTable, TableAround
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.delta_log import DeltaLog
from explorer.page.approvals import Approvals
from explorer.page.kept_results import KeptResults
from explorer.page.palette_names import PaletteNames
from explorer.page.tables import FollowedTable, FollowedTables
from explorer.report.signature import SigningKey
from explorer.views import TableFacts
from explorer.views.act.desk.draft import Attempts


class OneTable(FollowedTables):
    """The table of a widget: a `explorer.page.tables.Tables` with one entry, whatever name is asked for.

    Args:
        table: The table; one that can be changed if ``allow_commits``.
        allow_commits: It may be changed.
        others: Tables to compare it with.

    Attributes:
        allow_commits: As given.
        attempts: What its windows carry out.
        key: None: nothing is signed in a notebook.
        picks_files: Yes: code takes the selected files from the widget.
        kept: None: nobody else can open an address of a notebook.
        approvals: None: whoever runs a notebook can write to the table by other ways.
        place, commits_with: As `DeskTables` has them.
        palette_names: The one table.
    """

    def __init__(self, table: DeltaLog, *, allow_commits: bool, others: Sequence[DeltaLog] = ()) -> None:
        self.allow_commits = allow_commits
        self.attempts = Attempts()
        self.picks_files = True
        self.kept: KeptResults | None = None
        self.approvals: Approvals | None = None
        self.place, self.commits_with = "widget", "table.explore(allow_commits=True)"
        self.key: SigningKey | None = None
        self._table = table
        self._followed = FollowedTable(table.successor, table.name)
        self._others = {other.name: FollowedTable(other.successor, other.name) for other in others}
        self.palette_names = PaletteNames(lambda: ((table.name,), False))

    def location(self, name: str) -> str:  # noqa: ARG002  # there is one
        """Return where the table is."""
        return self._table.location

    def other(self, name: str) -> TableFacts:
        """Return the facts of a table that was given to compare with, or of the table itself by its name.

        Raises:
            RequestError: No such table was given.
        """
        if name == self._table.name:
            return self._followed.facts()
        if name not in self._others:
            known = ", ".join(self._others) or "none"
            raise RequestError(
                f"This widget has no table {name!r} to compare with; it has: {known}. Give it one with "
                "table.explore(beside=[other]).",
                field="with",
                allowed=tuple(self._others),
            )
        return self._others[name].facts()

    def other_names(self) -> tuple[str, ...] | None:
        """Return the names of the tables that were given to compare with; None without any."""
        return tuple(self._others) or None

    def beside(self) -> tuple[Iterable[Neighbour], tuple[str, ...]]:
        """Return no tables: a notebook knows no others."""
        return (), ()

    def open(self, name: str) -> ChangeableTable:  # noqa: ARG002  # there is one
        """Return the table; one that may not be changed plans, and refuses commits."""
        return self._changeable if self.allow_commits else PlannedTable(self._changeable)

    def check_source(self, name: str, source: str) -> None:  # noqa: ARG002  # there is one
        """Refuse a source of rows that may not be read."""
        self._changeable.check_source(source)

    def _followed_table(self, name: str) -> FollowedTable:  # noqa: ARG002  # there is one
        return self._followed

    @property
    def _changeable(self) -> ChangeableTable:
        table: object = self._table
        if not isinstance(table, ChangeableTable):
            raise NotAllowed(
                f"{self._table.name} was opened as a log, which can be read and not changed. Open it with "
                "explorer.open_table().",
                location=self._table.location,
            )
        return table


class PlannedTable(TableAround[ChangeableTable]):
    """A table that plans changes and refuses to make them."""

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,  # noqa: ARG002  # nothing is committed
        user: str | None = None,  # noqa: ARG002  # as above
        watch: Callable[[RowJob[CheckReport]], None] | None = None,  # noqa: ARG002  # as above
    ) -> PlanResult:
        """Refuse to carry out a plan.

        Raises:
            NotAllowed: Always.
        """
        raise NotAllowed(
            f"This widget only plans changes to {plan.table}. To commit from a widget, create it with "
            "table.explore(allow_commits=True).",
            location=plan.table,
        )
