"""How notebooks show the public objects: a compact card as HTML, with the same as plain text.

Invariants: the card carries its own style and no script; every text is escaped; a card that cannot be made leaves the
object's plain form, as IPython does with any display that raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa
from markupsafe import Markup, escape

from explorer import formatting as fmt
from explorer.report import TableReport
from explorer.views.card import Card, CardRows
from explorer.views.cards import CARDED_BY_NAME, arrow_card, card_of, carded
from explorer.views.figures.theme import DARK, LIGHT, css_variables


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


# An output cell keeps its style when the page is saved, so each card brings what it needs. The names begin with `dtc`,
# as JupyterLab's own rules for tables reach into every output.
_RULES: Final = (
    ".dtc{display:inline-block;box-sizing:border-box;min-width:min(440px,100%);max-width:100%;"
    "padding:9px 13px 11px;border:1px solid var(--line);border-radius:8px;"
    "background:var(--surface);color:var(--ink);font:13px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)}"
    ".dtc h4{margin:0 0 5px;font-size:13.5px;font-weight:600}"
    ".dtc-ok h4{color:var(--ok)}.dtc-warning h4{color:var(--warning)}.dtc-danger h4{color:var(--danger)}"
    ".dtc dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 14px;margin:0}"
    ".dtc dt{float:none;width:auto;margin:0;padding:0;font-weight:400;color:var(--muted)}"
    ".dtc dd{float:none;width:auto;margin:0;padding:0;overflow-wrap:anywhere}"
    ".dtc div{overflow-x:auto}"
    ".dtc table{margin:7px 0 0;border-collapse:collapse;color:inherit;font-size:12.5px}"
    ".dtc th,.dtc td{padding:3px 14px 3px 0;border-bottom:1px solid var(--line);background:none;color:inherit;"
    "text-align:left!important;vertical-align:top}.dtc th{color:var(--muted);font-weight:500}"
    ".dtc tbody tr{background:none!important}"
    ".dtc p{margin:5px 0 0;color:var(--muted);font-size:12px}"
)
_LIGHT, _DARK = (css_variables(theme, of=_RULES) for theme in (LIGHT, DARK))
_STYLE: Final = (
    f".dtc{{{_LIGHT}}}"
    f'body[data-jp-theme-light="false"] .dtc{{{_DARK}}}'
    f"@media (prefers-color-scheme: dark){{body:not([data-jp-theme-light]) .dtc{{{_DARK}}}}}"
    f"{_RULES}"
)


def card_html(card: Card) -> Markup:
    """Return a card as HTML."""
    facts = (
        tag("dl", *(joined((tag("dt", name), tag("dd", text))) for name, text in card.facts)) if card.facts else None
    )
    rows = None if card.rows is None else _table(card.rows)
    tone = f"dtc dtc-{card.tone}" if card.tone else "dtc"
    title = tag("h4", card.title) if card.title else None
    return joined((tag("style", Markup(_STYLE)), tag("div", title, facts, rows, class_=tone)))  # noqa: S704  # ours


def register(formatter: Any) -> None:
    """Teach IPython's display formatter the public objects and Arrow tables.

    It is done by class, or by its name, so that subclasses are shown too.
    """
    for kind in {*carded(), TableReport}:
        _teach(formatter, kind, card_of)
    for module, name in CARDED_BY_NAME:
        _teach(formatter, f"{module}.{name}", card_of)
    _teach(formatter, pa.Table, arrow_card)


def _teach(formatter: Any, kind: type | str, card: Callable[[Any], Card]) -> None:
    """Teach a class, which IPython takes by its dotted name too."""
    formatter.formatters["text/html"].for_type(kind, lambda value: str(card_html(card(value))))
    formatter.formatters["text/plain"].for_type(kind, lambda value, printer, _cycle: printer.text(card(value).plain()))


def _table(rows: CardRows) -> Markup:
    head = tag("tr", *(tag("th", heading, scope="col") for heading in rows.headings))
    body = joined(tag("tr", *(tag("td", cell) for cell in row)) for row in rows.cells)
    more = tag("p", f"and {rows.more:,} more") if rows.more else None
    return joined((tag("div", tag("table", tag("thead", head), tag("tbody", body))), more))
