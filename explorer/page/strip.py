"""The strip above a table's tabs: the chosen version, the links to others, the zoom, the commits; and a tab's chart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.page.address import Address
from explorer.page.render import render
from explorer.views import TableView
from explorer.views.figures.plotly import Figure, Part, plain_json
from explorer.views.figures.strip_frame import SPAN, bars_of
from explorer.views.table.commits import redated_note
from explorer.views.table.overview import opening_facts
from explorer.views.table.timeline import COLOURINGS, Timeline
from explorer.views.table.version_axis import AXES
from explorer.views.table_view import LEAST_WINDOW, clamped

_DAY: Final = 86_400_000
_PERIODS: Final = (("30 d", 30 * _DAY), ("1 y", 365 * _DAY))
_BESIDE: Final = 32
_MOST_READABLE: Final = 12
_WIDEST: Final = 2200
_LOW: Final = 680


@dataclass(frozen=True, slots=True)
class Screen:
    """The size of the window in pixels, as far as it is known."""

    width: int = 1440
    height: int = 900

    @property
    def strip(self) -> int:
        """Pixels for the strip's figure."""
        return max(min(self.width, _WIDEST) - _BESIDE, 240)

    @property
    def low(self) -> bool:
        """Whether the window is so low that the strip begins folded."""
        return self.height < _LOW

    def like(self, other: Screen) -> bool:
        """Return whether a page drawn for one fits the other."""
        return abs(self.width - other.width) <= 4 and self.low == other.low


@dataclass(frozen=True, slots=True)
class StripFigure:
    """The strip's figure: what stays while versions are chosen, and what does not.

    Attributes:
        key: What ``figure`` follows from.
        figure: Without the ends of the comparison.
        ends: Parts of its layout.
    """

    key: tuple[object, ...]
    figure: Figure
    ends: Part

    def message(self, before: StripFigure | None) -> object:
        """Return what a window needs that shows the one before: all, the ends alone, or None for nothing."""
        if before is None or before.key != self.key:
            return plain_json({**self.figure, "ends": self.ends})
        return None if before.ends == self.ends else plain_json({"ends": self.ends})


def strip(view: TableView, address: Address, folded: bool, others: tuple[str, ...] | None = None) -> str:
    """Return the chosen version and the ways to others, as HTML; ``others`` are tables to compare with."""
    facts, version, other = view.facts, view.version, view.other
    broken = not len(facts.commits)
    versions = replace(address, other="", other_version="")

    def to(version: int, compared: int | None = None) -> str:
        return address.to(version=version, compared=compared, zoom=_following(view, address, version))

    zooms = [] if broken or not view.zoomable or folded else _zooms(view, address)
    steps = {
        "version-previous": to(version - 1, view.compared) if version > facts.first else "",
        "version-next": to(version + 1, view.compared) if version < facts.last else "",
        "version-first": to(facts.first, view.compared),
        "version-last": to(facts.last, view.compared),
        "compared-previous": versions.to(version=version, compared=other - 1) if other > facts.first else "",
        "compared-next": versions.to(version=version, compared=other + 1) if other < facts.last else "",
        "view": address.to(
            view="chart" if address.view == "table" and not folded else "table", fold="0" if folded else address.fold
        ),
        "fold": address.to(fold="0" if folded else "1"),
        "pinned-version": version,
        "pinned-compared": "" if view.marked is None else view.marked,
    } | {f"zoom-{name}": query for name, _, query, _ in zooms[:2]}
    bars = None if broken else view.bars()
    return render(
        "strip",
        address=address,
        versions=versions,
        version=version,
        commit=view.commit,
        steps=steps,
        # The Edit tab has its own ways to an undo.
        undo=address.undo_of(version)
        if view.commit is not None and facts.first < version and address.tab != "act"
        else "",
        other=other,
        broken=broken,
        folded=folded,
        single=facts.first == facts.last and len(facts.commits) < 2,
        zooms=zooms,
        zoomed=address.window is not None,
        colourings=COLOURINGS,
        axes=AXES if facts.has_times else (),
        axis=view.placed_by,
        groups=() if bars is None else [(name, view.colours.series[place]) for place, name in enumerate(bars.groups)],
        idle=view.colours.idle,
        updates=bars is not None and bool(bars.updated.any()),
        tags=bars is not None and bool(bars.signs.tags),
        protocols=bars is not None and bool(bars.signs.protocols),
        checkpoints=bars is not None and bool(bars.signs.checkpoints),
        summary="" if bars is None else _summary(view, bars),
        redated="" if broken else redated_note(facts.commits),
        first=facts.first,
        last=facts.last,
        others=others,
        readable=_readable(view) if broken else (),
    )


