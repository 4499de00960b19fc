"""The state of a table's page as param values, and the answers that follow from it.

The web page, the Jupyter widget and the tests drive the same `TableView`. The chosen version and the version it is
compared with never change silently: a version that does not exist raises.
"""

from __future__ import annotations

from typing import Any

import param

from explorer.core.errors import TableError
from explorer.views.figures.charts import masked_shares, ranges_figure, total_over_versions
from explorer.views.figures.plotly import Figure, Part
from explorer.views.figures.river import river_figure
from explorer.views.figures.theme import Theme, theme_named
from explorer.views.figures.timeline import timeline_figure, timeline_shapes
from explorer.views.table.columns import author, lines_of
from explorer.views.table.commits import CommitRecord
from explorer.views.table.comparison import Comparison, comparison_of
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import masked_listing
from explorer.views.table.overview import Overview, overview_of
from explorer.views.table.timeline import Lane

__all__ = ["METRICS", "TableView"]

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
    zoomed = param.Boolean(default=False, doc="Draw the versions around the chosen one one by one.")

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
    def commit(self) -> CommitRecord | None:
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
    def lanes(self) -> tuple[Lane, ...]:
        """The stripes under the timeline: versions that are safe to read, versions with the change feed on."""
        try:
            spans = self.facts.states().spans()
            readable = Lane("readable", tuple((span.first, span.last) for span in spans if span.state == "readable"))
        except TableError:
            # Until when they can be read is not known; the audit says why.
            readable = Lane("log readable", ((self.facts.first, self.facts.last),))
        feed = self.facts.feed_lane()
        return (readable, feed) if feed else (readable,)

    @property
    def window(self) -> tuple[int, int] | None:
        """The versions that the timeline shows, or None for all of them."""
        return self.facts.window_around(self.version) if self.zoomed else None

    def timeline(self, left: int = 64) -> Figure:
        """Draw the timeline, with so many pixels for the labels of its rows."""
        return timeline_figure(
            self.facts.timeline(self.window), self.colours, version=self.version, compared=self.other, lanes=self.lanes,
            left=left,
        )  # fmt: skip

    def timeline_shapes(self) -> list[Part]:
        """Return the timeline's shapes alone: what changes when a version is chosen."""
        return timeline_shapes(
            self.facts.timeline(self.window), self.colours, version=self.version, compared=self.other, lanes=self.lanes
        )

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
            version=self.version, chosen=self.column, authors=self._authors(),
        )  # fmt: skip

    def _authors(self) -> dict[int, str]:
        """Who made each version from which a column was called or typed otherwise, in words."""
        columns = self.facts.lineage().columns
        versions = {span.from_version for line in columns for span in line.spans} | {
            line.dropped_at for line in columns if line.dropped_at is not None
        }
        return {version: author(self.facts, version) for version in versions}

    def masked(self) -> Figure:
        """Draw the live and the hidden rows of the files with masked ones."""
        return masked_shares(masked_listing(self.facts, self.version).table, self.colours, chosen=self.file)

    def ranges(self) -> Figure:
        """Draw the ranges of the chosen column."""
        return ranges_figure(self.facts.ranges(self.version, self.column), self.colours, chosen=self.file)
