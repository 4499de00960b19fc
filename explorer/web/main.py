"""The file for ``panel serve``:

    panel serve explorer/web/main.py --args warehouse more/tables
    DELTA_EXPLORER_ROOTS=warehouse:more/tables panel serve explorer/web/main.py

The roots are the arguments; without any, the folders in DELTA_EXPLORER_ROOTS (separated as in PATH). Changes can be
committed only with --allow-commits among the arguments, or with DELTA_EXPLORER_ALLOW_COMMITS=yes.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

from explorer.core.errors import RequestError
from explorer.web.app import create_app

__all__ = ["commits_allowed", "roots_from"]

_ALLOW = "--allow-commits"


def roots_from(arguments: list[str], variable: str) -> tuple[str, ...]:
    """Return the roots: the arguments, else the folders in the variable.

    Raises:
        RequestError: There are none.
    """
    roots = tuple(argument for argument in arguments if argument != _ALLOW) or tuple(
        root for root in variable.split(os.pathsep) if root
    )
    if not roots:
        raise RequestError("No root to serve. Give folders after --args, or in DELTA_EXPLORER_ROOTS.", field="roots")
    return roots


def commits_allowed(arguments: list[str], variable: str) -> bool:
    """Whether the arguments or the variable allow commits; anything but ``yes`` in the variable does not."""
    return _ALLOW in arguments or variable == "yes"


@cache
def _app(roots: tuple[str, ...], allow_commits: bool) -> Any:
    return create_app(roots, allow_commits=allow_commits)


if __name__.startswith("bokeh_app"):
    # Panel runs this file again for each request; the application behind it is made once.
    import_module("explorer.web.main")._app(
        roots_from(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ROOTS", "")),
        commits_allowed(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ALLOW_COMMITS", "")),
    )().servable()
