"""The files that a page loads: scripts and styles of Bokeh, Panel, and our own. Other files are not served."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bokeh.settings import settings
from panel.io.resources import COMPONENT_PATH, DIST_DIR
from tornado.web import HTTPError, StaticFileHandler

from explorer.web import page

__all__ = ["static_routes"]

_OWN: Final = Path(page.__file__).parent / "static"
_COMPONENT: Final = f"/{COMPONENT_PATH}explorer\\.web\\.page/Page"


class StaticFile(StaticFileHandler):
    """A file that can only be read."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """Answer 404 for a name with a zero byte, which the file system refuses."""
        if "\0" in absolute_path:
            raise HTTPError(404)
        return super().validate_absolute_path(root, absolute_path)


def static_routes() -> list[tuple[str, type[StaticFileHandler], dict[str, Any]]]:
    """Return the addresses of files, with their handlers and folders."""
    return [
        (r"/static/extensions/panel/(.*\.(?:js|css|woff2?|svg|png))", StaticFile, {"path": str(DIST_DIR)}),
        (r"/static/(js/bokeh[a-z-]*\.min\.js)", StaticFile, {"path": str(settings.bokehjs_path())}),
        (rf"{_COMPONENT}/_css/static/(app\.css)", StaticFile, {"path": str(_OWN)}),
        (rf"{_COMPONENT}/_resources/scripts/static/([a-z]+\.js)", StaticFile, {"path": str(_OWN)}),
        (rf"{_COMPONENT}/_resources/fonts/static/(fonts/[a-z-]+\.woff2)", StaticFile, {"path": str(_OWN)}),
    ]
