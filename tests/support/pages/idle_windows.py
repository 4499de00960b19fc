"""What a window has under way, for pages without a window."""

from explorer.page.act.form import ActDesk
from explorer.page.act.requests import RequestDesk
from explorer.page.host import Identity
from explorer.page.tabs import begin_work
from explorer.page.tabs.changes import FeedWork
from explorer.page.tabs.data import RowsWork
from explorer.page.tabs.diff import DifferencesWork
from explorer.page.window import NewWindow, WindowWork
from explorer.report.case_desk import CaseDesk
from explorer.web.served_tables import Catalog

__all__ = ["idle_work", "work_at"]


def idle_work(catalog: Catalog) -> WindowWork:
    """Nothing, for nobody."""
    return begin_work(NewWindow(catalog, "", Identity(), changed=list))


def work_at(desk: ActDesk) -> WindowWork:
    """Nothing but a desk."""
    return WindowWork([RowsWork(list), FeedWork(list), DifferencesWork(list), CaseDesk(), desk, RequestDesk(None)])
