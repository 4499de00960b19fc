"""What is answered at an address that is no page: one that was mistyped, or that another program had here."""

from __future__ import annotations

from tornado.web import RequestHandler

from explorer.web.html.plain_page import plain_page

__all__ = ["UnknownAddress"]


class UnknownAddress(RequestHandler):
    """Answers every request with 404 and the way to the list of tables."""

    def prepare(self) -> None:
        """Answer, whatever the method is."""
        self.set_status(404)
        self.finish(plain_page("unknown-address", self.request, path=self.request.path))
