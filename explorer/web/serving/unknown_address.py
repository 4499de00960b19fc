"""What is answered at an address that is no page: one that was mistyped, or that another program had here."""

from __future__ import annotations

from explorer.web.serving.handlers import PageHandler

__all__ = ["UnknownAddress"]


class UnknownAddress(PageHandler):
    """Answers every request with 404 and the way to the list of tables."""

    def prepare(self) -> None:
        """Answer, whatever the method is."""
        self.set_status(404)
        self.answer_page("unknown-address", path=self.request.path)
