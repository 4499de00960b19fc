"""What a window has under way, for pages without a window."""

from explorer.web.catalog import Catalog
from explorer.web.change_desk import ChangeDesk
from explorer.web.feed import FeedWork
from explorer.web.row_diffs import DifferencesWork
from explorer.web.rows import RowsWork
from explorer.web.works import Works

__all__ = ["idle_works", "works_at"]


def works_at(desk: ChangeDesk) -> Works:
    """Nothing but a desk."""
    return Works(RowsWork(list), FeedWork(list), DifferencesWork(list), desk)


def idle_works(catalog: Catalog) -> Works:
    """Nothing."""
    return Works.of(catalog, "", signed_in=False, changed=list)
