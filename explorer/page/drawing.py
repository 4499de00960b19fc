"""The page on show in one window: its first HTML, and the messages that change it, as differences between two pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from markupsafe import Markup

from explorer.page.host import Host
from explorer.page.pages import TABLE_REGIONS, Rendered
from explorer.page.tabs import LETTERS, TABS


class Drawing:
    """The page that a window shows.

    Args:
        host: Takes the messages.
        made: The page that came with the window.
        complete: Whether that page lacks nothing.

    Attributes:
        shown: The page on show.
        complete: Whether it lacks nothing.
    """

    def __init__(self, host: Host, made: Rendered, *, complete: bool) -> None:
        self._host = host
        # A script that says hello has seen nothing else.
        self._made = self.shown = made
        self.complete = complete
        self._sent = dict(made.regions)
        self._figures = _Figures(made)

    def draw(self, rendered: Rendered, number: int) -> None:
        """Show a page as the answer of a request: send what differs from what the window shows."""
        changed = {id_: html for id_, html in rendered.regions.items() if self._sent.get(id_) != html}
        self.shown, self.complete = rendered, not rendered.is_early
        self._sent |= changed
        message = {"kind": "patch", "regions": changed, "hidden": rendered.hidden, "number": number}
        self._host.send(message | {"title": rendered.title} | self._figures.messages(rendered))

    def patch(self, regions: Mapping[str, str], number: int, query: str = "", say: str = "") -> None:
        """Replace some parts of the page.

        Args:
            regions: HTML by the id of its element.
            number: The request that is answered.
            query: The address that follows from it; empty if it stays.
            say: A word about it for the person.
        """
        self._sent |= regions
        message = {"kind": "patch", "regions": dict(regions), "hidden": {}, "number": number}
        self._host.send(message | {name: text for name, text in (("query", query), ("say", say)) if text})

    def send_again(self, id_: str) -> None:
        """Send an element with the next page, even if it is drawn as it was: parts of it have changed since."""
        self._sent.pop(id_, None)

    def begin_again(self, *, known: bool) -> bool:
        """Take it that the window shows the page that came with it.

        Args:
            known: Whether that is the page of this session. Otherwise, a session before it made the page, and what that
                one had drawn is not known.

        Returns:
            Whether something that was drawn since is lost.
        """
        lost = not known or self.shown is not self._made or self._sent != self._made.regions
        self.shown, self._sent, self._figures = self._made, dict(self._made.regions), _Figures(self._made)
        if not known:
            self.shown, self._sent, self._figures = replace(self._made, regions={}), {}, _Figures()
        return lost


class _Figures:
    """The figures that a window has; one that is hidden stays as it was."""

    def __init__(self, made: Rendered | None = None) -> None:
        self._strip = made.timeline if made else None
        self._chart = made.chart if made else None

    def messages(self, rendered: Rendered) -> dict[str, object]:
        """Return what changes each figure into that of a page, and take it that the window has it."""
        changes: dict[str, object] = {}
        if rendered.timeline is not None:
            changes["strip"] = rendered.timeline.message(self._strip)
            self._strip = rendered.timeline
        if rendered.chart is not None:
            changes["chart"] = rendered.chart.message(self._chart)
            self._chart = rendered.chart
        return {name: message for name, message in changes.items() if message is not None}


_CHART_HEIGHT: Final = 210
_STRIP_HEIGHT: Final = 208


def window_values(shown: Rendered, kind: str) -> dict[str, Any]:
    """Return the values of the template for a page.

    Args:
        shown: The page.
        kind: ``table`` or ``home``.
    """
    return {
        "kind": kind,
        "tabs": TABS,
        "letters": LETTERS,
        # Each is HTML of a template, which escaped what it shows.
        "regions": {name: Markup(shown.regions.get(name, "")) for name in TABLE_REGIONS},  # noqa: S704
        "hidden": {"timeline-slot": False, "chart-card": False} | shown.hidden,
        # Pixels that are kept free while there is no figure.
        "chart_height": _CHART_HEIGHT if shown.chart is None else shown.chart.height,
        "strip_height": _STRIP_HEIGHT if shown.timeline is None else shown.timeline.figure["layout"]["height"],
    }


def first_figures(shown: Rendered) -> dict[str, object]:
    """Return the figures of a page, as its script draws them first."""
    figures = {"strip": shown.timeline, "chart": shown.chart}
    return {name: figure.message(None) for name, figure in figures.items() if figure is not None}
