"""The web pages, on Panel.

    from explorer.web import serve
    serve(["warehouse"], port=5007)

or ``panel serve explorer/web/main.py --args warehouse``.
"""

from explorer.web.app import create_app, serve

__all__ = ["create_app", "serve"]
