"""The simple parts of the widget: text, buttons, rows of controls.

Parts that look alike share the models of their look: ipywidgets makes two for every part, and a saved notebook keeps
them all. Invariant: a shared look never changes; a part that is shown and hidden has a layout of its own.
"""

from __future__ import annotations

from typing import Any

import ipywidgets

__all__ = ["button", "look", "row", "style", "text"]

_looks: dict[tuple[type, tuple[tuple[str, str], ...]], Any] = {}


def look(**settings: str) -> Any:
    """Return the one layout with these settings. Do not change it: others have it too."""
    return _shared(ipywidgets.Layout, settings)


def style(kind: Any, **settings: str) -> Any:
    """Return the one style with these settings for a kind of widget. Do not change it: others have it too.

    Args:
        kind: A class of ipywidgets.
        **settings: Values of its style's traits.
    """
    return _shared(kind.style.klass, settings)


def text(markup: str = "", **layout: str) -> Any:
    """Return a place for HTML."""
    return ipywidgets.HTML(markup, layout=look(**layout), style=style(ipywidgets.HTML))


def button(
    description: str = "", *, tooltip: str | None = None, primary: bool = False, lasting: bool = False, **layout: str
) -> Any:
    """Return a button, as wide as its description unless the layout says otherwise.

    Args:
        description: Its text.
        tooltip: More of it.
        primary: It stands out.
        lasting: It is always shown, so that its layout can be shared.
        **layout: Values of the layout's traits.
    """
    wide = {"width": "auto", **layout}
    return ipywidgets.Button(
        description=description, tooltip=tooltip, button_style="primary" if primary else "",
        layout=look(**wide) if lasting else wide, style=style(ipywidgets.Button),
    )  # fmt: skip


def row(*parts: Any, lasting: bool = True) -> Any:
    """Return the parts side by side, in lines as wide as the page.

    Args:
        *parts: What is in it.
        lasting: It is always shown, so that its layout can be shared.
    """
    wrapped = {"flex_flow": "row wrap", "align_items": "center"}
    return ipywidgets.HBox(list(parts), layout=look(**wrapped) if lasting else wrapped)


def _shared(kind: type, settings: dict[str, str]) -> Any:
    key = kind, tuple(sorted(settings.items()))
    if key not in _looks or _looks[key].comm is None:  # `Widget.close_all` closed it
        _looks[key] = kind(**settings)
    return _looks[key]
