"""What one window has under way: rows, changes, differences of rows, and a change of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.web.act_desk import ChangeDesk
from explorer.web.served_tables import Catalog
from explorer.web.tabs.changes import FeedWork
from explorer.web.tabs.data import RowsWork
from explorer.web.tabs.diff_rows import DifferencesWork

__all__ = ["Works"]


@dataclass(frozen=True, slots=True)
class Works:
    """The work of a window, one of each kind at a time."""

    rows: RowsWork
    feed: FeedWork
    differences: DifferencesWork
    desk: ChangeDesk

    @classmethod
    def of(cls, catalog: Catalog, person: str, *, signed_in: bool, changed: Callable[[], None]) -> Works:
        """Return the work of a new window: nothing yet; arguments as for `ChangeDesk`."""
        desk = ChangeDesk(catalog, person, signed_in=signed_in, changed=changed)
        return cls(RowsWork(changed), FeedWork(changed), DifferencesWork(changed), desk)

    def cancel_rows(self) -> None:
        """Stop what Spark is doing for the tabs that show rows."""
        for work in (self.rows, self.feed, self.differences):
            work.cancel()

    def cancel(self) -> None:
        """Stop everything that can be stopped: the window is gone."""
        self.cancel_rows()
        self.desk.cancel_look()
