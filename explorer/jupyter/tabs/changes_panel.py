"""Changes: the rows that changed between the two chosen versions, the sources of the changes, and holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.jupyter.explored import Explored
from explorer.jupyter.list_box import ListBox
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.parts import text
from explorer.jupyter.tabs.row_panel import RowPanel
from explorer.views.rows.change_spans import ChangeSpan, VersionCounts, change_counts, unpaired_versions
from explorer.views.rows.row_work import (
    RangeChanges,
    change_origins,
    change_range,
    key_choices,
    nothing_recorded,
    readable_pieces,
)
from explorer.views.rows.spark_work import WorkState

__all__ = ["ChangesPanel"]

_PAGE = 50
_SPANS = 12
_VERSIONS = 20
_PIECES = 60
_INFERRED = (
    "where the feed was off, from the files that were added and removed: rows that were only rewritten are left out; "
    "an update is paired by row id or by key columns, else it is a delete and an insert"
)


class ChangesPanel(RowPanel):
    """A range of changes.

    Attributes:
        source: ``recorded``: only what the change feed recorded; ``inferred``: for other versions inferred from the
            files.
        key_columns: Names of the key columns that pair inferred updates, with commas; empty pairs by row id.
        list: The changes that were read.
    """

    def __init__(self, explored: Explored) -> None:
        self._changes = RangeChanges(self.draw)
        self._shown: object = None
        self.source = ipywidgets.ToggleButtons(
            options=[("recorded", "recorded"), ("recorded or inferred", "inferred")],
            tooltips=[
                "only what the change feed recorded",
                _INFERRED,
            ],
            style={"button_width": "auto"},
        )
        self.key_columns = ipywidgets.Combobox(
            description="pair updates by", placeholder="row id, if there is one; or key columns",
            style={"description_width": "initial"}, layout={"width": "auto", "flex": "1 1 260px"},
        )  # fmt: skip
        self.strip, self.counts = text(), text()
        self.list = ListBox("changes", "these changes", "by version", page_size=_PAGE)
        self.list.show_list(None)
        super().__init__(explored, [self.source, self.key_columns], [self.strip, self.counts, self.list])
        self._chosen = False
        self.source.observe(self._choose, "value")
        self.key_columns.observe(lambda _: self.draw(), "value")

    def ask(self) -> None:
        """Read the changes of the range."""
        self._changes.start(self._explored.view, self._keys, inferred=self._inferred)

    def cancel(self) -> None:
        """Stop reading."""
        self._changes.cancel()

    @property
    def _inferred(self) -> bool:
        return bool(self.source.value == "inferred")

    @property
    def _keys(self) -> str:
        return str(self.key_columns.value) if self._inferred else ""

    def _choose(self, _change: Any) -> None:
        self._chosen = True
        self.draw()

    def _begin_with_what_there_is(self) -> None:
        """Infer where nothing was recorded, until a person or a program chooses."""
        if not self._chosen:
            self.source.unobserve(self._choose, "value")
            self.source.value = "inferred" if nothing_recorded(self._explored.view) else "recorded"
            self.source.observe(self._choose, "value")

    def _draw(self) -> None:
        self._begin_with_what_there_is()
        view, inferred = self._explored.view, self._inferred
        first, last = change_range(view)
        origins = change_origins(view, inferred=inferred)
        state = self._changes.state(view, self._keys, inferred=inferred)
        found = self._changes.found(view, self._keys, inferred=inferred)
        names = key_choices(view, last)
        if self.key_columns.options != names:
            self.key_columns.options = names
        self.key_columns.layout.display = None if inferred else "none"
        where = f"v{first}" if first == last else f"v{first} to v{last}"
        self.head.value = tag("div", tag("b", f"Rows that changed in {where}"))
        self.strip.value = _strip(origins.spans)
        pieces = readable_pieces(view, origins.spans)
        unrecorded = inferred and not self._chosen
        estimate = f"The change feed was off here, so changes are inferred. {origins.estimate}"
        before = (
            (estimate if unrecorded else origins.estimate)
            if origins.available
            else _nothing(origins.spans, inferred=inferred)
        )
        before = " ".join(filter(None, (_in_parts(pieces), before)))
        if origins.problem is not None:
            state = WorkState("failed", problem=origins.problem)
        if found is not self._shown:
            self._shown = found
            self.list.show_list(self._changes.listing() if found is not None else None)
        self.counts.value = _counted(found, self._keys) if found is not None else ""
        self._show_work(
            state, verb="Read the changes", answered=found is not None, before=before, available=origins.available
        )


def _strip(spans: Sequence[ChangeSpan]) -> Markup | str:
    if not spans:
        return ""
    bars = joined(
        tag("i", style=f"flex-grow:{span.share * 1000:.4f}", class_=_kind(span), title=f"{span.versions}: {span.words}")
        for span in spans
    )
    words = [tag("span", tag("i", class_=_kind(s)), tag("b", s.versions), " ", s.words) for s in spans[:_SPANS]]
    if len(spans) > _SPANS:
        words.append(tag("span", f"and {fmt.plural(len(spans) - _SPANS, 'more span')}"))
    strip = tag("div", bars, class_="dte-feed", role="img", aria_label="where the changes of each version come from")
    return joined([strip, tag("div", *words, class_="dte-signs dte-spans")])


def _kind(span: ChangeSpan) -> str:
    return f"dte-from-{span.kind}" + (" dte-hole" if span.is_hole else "")


def _in_parts(pieces: Sequence[tuple[int, int]]) -> str:
    """The ranges that can be read instead of one whose columns changed; empty if there are none."""
    if not pieces:
        return ""
    named = [f"v{first}" if first == last else f"v{first} to v{last}" for first, last in pieces[-_PIECES:]]
    more = f", and {fmt.plural(len(pieces) - _PIECES, 'earlier part')}" if len(pieces) > _PIECES else ""
    return (
        "A column was renamed, dropped or retyped within these versions. "
        f"Read them in {len(pieces)} parts: {', '.join(reversed(named))}{more}."
    )


def _nothing(spans: Sequence[ChangeSpan], *, inferred: bool) -> str:
    if all(span.kind == "none" for span in spans):
        return "No row changed in these versions."
    if not inferred and any(span.kind == "off" for span in spans):
        return (
            "The change feed was off, so nothing was recorded. Choose \u201crecorded or inferred\u201d to infer "
            "the changes from the files that were added and removed."
        )
    return "No changes of these versions are known: the chart below says why."


def _counted(found: Any, keys: str) -> Markup:
    note = tag("p", found.note, class_="dte-muted")
    unpaired = unpaired_versions(found.versions, keys)
    counts = change_counts(found.counts, found.rewritten, unpaired) if found.counts is not None else ()
    if len(counts) < 2:
        return joined([note])
    lines = [tag("p", tag("b", f"v{c.version}"), " ", _sum(c)) for c in counts[:_VERSIONS]]
    if len(counts) > _VERSIONS:
        lines.append(tag("p", f"and {fmt.plural(len(counts) - _VERSIONS, 'more version')}", class_="dte-caption"))
    if any(c.updated is None for c in counts):
        said = "An update that no row id and no key pairs counts as a delete and an insert."
        lines.append(tag("p", said, class_="dte-caption"))
    return joined([note, tag("div", *lines, class_="dte-signs")])


def _sum(counts: VersionCounts) -> str:
    parts = (
        f"+{fmt.count(counts.inserted)}" if counts.inserted else "",
        f"\u2212{fmt.count(counts.deleted)}" if counts.deleted else "",
        f"\u0394{fmt.count(counts.updated)}" if counts.updated else "",
    )
    changed = counts.inserted + counts.deleted + (counts.updated or 0)
    said = [f"{' '.join(filter(None, parts))} {'row' if changed == 1 else 'rows'}"] if changed else []
    return ", ".join([*said, *([f"{fmt.count(counts.rewritten)} only rewritten"] if counts.rewritten else [])])
