"""Styles, scripts and the icon of a page, as its HTML names them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from markupsafe import Markup

from explorer.page.resources import FOLDER, SCRIPTS, SHEET, edition, font_faces, plotly_script, tokens

__all__ = ["STATIC", "head_styles", "icon", "module_tag", "plotly_tag", "preload_tags", "script_tag"]

STATIC: Final = Path(__file__).parents[1] / "static"


def head_styles(nonce: str, home: str = "") -> Markup:
    """Return the HTML of a page's styles: tokens and faces inline, the sheet by its address.

    Args:
        nonce: The nonce of the request.
        home: The prefix of the addresses, ending with a slash; empty for a page at that prefix.
    """
    folder = f"{home}page/{edition()}/"
    own = Markup(tokens(":root") + font_faces(f"{folder}style/"))  # noqa: S704  # this program's colors and addresses
    return Markup('<style nonce="{}">{}</style><link rel="stylesheet" href="{}">').format(nonce, own, folder + SHEET)


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
    return hashlib.sha256((folder / f"{name}.js").read_bytes()).hexdigest()[:12]


@cache
def _plotly() -> str:
    return hashlib.sha256(plotly_script().read_bytes()).hexdigest()[:12]
