"""Delta Table Explorer: understand a Delta Lake table and change it safely.

Start with ``open_table("warehouse/orders")``, then ``snapshot()``, ``history()``, ``diff()`` and ``rows()``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from explorer.version import VERSION

if TYPE_CHECKING:
    from explorer.core.errors import (
        CommitError,
        EngineUnavailable,
        ExplorerError,
        RequestError,
        StorageError,
        TableError,
        UnsupportedFeature,
    )
    from explorer.core.versions.diff import SnapshotDiff
    from explorer.core.versions.history import History
    from explorer.core.versions.snapshot import Snapshot
    from explorer.fleet import audit
    from explorer.table import Table, compare, open_table

__all__ = [
    "CommitError",
    "EngineUnavailable",
    "ExplorerError",
    "History",
    "RequestError",
    "Snapshot",
    "SnapshotDiff",
    "StorageError",
    "Table",
    "TableError",
    "UnsupportedFeature",
    "audit",
    "compare",
    "open_table",
]
__version__ = VERSION


_ELSEWHERE: Final = {
    "History": "explorer.core.versions.history",
    "Snapshot": "explorer.core.versions.snapshot",
    "SnapshotDiff": "explorer.core.versions.diff",
    "Table": "explorer.table",
    "audit": "explorer.fleet",
    "compare": "explorer.table",
    "open_table": "explorer.table",
}
"""The modules of the names that are not errors."""


def __getattr__(name: str) -> object:
    """Load a public name at its first use: a command then imports what it needs, and in its own order."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "explorer.core.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Show tables, versions, plans and findings as cards, and add ``%delta``: ``%load_ext explorer`` in IPython."""
    from explorer.cli import magics
    from explorer.jupyter.displays import card_html, register

    register(shell.display_formatter)
    magics.register(shell, lambda card: str(card_html(card)))


def _announce() -> None:
    """In a notebook, show tables, versions, plans, findings and errors as cards from the first line on."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        from explorer.jupyter.announced import announce

        announce(shell.display_formatter)


_announce()
