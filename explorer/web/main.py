"""The file for ``panel serve``, which only reads tables:

    panel serve explorer/web/main.py --args warehouse more/tables
    DELTA_EXPLORER_ROOTS=warehouse:more/tables panel serve explorer/web/main.py

The roots are the arguments; if there are none, the folders in DELTA_EXPLORER_ROOTS, separated as in PATH, otherwise
the roots of explorer.toml. Its other keys hold too, but for those of `[serve]` that are Panel's own options. Panel runs
this file when the first page is requested, or at the start with ``--warm``. From then on, the application of
``delta-explorer serve`` answers every request. The first page contains nothing, and opens itself again.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from functools import cache
from importlib import import_module
from typing import Final

import jinja2
import panel as pn

from explorer.configuration.in_force import in_force
from explorer.configuration.records import Limits, Serve
from explorer.core.errors import NotAllowed, RequestError
from explorer.debug import quiet_handlers
from explorer.storage.served_root import ServedRoot, configured_roots, named_roots
from explorer.storage.served_roots import MOST_TABLES
from explorer.views.rows.spark_work import start_early
from explorer.web.app import create_app
from explorer.web.limits import PersonLimits, ServerLimits
from explorer.web.serving.panel_server import take_over

_ALLOW: Final = "--allow-commits"
PANELS: Final = ("port", "address", "public_url", "trusted_proxy", "sign")
"""The keys of ``[serve]`` for which Panel has options; and the one to sign, which only people who sign in may."""
_log = logging.getLogger(__name__)
FIRST_PAGE: Final = jinja2.Template(
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0">'
    '<link rel="icon" href="data:,"><title>Delta Table Explorer</title></head>'
    "<body><p>The server is ready. Open this page again.</p></body></html>"
)


def roots_from(arguments: list[str], variable: str) -> tuple[ServedRoot, ...]:
    """Return the roots: the arguments, else the folders and URLs in the variable, else those of the configuration.

    Raises:
        RequestError: There are none.
    """
    # The colon of a URL separates nothing.
    named = arguments or list(filter(None, re.split(f"{os.pathsep}(?!//)", variable)))
    roots = tuple(named_roots(named) if named else configured_roots())
    if not roots:
        raise RequestError(
            "No root to serve. Give folders after --args, in DELTA_EXPLORER_ROOTS, or as a table [[roots]] of "
            "explorer.toml.",
            field="roots",
        )
    return roots


def check_read_only(arguments: list[str], variable: str) -> None:
    """Refuse to serve for anything but reading.

    Raises:
        NotAllowed: The arguments or the variable ask for commits.
    """
    if _ALLOW in arguments or variable:
        raise NotAllowed(
            "Panel's server does not know who commits, so it only reads tables. To allow commits, run: "
            "delta-explorer serve --allow-commits",
            field="allow_commits",
        )


def check_settings(values: Serve) -> None:
    """Refuse a configuration of a server that asks who people are: with Panel's, everybody would read its tables.

    Raises:
        NotAllowed: It has a password file, or lets changes be committed.
    """
    for key in ("basic_auth", "allow_commits"):
        if getattr(values, key):
            raise NotAllowed(
                f"serve.{key} is set in explorer.toml, but Panel's server does not know who people are. Start the "
                "server with: delta-explorer serve. Or remove the key from the configuration that this one reads "
                "(DELTA_EXPLORER_CONFIG).",
                field=f"serve.{key}",
            )


def unused_settings(values: Serve) -> list[str]:
    """Return the keys of ``[serve]`` that are set and are for other servers: Panel has options of its own for them."""
    default = Serve()
    return [f"serve.{key}" for key in PANELS if getattr(values, key) != getattr(default, key)]


@cache
def start(roots: tuple[ServedRoot, ...]) -> None:
    """Let our application answer for Panel's, once for a process."""
    quiet_handlers()
    file = in_force().file
    values = Serve() if file is None else file.values.serve
    check_settings(values)
    if unused := unused_settings(values):
        _log.warning(
            "%s: not used by `panel serve`, which signs nothing, and has options of its own: --port, --address, "
            "--prefix, and --allow-websocket-origin.",
            ", ".join(unused),
        )
    limits = ServerLimits(PersonLimits.of(Limits() if file is None else file.values.limits))
    take_over(create_app(roots, most_tables=values.most_tables or MOST_TABLES, limits=limits))
    if values.spark_start:
        start_early()


if __name__.startswith("bokeh_app"):
    # Panel runs this file again for each page that was requested before; the module itself is loaded once.
    check_read_only(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ALLOW_COMMITS", ""))
    import_module("explorer.web.main").start(roots_from(sys.argv[1:], os.environ.get("DELTA_EXPLORER_ROOTS", "")))
    if pn.state.curdoc is not None:
        pn.state.curdoc.template = FIRST_PAGE
