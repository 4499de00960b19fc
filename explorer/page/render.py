"""HTML from records, through templates that escape every value.

Templates live in ``templates/``; autoescaping is always on and no template marks data as safe. A page is a set of
regions, each a string of HTML with the id of the element it belongs in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import jinja2

from explorer import formatting as fmt
from explorer.views.table.commits import commit_sentence, time_basis


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Return the environment of the templates, made once.

    Args:
        *packages: Packages whose templates come before those of the page, such as a host's.
    """
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (*packages, "explorer.page")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "about": partial(fmt.quantity, shown=fmt.compact),
        "age": lambda time: fmt.age(time, datetime.now(UTC)),
        "change": partial(fmt.quantity, shown=fmt.signed),
        "compact": fmt.compact,
        "count": fmt.count,
        "day": fmt.day,
        "hidden_rows": fmt.hidden_rows,
        "lines": fmt.readable_lines,
        "moment": fmt.moment,
        "percent": fmt.percent,
        "plain": fmt.plain,
        "plural": fmt.plural,
        "quantity": fmt.quantity,
        "sentence": commit_sentence,
        "shorten": fmt.shorten,
        "signed": fmt.signed,
        "size": fmt.size,
        "time_basis": time_basis,
        "value": fmt.value_text,
    }
    # Blocks are rendered one by one, so what they share is global rather than imported at a template's top.
    macros = made.get_template("macros.html").module
    made.globals |= {name: macro for name, macro in vars(macros).items() if not name.startswith("_")}
    return made


def render(template: str, /, **values: Any) -> str:
    """Return a template's HTML."""
    return environment().get_template(f"{template}.html").render(values)


def render_block(template_name: str, block: str, /, **values: Any) -> str:
    """Return one block of a template as HTML."""
    template = environment().get_template(f"{template_name}.html")
    return "".join(template.blocks[block](template.new_context(values))).strip()


def render_blocks(template_name: str, /, **values: Any) -> dict[str, str]:
    """Return each block of a template as HTML, by the block's name."""
    return blocks(environment().get_template(f"{template_name}.html"), values)


def blocks(template: jinja2.Template, values: Mapping[str, Any]) -> dict[str, str]:
    """Return each block of a template as HTML, by the block's name."""
    return {name: "".join(parts(template.new_context(dict(values)))).strip() for name, parts in template.blocks.items()}
