"""HTML that cannot be written wrong: whatever is not `Html` already is escaped on its way in.

Invariant: only `tag` and `joined` make `Html`, and both escape every other string, in content and in attributes.
Control and direction-changing characters are made visible first.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from explorer import formatting as fmt

__all__ = ["Html", "joined", "tag"]


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, *content: object, **attributes: object) -> Html:
    """Return an element. ``class_`` is written ``class``, ``aria_label`` is written ``aria-label``.

    Args:
        name: The element's name; ours, never a table's.
        *content: `Html` as it stands, anything else as text; None is left out.
        **attributes: Values are text; None leaves the attribute out.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{written}>{joined(content)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    """Return the parts one after the other, each as `tag` takes its content."""
    return Html("".join(part if isinstance(part, Html) else _text(part) for part in parts if part is not None))


def _attribute(key: str, value: object) -> str:
    return f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"'


def _text(value: object) -> str:
    return escape(fmt.plain(value), quote=True)
