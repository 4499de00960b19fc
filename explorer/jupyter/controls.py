"""The controls of the chosen version and of the one it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from explorer.jupyter.parts import button, look, style

__all__ = ["VersionControls"]


class VersionControls(ipywidgets.HBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """Buttons that step, a slider over the readable versions, and the version compared with.

    Args:
        first, last: The versions that can be chosen.
        ask: Called with the version and the compared version (None: the one before) that a control chooses.
        ask_named: Called with a version or a time that was typed.
        refresh: Called to look for new versions.
    """

    def __init__(
        self,
        first: int,
        last: int,
        ask: Callable[[int, int | None], None],
        ask_named: Callable[[str], None],
        refresh: Callable[[], None],
    ) -> None:
        self._first, self._last, self._ask, self._ask_named = first, last, ask, ask_named
        self._version, self._other = last, last
        self._compared: int | None = None
        self.back = button("\u2039", tooltip="the version before", width="36px", lasting=True)
        self.onward = button("\u203a", tooltip="the next version", width="36px", lasting=True)
        # A slider whose ends are equal is an error in the browser.
        ends = {"min": first, "max": max(last, first + 1), "value": last}
        self.slider = ipywidgets.IntSlider(
            **ends, description="version", continuous_update=False, disabled=first == last,
            layout=look(width="360px"), style=style(ipywidgets.IntSlider),
        )  # fmt: skip
        self.other = ipywidgets.BoundedIntText(
            min=first, max=last, value=last, description="compared with", layout=look(width="190px"),
            style=style(ipywidgets.BoundedIntText, description_width="initial"),
        )  # fmt: skip
        self.reset = button("version before", tooltip="compare with the version before", lasting=True)
        self.named = ipywidgets.Text(
            placeholder="go to a version or time (UTC)", tooltip="version, or time: the newest version at or before it",
            continuous_update=False, layout=look(width="210px"), style=style(ipywidgets.Text),
        )  # fmt: skip
        self.refresh = button("\u21bb", tooltip="look for new versions", width="36px", lasting=True)
        super().__init__(
            [self.back, self.slider, self.onward, self.refresh, self.named, self.other, self.reset],
            layout=look(flex_flow="row wrap", align_items="center"),
        )
        self.slider.observe(self._slid, "value")
        self.other.observe(self._typed, "value")
        self.named.observe(self._named, "value")
        self.back.on_click(lambda _: ask(self._version - 1, self._compared))
        self.onward.on_click(lambda _: ask(self._version + 1, self._compared))
        self.reset.on_click(lambda _: ask(self._version, None))
        self.refresh.on_click(lambda _: refresh())

    def reach(self, first: int, last: int) -> None:
        """Take other versions that can be chosen."""
        self._first, self._last = first, last
        # Whichever end moves first, the least stays below the greatest.
        self.slider.max, self.other.max = max(self.slider.max, last, first + 1), max(self.other.max, last)
        self.slider.min, self.other.min = first, first
        self.slider.max, self.other.max = max(last, first + 1), last
        self.slider.disabled = first == last

    def show(self, version: int, compared: int | None, other: int) -> None:
        """Move the controls to a state; ``other`` is the version that None means."""
        self._version, self._compared, self._other = version, compared, other
        self.slider.value, self.other.value = version, other
        self.back.disabled, self.onward.disabled = version <= self._first, version >= self._last
        self.reset.disabled = compared is None

    # A control that `show` moves calls these handlers too: a state already reached is not asked for again.

    def _slid(self, change: Any) -> None:
        if change["new"] != self._version:
            self._ask(change["new"], self._compared)

    def _typed(self, change: Any) -> None:
        if change["new"] != self._other:
            self._ask(self._version, change["new"])

    def _named(self, change: Any) -> None:
        if change["new"].strip():
            self._ask_named(change["new"])
