"""The web pages, on Panel.

    from explorer.web import serve
    serve(["warehouse"], port=5007)

or ``panel serve explorer/web/main.py --args warehouse``.

In: the roots to serve, the address of a page (its query string is its whole state), and messages of a window.
Out: regions of HTML, two figures, and what changed since the window was last drawn.
Always: one address gives one page. Every value is escaped by the templates. Only tables under the roots are served,
links resolved. Long work runs on a thread and only the newest request of a window is answered; an error is shown in the
page and logged. A commit is allowed or refused by the table, never by a page.
"""

import explorer.web.allocator  # noqa: F401  # first: Arrow reads where to take its memory when it is loaded
from explorer.web.app import create_app
from explorer.web.serving.server import serve

__all__ = ["create_app", "serve"]
