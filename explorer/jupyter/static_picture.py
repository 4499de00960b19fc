"""The widget where no kernel lives: what a saved notebook shows of it on a page that runs nothing.

Invariants: small, escaped, without script and without an address; what it says is said as plain text too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from explorer import formatting as fmt
from explorer.jupyter.displays import card_html, joined, tag
from explorer.views import TableView
from explorer.views.card import Card
from explorer.views.cards import card_of
from explorer.views.figures.strip_frame import SPAN, StillBar, bars_of
from explorer.views.figures.theme import LIGHT
from explorer.views.table.commits import commit_sentence

_MARKS: Final = 96
_COLOURS: Final = {"a": LIGHT.added, "r": LIGHT.removed, "m": LIGHT.remasked, "u": LIGHT.idle}
_NOTE: Final = "A picture of the widget as it was; run the cell to use it."


def picture_html(view: TableView) -> Markup:
    """Return the chosen version, the commits as bars, and the latest of them as a table."""
    return joined((strip_html(view), card_html(_card(view)), tag("p", tag("small", _NOTE))))


def strip_html(view: TableView) -> Markup | None:
    """Return the commits as bars, in light colours where the page has no others; None where there are not two."""
    if len(view.facts.commits) < 2:
        return None
    first, last = view.facts.whole
    timeline = view.facts.timeline(None, _MARKS)
    bars = bars_of(timeline)
    kinds = (
        tag("path", d="".join(_outline(bar) for bar in bars if bar.kind == kind), fill=fill, class_=f"dte-still-{kind}")
        for kind, fill in _COLOURS.items()
    )
    label = f"{timeline.unit} added above and removed below, v{first} to v{last}"
    picture = tag(
        "svg", *kinds, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {SPAN} 100", width="100%", height="72",
        preserveAspectRatio="none", role="img", aria_label=label,
    )  # fmt: skip
    return tag("div", picture, tag("p", tag("small", label)))


def picture_text(view: TableView) -> str:
    """Return the same as text."""
    return f"{_card(view).plain()}\n{_NOTE}"


def _card(view: TableView) -> Card:
    """Return the chosen version in facts, above the latest commits."""
    commit, diff = view.commit, view.facts.diff(view.other, view.version)
    made = "its commit is no longer in the log"
    if commit is not None:
        who = f" by {commit.user_name}" if commit.user_name else ""
        age = fmt.age(commit.timestamp, datetime.now(UTC))
        made = f"{commit.operation}{who}, {fmt.moment(commit.timestamp)}, {age}: {commit_sentence(commit)}"
    differs = dict(card_of(diff).facts)
    facts = (
        ("location", view.facts.location),
        ("commit", made),
        (f"v{view.other} to v{view.version}", f"rows {differs['rows']}; files {differs['files']}"),
    )
    return Card(f"{view.facts.name}, v{view.version}", facts, card_of(view.facts.log.history_record()).rows)


def _outline(bar: StillBar) -> str:
    """Return A rectangle as a part of a path, a third as long as an element of its own."""
    return f"M{bar.x:.1f} {bar.y:.1f}h{bar.width:.1f}v{bar.height:.1f}h-{bar.width:.1f}z"
