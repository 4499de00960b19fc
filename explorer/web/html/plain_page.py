"""Pages without a session: an unknown address, a refusal, the login."""

from __future__ import annotations

from typing import Any

from tornado.httputil import HTTPServerRequest

from explorer.web.html.nonce import nonce_of
from explorer.web.html.page_styles import head_styles, icon, script_tag
from explorer.web.html.templates import render

__all__ = ["plain_page"]


def plain_page(template: str, request: HTTPServerRequest, /, *, home: str = "/", **values: Any) -> str:
    """Return the HTML of a page whose template extends ``plain-page.html``.

    Args:
        template: The template's name, without its suffix. It fills the blocks ``title`` and ``content``.
        request: The request. Scripts and styles carry its nonce.
        home: The address of the list of tables, ending with a slash. Addresses of scripts and styles start with it.
        values: Values of the template.
    """
    nonce = nonce_of(request)
    return render(
        template,
        head_styles=head_styles(nonce, home),
        theme_script=script_tag("theme", nonce, home),
        icon=icon(),
        home=home,
        **values,
    )
