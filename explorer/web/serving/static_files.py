"""The files that a page loads: scripts and styles of Bokeh, Panel, and our own. Other files are not served."""

from __future__ import annotations

from typing import Any

from bokeh.settings import settings
from panel.io.resources import DIST_DIR
from tornado.web import HTTPError, StaticFileHandler

from explorer.page.resources import FOLDER, plotly_script
from explorer.web.html.page_styles import STATIC
from explorer.web.serving.handlers import PageHandler

__all__ = ["static_routes"]


class StaticFile(StaticFileHandler, PageHandler):
    """A file that can only be read; a refused request is answered with a page in words."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """Answer 404 for a name with a zero byte, which the file system refuses."""
        if "\0" in absolute_path:
            raise HTTPError(404)
        return super().validate_absolute_path(root, absolute_path)


def static_routes() -> list[tuple[str, type[StaticFileHandler], dict[str, Any]]]:
    """Return the addresses of files, with their handlers and folders."""
    edition = r"/page/[0-9a-f]{12}/"
    return [
        (r"/static/extensions/panel/(.*\.(?:js|css|woff2?|svg|png))", StaticFile, {"path": str(DIST_DIR)}),
        (r"/static/(js/bokeh[a-z-]*\.min\.js)", StaticFile, {"path": str(settings.bokehjs_path())}),
        (r"/static/(plotly\.min\.js)", StaticFile, {"path": str(plotly_script().parent)}),
        (r"/static/(styled\.js)", StaticFile, {"path": str(FOLDER / "script")}),
        (r"/static/([a-z]+\.js)", StaticFile, {"path": str(STATIC)}),
        (edition + r"(script/[a-z]+\.js)", StaticFile, {"path": str(FOLDER)}),
        (edition + r"(style/app\.css)", StaticFile, {"path": str(FOLDER)}),
        (edition + r"(style/fonts/[a-z-]+\.woff2)", StaticFile, {"path": str(FOLDER)}),
    ]
