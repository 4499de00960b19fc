"""What is answered at an address that is no page: one that was mistyped, or that another program had here."""

from __future__ import annotations

from markupsafe import Markup
from tornado.web import RequestHandler

from explorer.web.app import icon, script
from explorer.web.page import head_styles
from explorer.web.render import render

__all__ = ["UnknownAddress"]


class UnknownAddress(RequestHandler):
    """Answers every request with 404 and the way to the list of tables."""

    def prepare(self) -> None:
        """Answer, whatever the method is."""
        # The styles and the script are files of this package; the path is the visitor's, and is escaped.
        ours = {"head_styles": Markup(head_styles()), "theme_script": Markup(script("theme")), "icon": icon()}  # noqa: S704
        self.set_status(404)
        self.finish(render("unknown-address", path=self.request.path, **ours))
