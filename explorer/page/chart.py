"""The chart of a tab, and what a window needs that shows another one."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.views.figures.plotly import Figure, plain_json

__all__ = ["ChartFigure"]


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
