"""The page's component: its scripts, its style sheet and fonts, and the messages between browser and server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from markupsafe import Markup
from panel.custom import JSComponent
from panel.io.resources import component_resource_path

from explorer.views.figures.theme import DARK, LIGHT, css_variables

__all__ = ["FONT_FILES", "SCRIPTS", "Page", "head_styles", "icon", "script_tag"]

_HERE: Final = Path(__file__).parent
_SHEET: Final = "static/app.css"
SCRIPTS: Final = ("theme", "first", "socket", "strip", "start")
FONT_FILES = ("latin", "latin-ext", "greek", "symbols")
_UNICODE_RANGES = {
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,"
    "U+2212,U+2215,U+FFFD",
    "latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,"
    "U+20A0-20AB,U+20AD-20C0,U+2113",
    "greek": "U+0370-03FF",
    "symbols": "U+2190,U+2192,U+2194-2199,U+2218-2219,U+2300-243F,U+25A0-27BF",
}


class Page(JSComponent):
    """The bridge between the page's script and its session. It shows nothing itself."""

    _esm = Path(__file__).parent / "static" / "page.js"
    # Panel serves what a component lists here, in `panel serve` as in `explorer.web.serve`.
    _css: ClassVar[list[str]] = ["static/app.css"]
    _resources: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "fonts": {name: f"static/fonts/roboto-{name}-wght-normal.woff2" for name in FONT_FILES},
        "scripts": {name: f"static/{name}.js" for name in SCRIPTS},
    }

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the browser."""
        self._send_msg(message)


def head_styles(nonce: str, home: str = "") -> Markup:
    """Return the HTML of a page's styles: tokens and faces inline, the sheet by its address.

    Args:
        nonce: The nonce of the request.
        home: The prefix of the addresses, ending with a slash; empty for a page at that prefix.
    """
    faces = "".join(_face(name, home) for name in FONT_FILES)
    light, dark = css_variables(LIGHT), css_variables(DARK)
    # Paper is light, whatever the screen is.
    tokens = f":root{{{light}}}:root[data-theme=dark]{{{dark}}}@media print{{:root[data-theme=dark]{{{light}}}}}"
    sheet = f"{home}{component_resource_path(Page, '_css', _SHEET)}?v={_edition(_SHEET)}"
    own = Markup(tokens + faces)  # noqa: S704  # made of this program's colors and addresses
    return Markup('<style nonce="{}">{}</style><link rel="stylesheet" href="{}">').format(nonce, own, sheet)


def script_tag(name: str, nonce: str, home: str = "") -> Markup:
    """Return the HTML that runs one of the page's scripts.

    Args:
        name: One of `SCRIPTS`.
        nonce: As for `head_styles`.
        home: As for `head_styles`.
    """
    path = Page._resources["scripts"][name]
    address = f"{home}{component_resource_path(Page, '_resources/scripts', path)}?v={_edition(path)}"
    return Markup('<script nonce="{}" src="{}"></script>').format(nonce, address)


@cache
def icon() -> str:
    """Return the pages' icon as a data URL."""
    svg = (_HERE / "static" / "icon.svg").read_bytes()
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


@cache
def _edition(path: str) -> str:
    """Return a digest of a file for its address, so that browsers may cache it for good."""
    return hashlib.sha256((_HERE / path).read_bytes()).hexdigest()[:12]


def _face(name: str, home: str) -> str:
    path = Page._resources["fonts"][name]
    url = f"{home}{component_resource_path(Page, '_resources/fonts', path)}?v={_edition(path)}"
    return (
        "@font-face{font-family:Roboto;font-style:normal;font-weight:100 900;font-display:swap;"
        f'src:url("{url}") format("woff2");unicode-range:{_UNICODE_RANGES[name]}}}'
    )
