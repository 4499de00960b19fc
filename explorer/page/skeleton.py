"""What the template ``window.html`` takes: the page with which a window begins."""

from __future__ import annotations

from typing import Any, Final

from markupsafe import Markup

from explorer.page.pages import TABLE_REGIONS, Rendered

__all__ = ["first_figures", "window_values"]

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
