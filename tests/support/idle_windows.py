"""What a window has under way, for pages without a window."""

from explorer.web.act_desk import ChangeDesk
from explorer.web.served_tables import Catalog
from explorer.web.tabs.changes import FeedWork
from explorer.web.tabs.data import RowsWork
from explorer.web.tabs.diff_rows import DifferencesWork
from explorer.web.window_work import Works

__all__ = ["idle_works", "works_at"]


def works_at(desk: ChangeDesk) -> Works:
    """Nothing but a desk."""
    return Works(RowsWork(list), FeedWork(list), DifferencesWork(list), desk)


def idle_works(catalog: Catalog) -> Works:
    """Nothing."""
    return Works.of(catalog, "", signed_in=False, changed=list)
