"""The answer at an address without a page, such as a mistyped one."""

from __future__ import annotations

from explorer.web.serving.handlers import PageHandler

__all__ = ["UnknownAddress"]


class UnknownAddress(PageHandler):
    """Answers every request with 404 and a link to the list of tables."""

    def prepare(self) -> None:
        """Answer every method."""
        self.set_status(404)
        self.answer_page("unknown-address", path=self.request.path)
