"""The page's component: its script, its style sheet and fonts, and the messages between browser and server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from panel.custom import JSComponent
from panel.io.resources import component_resource_path

from explorer.views.figures.theme import DARK, LIGHT, css_variables

__all__ = ["FONT_FILES", "Page", "head_styles"]

_STATIC = Path(__file__).parent / "static"
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
        "fonts": {name: f"static/fonts/roboto-{name}-wght-normal.woff2" for name in FONT_FILES}
    }

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the browser."""
        self._send_msg(message)


def head_styles() -> str:
    """Return the HTML of the page's styles: tokens and faces inline, the sheet by its address."""
    version = hashlib.sha256((_STATIC / "app.css").read_bytes()).hexdigest()[:12]
    faces = "".join(_face(name) for name in FONT_FILES)
    tokens = f":root{{{css_variables(LIGHT)}}}:root[data-theme=dark]{{{css_variables(DARK)}}}"
    sheet = component_resource_path(Page, "_css", "static/app.css")
    return f'<style>{tokens}{faces}</style><link rel="stylesheet" href="{sheet}?v={version}">'


def _face(name: str) -> str:
    url = component_resource_path(Page, "_resources/fonts", f"static/fonts/roboto-{name}-wght-normal.woff2")
    return (
        "@font-face{font-family:Roboto;font-style:normal;font-weight:100 900;font-display:swap;"
        f'src:url("{url}") format("woff2");unicode-range:{_UNICODE_RANGES[name]}}}'
    )
