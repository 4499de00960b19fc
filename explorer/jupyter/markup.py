"""Elements of HTML: content that is not `markupsafe.Markup` is escaped.

Control and direction-changing characters are made visible first.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from explorer import formatting as fmt

__all__ = ["joined", "tag"]


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """Return an element. ``class_`` is written ``class``, ``aria_label`` is written ``aria-label``.

    Args:
        name: The element's name; ours, never a table's.
        *content: `Markup` as it is, anything else as text; None is left out.
        **attributes: Values are text; None leaves the attribute out.
    """
    written = (_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup("<{0}{1}>{2}</{0}>").format(name, Markup().join(written), joined(content))


def joined(parts: Iterable[object]) -> Markup:
    """Return the parts one after the other, each as `tag` takes its content."""
    return Markup().join(part if isinstance(part, Markup) else fmt.plain(part) for part in parts if part is not None)


def _attribute(key: str, value: object) -> Markup:
    return Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), escape(fmt.plain(value)))
