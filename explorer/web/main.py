"""The file for ``panel serve``:

    panel serve explorer/web/main.py --args warehouse more/tables
    DELTA_EXPLORER_ROOTS=warehouse:more/tables panel serve explorer/web/main.py

The roots are the arguments; without any, the folders in DELTA_EXPLORER_ROOTS (separated as in PATH). Panel's server
knows nobody, so tables are only read here: ``delta-explorer serve`` lets people commit and asks who they are.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

import panel as pn

from explorer.core.errors import NotAllowed, RequestError
from explorer.debug import quiet_handlers
from explorer.web.app import create_app
from explorer.web.serving.panel_gate import guard_panel, page_refusal

__all__ = ["check_read_only", "roots_from"]

_ALLOW = "--allow-commits"


def roots_from(arguments: list[str], variable: str) -> tuple[str, ...]:
    """Return the roots: the arguments, else the folders in the variable.

    Raises:
        RequestError: There are none.
    """
    roots = tuple(arguments) or tuple(root for root in variable.split(os.pathsep) if root)
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
def _app(roots: tuple[str, ...]) -> Any:
    quiet_handlers()
    guard_panel()
    return create_app(roots)


if __name__.startswith("bokeh_app"):
    # Panel runs this file again for each request; the application behind it is made once.
    check_read_only(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ALLOW_COMMITS", ""))
    module = import_module("explorer.web.main")
    app = module._app(roots_from(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ROOTS", "")))
    refusal = page_refusal(pn.state.curdoc)
    if refusal is None:
        app().servable()
    else:
        pn.pane.Str(f"{refusal.title}. {refusal.message} {refusal.next_step}").servable()
