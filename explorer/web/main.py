"""The file for ``panel serve``, which only reads tables:

    panel serve explorer/web/main.py --args warehouse more/tables
    DELTA_EXPLORER_ROOTS=warehouse:more/tables panel serve explorer/web/main.py

The roots are the arguments; if there are none, the folders in DELTA_EXPLORER_ROOTS, separated as in PATH. Panel runs
this file when the first page is requested, or at the start with ``--warm``. From then on, the application of
``delta-explorer serve`` answers every request. The first page contains nothing, and opens itself again.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from typing import Final

import jinja2
import panel as pn

from explorer.core.errors import NotAllowed, RequestError
from explorer.debug import quiet_handlers
from explorer.web.app import create_app
from explorer.web.serving.panel_server import take_over

_ALLOW: Final = "--allow-commits"
FIRST_PAGE: Final = jinja2.Template(
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0">'
    '<link rel="icon" href="data:,"><title>Delta Table Explorer</title></head>'
    "<body><p>The server is ready. Open this page again.</p></body></html>"
)


def roots_from(arguments: list[str], variable: str) -> tuple[str, ...]:
    """Return the roots: the arguments, else the folders and URLs in the variable.

    Raises:
        RequestError: There are none.
    """
    # The colon of a URL separates nothing.
    roots = tuple(arguments) or tuple(filter(None, re.split(f"{os.pathsep}(?!//)", variable)))
    if not roots:
        raise RequestError("No root to serve. Give folders after --args, or in DELTA_EXPLORER_ROOTS.", field="roots")
    return roots


def check_read_only(arguments: list[str], variable: str) -> None:
    """Refuse to serve for anything but reading.

    Raises:
        NotAllowed: The arguments or the variable ask for commits.
    """
    if _ALLOW in arguments or variable:
        raise NotAllowed(
            "Panel's server cannot ask who commits, so it only reads tables. To let changes be committed, run: "
            "delta-explorer serve --allow-commits",
            field="allow_commits",
        )


@cache
def start(roots: tuple[str, ...]) -> None:
    """Let our application answer for Panel's, once for a process."""
    quiet_handlers()
    take_over(create_app(roots))


if __name__.startswith("bokeh_app"):
    # Panel runs this file again for each page that was requested before; the module itself is loaded once.
    check_read_only(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ALLOW_COMMITS", ""))
    import_module("explorer.web.main").start(roots_from(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ROOTS", "")))
    if pn.state.curdoc is not None:
        pn.state.curdoc.template = FIRST_PAGE
