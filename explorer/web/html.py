"""HTML around the regions of a page: the nonce, styles, scripts, templates, and pages that need no session.

Invariant: a script or a style without the nonce of its request does not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, Final

import jinja2
import panel as pn
from bokeh.embed.util import RenderItem
from bokeh.server.contexts import _RequestProxy
from markupsafe import Markup
from tornado.httputil import HTTPServerRequest

from explorer.page import render as page_render
from explorer.page.resources import FOLDER, SCRIPTS, SHEETS, edition, font_faces, plotly_script, tokens

_KEPT_AS: Final = "_explorer_nonce"


def nonce_of(request: HTTPServerRequest | _RequestProxy) -> str:
    """Return the nonce of a request: 128 random bits, the same for its page and its headers.

    Args:
        request: A request, or the proxy of it that Bokeh passes to the session.
    """
    original: Any = request._request if isinstance(request, _RequestProxy) else request
    if not isinstance(original, HTTPServerRequest):
        # A session made for a late WebSocket has no page, and so no scripts to mark.
        return ""
    nonce: str = vars(original).setdefault(_KEPT_AS, secrets.token_urlsafe(16))
    return nonce


def environment() -> jinja2.Environment:
    """Return the environment of the templates."""
    return page_render.environment("explorer.web")


def render(template: str, /, **values: Any) -> str:
    """Return a template's HTML."""
    return environment().get_template(f"{template}.html").render(values)


def render_blocks(template_name: str, /, **values: Any) -> dict[str, str]:
    """Return each block of a template as HTML, by the block's name."""
    return page_render.blocks(environment().get_template(f"{template_name}.html"), values)


STATIC: Final = Path(__file__).parent / "static"


def head_styles(nonce: str, home: str = "") -> Markup:
    """Return the HTML of a page's styles: tokens and faces inline, the sheet by its address.

    Args:
        nonce: The nonce of the request.
        home: The prefix of the addresses, ending with a slash; empty for a page at that prefix.
    """
    folder = f"{home}page/{edition()}/"
    own = Markup(tokens(":root") + font_faces(f"{folder}style/"))  # noqa: S704  # this program's colors and addresses
    links = (Markup('<link rel="stylesheet" href="{}">').format(folder + sheet) for sheet in SHEETS)
    return Markup('<style nonce="{}">{}</style>{}').format(nonce, own, Markup().join(links))


def script_tag(name: str, nonce: str, home: str = "") -> Markup:
    """Return the HTML that runs one of the scripts of this host.

    Args:
        name: Its file without the ending.
        nonce: As for `head_styles`.
        home: As for `head_styles`.
    """
    return Markup('<script nonce="{}" src="{}static/{}.js?v={}"></script>').format(nonce, home, name, _digest(name))


def module_tag(nonce: str) -> Markup:
    """Return the HTML that runs the page's script as soon as it is loaded, whatever else is."""
    return Markup(
        '<script type="module" async nonce="{}" src="static/start.js?v={}" data-page="page/{}/script/"></script>'
    ).format(nonce, _digest("start"), edition())


def preload_tags(nonce: str) -> Markup:
    """Return the HTML that loads the page's modules while the page is read: start.js imports one after another."""
    link = Markup('<link rel="modulepreload" nonce="{}" href="page/{}/script/{}.js">')
    return Markup().join(link.format(nonce, edition(), name) for name in SCRIPTS if name != "styled")


def lake_tags(nonce: str) -> Markup:
    """Return the HTML that loads the style and the script of the list of tables, for the head of its page."""
    style = Markup('<link rel="stylesheet" nonce="{}" href="static/lake.css?v={}">').format(nonce, _digest("lake.css"))
    script = Markup('<link rel="preload" as="script" nonce="{}" href="static/lake.js?v={}">').format(
        nonce, _digest("lake")
    )
    return style + script


def lanes_tag(nonce: str) -> Markup:
    """Return the HTML that runs the script of the list of tables, after the list and before the scripts of the page."""
    return Markup('<script nonce="{}" src="static/lake.js?v={}"></script>').format(nonce, _digest("lake"))


def plotly_tag(nonce: str) -> Markup:
    """Return the HTML that loads plotly."""
    return Markup('<script id="plotly" nonce="{}" src="static/plotly.min.js?v={}"></script>').format(nonce, _plotly())


@cache
def icon() -> str:
    """Return the pages' icon as a data URL."""
    svg = (STATIC / "icon.svg").read_bytes()
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


@cache
def _digest(name: str) -> str:
    folder = FOLDER / "script" if name == "styled" else STATIC
    return hashlib.sha256((folder / (name if "." in name else f"{name}.js")).read_bytes()).hexdigest()[:12]


@cache
def _plotly() -> str:
    return hashlib.sha256(plotly_script().read_bytes()).hexdigest()[:12]


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


_ADDRESS: Final = re.compile(r'<script[^>]* src="([^"]+)"')
# A module loader for browsers without modules (static/connect.js replaces it), and WebGL, which no figure uses.
_UNUSED: Final = ("es-module-shims", "bokeh-gl")


def script_addresses(tags: str) -> Sequence[str]:
    """Return the addresses of Bokeh's and Panel's scripts, each with an edition for browser caches.

    Args:
        tags: The script elements that Panel generates.
    """
    addresses = (unescape(address) for address in _ADDRESS.findall(tags))
    return [
        address if "?v=" in address else f"{address}?v={pn.__version__}"
        for address in addresses
        if not any(name in address for name in _UNUSED)
    ]


def script_json(value: Any) -> Markup:
    """Return JSON for a script element, without characters that could end the element."""
    return Markup(json.dumps(value, allow_nan=False).replace("<", "\\u003c"))  # noqa: S704  # see above


def sessions_json(items: Sequence[RenderItem]) -> Markup:
    """Return the JSON that connects the elements of a page to its session, for a script element."""
    return script_json([item.to_json() for item in items])
