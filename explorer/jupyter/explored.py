"""What the parts of the widget know of the whole: the choice that all of them show, and how a control changes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from explorer.core.versions.delta_log import DeltaLog
from explorer.views import TableView

__all__ = ["Explored"]


class Explored(Protocol):
    """One table with what a person has chosen of it, as `explorer.jupyter.widget.TableExplorer` is.

    Attributes:
        predicate: The condition; empty for none.
        selected_files: Decoded paths of the selected files.
        allow_commits: The table may be changed from here.
    """

    allow_commits: bool
    predicate: str
    selected_files: tuple[str, ...]

    @property
    def table(self) -> DeltaLog:
        """The table's log."""

    @property
    def view(self) -> TableView:
        """The chosen version, the one it is compared with, and what follows from them."""

    def select(self, paths: Iterable[str], *, selected: bool) -> None:
        """Select files, or let them go."""

    def propose(self, predicate: str) -> None:
        """Take a condition that was typed, if it is one; where it was typed says what is wrong with another."""

    def turn_to(self, tab: str, **state: object) -> None:
        """Open a part with other values of the traits; a value that cannot be shown is said, and nothing changes."""

    def refresh(self) -> None:
        """Look for new versions of the table; the chosen one stays."""
