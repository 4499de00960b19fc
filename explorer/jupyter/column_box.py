"""The choice of a column in the widget: a list of them, or where there are many a field that suggests some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import ipywidgets

from explorer import formatting as fmt
from explorer.jupyter.list_box import offer
from explorer.jupyter.parts import look
from explorer.views.column_search import MOST_OFFERED, column_matches

__all__ = ["ColumnBox"]

_NONE: Final = ("no column", "")
_WIDTH: Final = {"width": "220px"}


class ColumnBox(ipywidgets.HBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A list of columns, or a field that takes the name of one and suggests those like what was typed.

    Args:
        changed: Called when another column is chosen.

    Attributes:
        list: The list.
        search: The field.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed, self._names, self._value = changed, frozenset[str](), ""
        self._ordered: tuple[str, ...] = ()
        self._offering = False
        self.list = ipywidgets.Dropdown(options=[_NONE], tooltip="column", layout=dict(_WIDTH))
        self.search = ipywidgets.Combobox(tooltip="column", layout={**_WIDTH, "display": "none"})
        super().__init__([self.list, self.search], layout=look())
        for control in (self.list, self.search):
            control.observe(self._chosen, "value")

    @property
    def value(self) -> str:
        """The chosen column; empty where there is none. A name that no column has changes nothing."""
        return self._value

    @value.setter
    def value(self, name: str) -> None:
        if name in self._names:
            (self.search if self._many else self.list).value = name

    def offer(self, names: Sequence[str]) -> None:
        """Offer columns; the chosen one stays if it is among them."""
        if tuple(names) == self._ordered:
            return
        self._ordered, self._names = tuple(names), frozenset(names)
        self._offering = True
        try:
            if self._many:
                self._value = self._value if self._value in self._names else self._ordered[0]
                self.search.placeholder = f"one of {fmt.plural(len(self._ordered), 'column')}"
                self.search.value = self._value
                self._suggest("")
            else:
                offer(self.list, [(name, name) for name in self._ordered] or [_NONE])
                self._value = str(self.list.value)
        finally:
            self._offering = False
        self.list.layout.display, self.search.layout.display = ("none", None) if self._many else (None, "none")

    @property
    def _many(self) -> bool:
        return len(self._ordered) > MOST_OFFERED

    def _suggest(self, text: str) -> None:
        self.search.options = column_matches(self._ordered, text).names

    def _chosen(self, change: Any) -> None:
        name = str(change["new"])
        if self._offering:
            return
        if self._many:
            self._suggest(name)
        if name in self._names and name != self._value:
            self._value = name
            self._changed()
