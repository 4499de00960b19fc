"""The state of a table's page as param values, and the answers that follow from it.

The web page, the Jupyter widget and the tests drive the same `TableView`. The chosen version and the version it is
compared with never change silently: a version that does not exist raises.
"""

from __future__ import annotations

from typing import Any

import param

from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.figures.charts import masked_shares, ranges_figure, total_over_versions
from explorer.views.figures.plotly import Figure, Part
from explorer.views.figures.river import river_figure
from explorer.views.figures.strip_frame import Frame, most_marks
from explorer.views.figures.theme import Theme, theme_named
from explorer.views.figures.timeline import timeline_ends, timeline_figure
from explorer.views.table.columns import author, lines_of
from explorer.views.table.comparison import Comparison, comparison_of
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import masked_listing
from explorer.views.table.lanes import VersionLane
from explorer.views.table.overview import Overview, overview_of
from explorer.views.table.timeline import COLOURINGS, Timeline
from explorer.views.table.version_axis import AXES, AxisKind

LEAST_ZOOMABLE = 60
LEAST_WINDOW = 12
"""Versions that a window has at least."""
LEFT = 76
MAP_MARKS = 240

METRICS = ("rows", "files", "size", "masked")


class TableView(param.Parameterized):
    """One table, one chosen version, and the version it is compared with.

    Args:
        facts: The table's facts.
        **state: Initial values of the parameters; the version is the newest one unless given.
    """

    version = param.Integer(doc="The chosen version.")
    compared = param.Integer(
        default=None, allow_None=True, doc="The other end; None is the version before the chosen one."
    )
    column = param.String(doc="Dotted name of the chosen column; empty for the first one.")
    file = param.String(doc="Decoded path of the chosen file.")
    metric: Any = param.Selector(default="rows", objects=list(METRICS), doc="The total drawn over the versions.")
    theme: Any = param.Selector(default="light", objects=["light", "dark"], doc="Colours of the figures.")
    window: Any = param.Parameter(default=None, doc="First and last version that the strip shows; None for all.")
    colouring: Any = param.Selector(default="effect", objects=list(COLOURINGS), doc="What colours the strip's bars.")
    axis: Any = param.Selector(default="version", objects=list(AXES), doc="What the strip's axis counts.")
    width = param.Integer(default=1200, doc="Pixels that the strip is drawn for.")
    mapped = param.Boolean(default=True, doc="Draw the map of the whole history below a strip that can be zoomed.")
    folded = param.Boolean(default=False, doc="Draw the strip as one low row.")
    values = param.Boolean(default=True, doc="Show values of rows, as the bounds of columns are.")
    beside = param.Boolean(default=False, doc="Another table is compared with the chosen version, and no version is.")
    at_hand = param.Boolean(default=False, doc="Draw the lanes that are at hand, and wait for no others.")

    def __init__(self, facts: TableFacts, **state: Any) -> None:
        version = state.pop("version", None)
        super().__init__(version=facts.last if version is None else version, **state)  # type: ignore[no-untyped-call]  # param
        self.facts = facts
        facts.check(self.version)
        if self.compared is not None:
            facts.check(self.compared)

    @property
    def other(self) -> int:
        """The version compared with: the one set, else the one before the chosen version (or itself at the start)."""
        return self.compared if self.compared is not None else max(self.version - 1, self.facts.first)

    @property
    def marked(self) -> int | None:
        """The version that the strip marks as compared; None where it is the chosen one, or another table."""
        return None if self.beside or self.other == self.version else self.other

    @property
    def commit(self) -> CommitSummary | None:
        """The commit of the chosen version; None if it is no longer in the log."""
        return self.facts.commits.record(self.version)

    @property
    def colours(self) -> Theme:
        """The theme of the figures."""
        return theme_named(self.theme)

    def go(self, version: int, compared: int | None = None) -> None:
        """Choose a version, and the one to compare it with (None: the one before).

        Raises:
            VersionNotFound: A version is outside the readable range. Nothing is changed then.
        """
        self.facts.check(version)
        if compared is not None:
            self.facts.check(compared)
        self.param.update(version=version, compared=compared)

    def overview(self) -> Overview:
        """Return the overview of the chosen version."""
        return overview_of(self.facts, self.version)

    def comparison(self) -> Comparison:
        """Return the comparison of the other version with the chosen one."""
        return comparison_of(self.facts, self.other, self.version)

    @property
    def lanes(self) -> tuple[VersionLane, ...]:
        """The stripes of the strip: what can be read, what may be lost, where the feed was recorded."""
        return self.facts.cached_lanes() if self.at_hand else self.facts.lanes()

    @property
    def zoomable(self) -> bool:
        """Whether there are so many versions that the strip can show some of them, with a map of all."""
        first, last = self.facts.whole
        return last - first + 1 > LEAST_ZOOMABLE

    @property
    def shown(self) -> tuple[int, int]:
        """The versions that the strip shows."""
        full = self.facts.whole
        return clamped(self.window, full) if self.window is not None and self.zoomable else full

    @property
    def placed_by(self) -> AxisKind:
        """What the strip's axis counts: versions, where all commits have one time."""
        return "time" if self.axis == "time" and self.facts.has_times else "version"

    def bars(self, left: int = LEFT) -> Timeline:
        """Return the marks that the strip shows."""
        return self.facts.timeline(self.shown, most_marks(self.width, left), self.colouring, self.placed_by)

    def timeline(self, left: int = LEFT) -> Figure:
        """Draw the strip, with so many pixels for the labels of its rows."""
        bars, ends = self.drawn_timeline(left), self.timeline_ends(left)
        return {"data": bars["data"], "layout": bars["layout"] | {k: ends[k] for k in ("shapes", "annotations")}}

    def drawn_timeline(self, left: int = LEFT) -> Figure:
        """Draw the strip without the two versions; it stays the same while `timeline_key` does."""
        return self.facts.keep(("strip", left, *self.timeline_key), lambda: self._drawn(left))

    @property
    def timeline_key(self) -> tuple[object, ...]:
        """What the strip follows from, besides the two versions."""
        return self.shown, self.theme, self.width, self.colouring, self.placed_by, self.folded, self.lanes

    def timeline_ends(self, left: int = LEFT) -> Part:
        """Return the parts of the strip's layout that change when a version is chosen."""
        return timeline_ends(
            self.bars(left), self.colours, self._frame(left), version=self.version, compared=self.marked,
            lanes=self.lanes, mapped=self._mapped,
        )  # fmt: skip

    @property
    def _mapped(self) -> bool:
        return self.mapped and self.zoomable and not self.folded

    def _frame(self, left: int) -> Frame:
        full = self.facts.whole
        return Frame(self.width, left, self.folded, full if self._mapped else None, lead=self.shown[0] == full[0] > 0)

    def _drawn(self, left: int) -> Figure:
        history = self.facts.timeline(None, MAP_MARKS, axis=self.placed_by) if self._mapped else None
        return timeline_figure(self.bars(left), self.colours, self._frame(left), lanes=self.lanes, history=history)

    def totals(self, metric: str | None = None, height: int = 210) -> Figure:
        """Draw a total over the versions."""
        return total_over_versions(
            self.facts.commits,
            self.colours,
            metric=metric or self.metric,
            version=self.version,
            compared=self.compared,
            height=height,
        )

    def river(self) -> Figure:
        """Draw the rename river over all versions whose schema is known."""
        lineage = self.facts.lineage()
        return river_figure(
            lines_of(self.facts), self.colours, first=lineage.first_version, last=lineage.last_version,
            version=self.version, chosen=self.column, authors=self.facts.keep("authors", self._authors),
        )  # fmt: skip

    def _authors(self) -> dict[int, str]:
        """Return the author of each version that renamed or retyped a column, in words."""
        columns = self.facts.lineage().columns
        versions = {span.from_version for line in columns for span in line.spans} | {
            line.dropped_at for line in columns if line.dropped_at is not None
        }
        return {version: author(self.facts, version) for version in versions}

    def masked(self) -> Figure:
        """Draw the live and the hidden rows of the files with masked ones."""
        return masked_shares(masked_listing(self.facts, self.version).table, self.colours, chosen=self.file)

    def ranges(self, read: frozenset[str] | None = None) -> Figure:
        """Draw the ranges of the chosen column; with a condition, in colours that tell the files it reads."""
        ranges = self.facts.ranges(self.version, self.column)
        return ranges_figure(ranges, self.colours, chosen=self.file, read=read)


def clamped(window: tuple[int, int], full: tuple[int, int]) -> tuple[int, int]:
    """Return a window moved and widened so that it is a part of the whole, and not too small to be seen."""
    span = min(max(window[1] - window[0] + 1, LEAST_WINDOW), full[1] - full[0] + 1)
    first = min(max(window[0], full[0]), full[1] - span + 1)
    return first, first + span - 1
