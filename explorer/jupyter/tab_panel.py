"""What every part of the widget answers to."""

from __future__ import annotations

import ipywidgets

from explorer.jupyter.explored import Explored
from explorer.jupyter.list_box import ListBox

__all__ = ["TabPanel"]


class TabPanel(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A part of the widget.

    Args:
        explored: The whole.
        children: What the part shows.
    """

    def __init__(self, explored: Explored, children: list[ipywidgets.Widget]) -> None:
        self._explored = explored
        super().__init__(children)

    def draw(self) -> None:
        """Show the choice as it is now."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stop what runs; nothing happens if nothing does."""

    def show_predicate(self) -> None:
        """Put the controls to the condition of the whole; a part without one has nothing to do."""

    def show_selection(self) -> None:
        """Mark the selected files in the lists."""
        for found in self._lists:
            found.show_selection(frozenset(self._explored.selected_files))

    def pick(self, name: str, row: int, *, selected: bool) -> None:
        """Select the file in a row of the page of a list, or let it go; nothing happens if the list is elsewhere."""
        for found in self._lists:
            if found.name == name and (path := found.path_at(row)) is not None:
                self._explored.select([path], selected=selected)

    @property
    def _lists(self) -> list[ListBox]:
        return [child for child in self.children if isinstance(child, ListBox)]
