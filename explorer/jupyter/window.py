"""One view of a widget: the session of its page, whose address and the widget's traits follow each other."""

from __future__ import annotations

from collections.abc import Callable

from explorer.jupyter.notebook_host import NotebookHost
from explorer.page.address import Address
from explorer.page.pages import Rendered
from explorer.page.render import environment
from explorer.page.skeleton import first_figures, window_values
from explorer.page.strip import Screen
from explorer.page.table_session import TableSession
from explorer.page.tables.tables import Tables

__all__ = ["WidgetWindow"]


class WidgetWindow(TableSession):
    """The session of one view.

    Args:
        tables, query, theme, screen: As for `TableSession`.
        host: The view.
        shows: Called with each page of the address, before it is sent.
    """

    def __init__(
        self,
        tables: Tables,
        host: NotebookHost,
        query: str,
        *,
        theme: str,
        screen: Screen | None,
        shows: Callable[[WidgetWindow, Rendered], None],
    ) -> None:
        self._shows = shows
        self.view_host = host
        super().__init__(tables, host, query, theme, screen=screen, early_spark=True, later=True)

    async def begin_page(self) -> None:
        """Make the first page, and send it; the kernel's loop goes on meanwhile."""
        await self.prepare()
        self.send_page()

    def send_page(self) -> None:
        """Send the first page; what is not there yet is waited for."""
        self.open()
        shown = self.shown
        self.host.send(
            {
                "kind": "window",
                "html": environment("explorer.jupyter")
                .get_template("window.html")
                .render(window_values(shown, self.kind)),
                "figures": first_figures(shown),
                "query": self.query,
                "mark": self.mark,
                "theme": self.theme,
            }
        )

    def about_to_draw(self, rendered: Rendered) -> None:
        """Let the traits follow the page, before it is shown."""
        self._shows(self, rendered)
        super().about_to_draw(rendered)

    def move(self, **changes: object) -> None:
        """Go to the same address with some fields changed."""
        query = Address.parse(self.query).to(**changes)
        if query != self.query:
            self.drawing.patch({}, self.newest, query)
            self.show(query, self.newest)
