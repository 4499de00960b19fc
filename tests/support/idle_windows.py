"""What a window has under way, for pages without a window."""

from explorer.report.case_desk import CaseDesk
from explorer.web.act.desk import ActDesk
from explorer.web.identity import Identity
from explorer.web.served_tables import Catalog
from explorer.web.tabs import begin_work
from explorer.web.tabs.changes import FeedWork
from explorer.web.tabs.data import RowsWork
from explorer.web.tabs.diff_rows import DifferencesWork
from explorer.web.window_work import NewWindow, WindowWork

__all__ = ["idle_work", "work_at"]


def idle_work(catalog: Catalog) -> WindowWork:
    """Nothing, for nobody."""
    return begin_work(NewWindow(catalog, "", Identity(), changed=list))


def work_at(desk: ActDesk) -> WindowWork:
    """Nothing but a desk."""
    return WindowWork([RowsWork(list), FeedWork(list), DifferencesWork(list), CaseDesk(), desk])