def _readable(view: TableView) -> tuple[int, ...]:
    """Return the last versions before the one at which the history ends."""
    problem, first = view.facts.problem, view.facts.first
    named = None if problem is None else problem.facts().get("version")
    return tuple(range(max(first, named - _MOST_READABLE), named)) if isinstance(named, int) else ()


def opening(view: TableView) -> str:
    """Return what the creation of a table set, for a table with one version: there is no history to draw."""
    return render("opening", facts=opening_facts(view.facts.snapshot(view.version)), version=view.version)


def still_bars(timeline: Timeline) -> str:
    """Return the bars as plain SVG: what is shown until the figure reacts."""
    return render("still", bars=bars_of(timeline), span=SPAN)


def _following(view: TableView, address: Address, version: int) -> str | None:
    """Return the zoom of the address, moved so that a version is inside."""
    if address.window is None or not view.zoomable:
        return address.zoom or None
    first, last = view.shown
    margin = (last - first) // 8
    if version < first:
        first, last = first + (shift := version - margin - first), last + shift
    elif version > last:
        first, last = first + (shift := version + margin - last), last + shift
    else:
        return address.zoom
    return _zoom(view, first, last)


def _zooms(view: TableView, address: Address) -> list[tuple[str, str, str, bool]]:
    """Return the ways to see more or fewer versions: name, words, address, whether it is the one on show."""
    (first, last), full = view.shown, view.facts.whole
    span = last - first + 1
    middle = view.version if first <= view.version <= last else (first + last) // 2
    half, double = max(span // 2, LEAST_WINDOW), min(span * 2, full[1] - full[0] + 1)
    inner = clamped((middle - half // 2, middle - half // 2 + half - 1), full)
    outer = clamped((middle - double // 2, middle - double // 2 + double - 1), full)
    zooms = [
        ("in", "Zoom in", address.to(zoom=_zoom(view, *inner)) if span > LEAST_WINDOW else "", False),
        ("out", "Zoom out", address.to(zoom=_zoom(view, *outer)) if span < full[1] - full[0] + 1 else "", False),
    ]
    commits = view.facts.commits
    for name, length in _PERIODS:
        start = int(commits.versions[np.searchsorted(commits.times, commits.times[-1] - length)])
        if full[0] < start < full[1] - LEAST_WINDOW:
            window = start, full[1]
            zooms.append((name, f"The last {name}", address.to(zoom=_zoom(view, *window)), (first, last) == window))
    return [*zooms, ("all", "All versions", address.to(zoom=None), (first, last) == full)]


def _zoom(view: TableView, first: int, last: int) -> str | None:
    window = clamped((first, last), view.facts.whole)
    return None if window == view.facts.whole else f"{window[0]}-{window[1]}"


def _summary(view: TableView, bars: Timeline) -> str:
    """Return the strip in words, for those who do not see it."""
    shown = f"Versions {bars.first} to {bars.last}"
    if not bars.single:
        shown += f", {bars.width_in_words} in a mark"
    ends = f"v{view.version} is chosen" + ("" if view.marked is None else f", v{view.marked} compared")
    large = [f"{label}, {detail}" for label, detail in zip(bars.alone.labels, bars.alone.details, strict=True)][:5]
    sentences = [shown, ends, *([f"far above the median: {'; '.join(large)}"] if large else [])]
    sentences += [note.rstrip(".")] if (note := redated_note(view.facts.commits)) else []
    sentences += [f"{lane.name}: {span.label}, v{span.first} to v{span.last}"
             for lane in view.lanes for span in lane.spans if span.label and span.state != "readable"][:6]  # fmt: skip
    return fmt.plain(". ".join(sentences), 1500)


@dataclass(frozen=True, slots=True)
class ChartFigure:
    """A figure below the tab's head.

    Attributes:
        key: What its data follow from. Two figures with the same key differ in their shapes alone.
        figure: As plotly takes it; its width is that of its place.
    """

    key: tuple[object, ...]
    figure: Figure

    def message(self, before: ChartFigure | None) -> object:
        """Return what a window needs that shows the one before: all, the shapes alone, or None for nothing."""
        if before is None or before.key != self.key:
            return plain_json(self.figure)
        return None if self._shapes == before._shapes else plain_json({"shapes": self._shapes})

    @property
    def height(self) -> int:
        """Pixels."""
        height = self.figure["layout"]["height"]
        assert isinstance(height, int), "a figure states its height"
        return height

    @property
    def _shapes(self) -> object:
        return self.figure["layout"].get("shapes", [])
