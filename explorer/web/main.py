"""What ``panel serve`` can be pointed at:

    panel serve explorer/web/main.py --args warehouse more/tables
    DELTA_EXPLORER_ROOTS=warehouse:more/tables panel serve explorer/web/main.py

The roots are the arguments; without any, the folders in DELTA_EXPLORER_ROOTS (separated as in PATH).
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

from explorer.core.errors import RequestError
from explorer.web.app import create_app

__all__ = ["roots_from"]


def roots_from(arguments: list[str], variable: str) -> tuple[str, ...]:
    """Return the roots: the arguments, else the folders in the variable.

    Raises:
        RequestError: There are none.
    """
    roots = tuple(arguments) or tuple(root for root in variable.split(os.pathsep) if root)
    if not roots:
        raise RequestError("No root to serve. Give folders after --args, or in DELTA_EXPLORER_ROOTS.", field="roots")
    return roots


@cache
def _app(roots: tuple[str, ...]) -> Any:
    return create_app(roots)


if __name__.startswith("bokeh_app"):
    # Panel runs this file anew for each request; the application behind it is made once.
    import_module("explorer.web.main")._app(
        roots_from(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ROOTS", ""))
    )().servable()
