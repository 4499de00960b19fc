"""The templates of the browser's pages: this host's own, before those of the page."""

from __future__ import annotations

from typing import Any

import jinja2

from explorer.page import render as page_render

__all__ = ["environment", "render", "render_blocks"]


def environment() -> jinja2.Environment:
    """Return the environment of the templates."""
    return page_render.environment("explorer.web")


def render(template: str, /, **values: Any) -> str:
    """Return a template's HTML."""
    return environment().get_template(f"{template}.html").render(values)


def render_blocks(template_name: str, /, **values: Any) -> dict[str, str]:
    """Return each block of a template as HTML, by the block's name."""
    return page_render.blocks(environment().get_template(f"{template_name}.html"), values)
