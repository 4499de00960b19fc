"""The pictures of a layout as shares of their height, so that a page draws them without a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.views.figures.plotly import nice_ticks
from explorer.views.layout.layout import LayoutBar, TableLayout
from explorer.views.layout.target import TargetSize

_LABELS: Final = 7
_LEAST: Final = 1.5
"""Percent of the height that a part takes at least, so that it is seen."""
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: its tone, and its height in percent of the picture's."""

    tone: str
    height: float


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar.

    Attributes:
        key: Names it in an address.
        label: Below it; empty where it would not fit.
        title: In words, for who points or hears.
        up, down: What is drawn above the axis, and below it, from the axis outwards.
    """

    key: str
    label: str
    title: str
    up: tuple[Segment, ...]
    down: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnBars:
    """A picture of bars.

    Attributes:
        bars: From left to right.
        up_ticks, down_ticks: Percent from the axis, and the label.
        target: Percent from the left at which the target size is; None outside of the picture.
    """

    bars: tuple[DrawnBar, ...]
    up_ticks: tuple[tuple[float, str], ...]
    down_ticks: tuple[tuple[float, str], ...] = ()
    target: float | None = None


def partition_bars(layout: TableLayout) -> DrawnBars:
    """Return bytes by partition above the axis, and files below it."""
    most_bytes = max((sum(bar.sizes) for bar in layout.bars), default=0)
    most_files = max((sum(bar.files) for bar in layout.bars), default=0)
    step = max(1, -(-len(layout.bars) // _LABELS))
    bars = tuple(
        DrawnBar(
            bar.key,
            bar.label if place % step == 0 else "",
            _title(bar, layout),
            _segments(bar.sizes, most_bytes, layout),
            _segments(bar.files, most_files, layout),
        )
        for place, bar in enumerate(layout.bars)
    )
    return DrawnBars(bars, _ticks(most_bytes, fmt.size), _ticks(most_files, lambda n: f"{n:,} {_files(n)}"))


def size_bars(layout: TableLayout) -> DrawnBars:
    """Return files by size, on a scale on which each bar is twice the one before."""
    most = max((sum(each.files) for each in layout.bins), default=0)
    step = max(1, -(-len(layout.bins) // _LABELS))
    bars = tuple(
        DrawnBar(
            each.key,
            binary_size(each.low) if place % step == 0 else "",
            f"{binary_size(each.low)} to {binary_size(each.high)}: {fmt.plural(sum(each.files), 'file')}",
            _segments(each.files, most, layout),
        )
        for place, each in enumerate(layout.bins)
    )
    return DrawnBars(bars, _ticks(most, fmt.count), target=_target_place(layout))


def binary_size(number: int) -> str:
    """Return bytes in the largest binary unit of which they are a whole number, else as other sizes are shown."""
    unit = next(((size, name) for size, name in _UNITS if number >= size and number % size == 0), None)
    return fmt.size(number).replace(".0 ", " ") if unit is None else f"{number // unit[0]:,} {unit[1]}"


def target_words(target: TargetSize) -> str:
    """Return the target and where it is from."""
    return f"{binary_size(target.size)}, {target.source if not target.is_set else f'by {target.source}'}"


def _title(bar: LayoutBar, layout: TableLayout) -> str:
    parts = [f"{each.group.label}: {fmt.plural(files, 'file')}" for each, files
             in zip(layout.groups, bar.files, strict=True) if files]  # fmt: skip
    words = f"{bar.label}: {fmt.plural(sum(bar.files), 'file')}, {fmt.size(sum(bar.sizes))}"
    return fmt.plain(words + (f". {'; '.join(parts)}" if len(parts) > 1 else ""), 600)


def _segments(values: Sequence[int], most: int, layout: TableLayout) -> tuple[Segment, ...]:
    """Return the groups from the axis outwards, the one that stands out last."""
    parts = [(each.group.tone, value) for each, value in zip(layout.groups, values, strict=True) if value]
    return tuple(Segment(tone, max(_LEAST, 100 * value / most)) for tone, value in reversed(parts))


def _ticks(most: int, words: object) -> tuple[tuple[float, str], ...]:
    assert callable(words)
    ticks = [tick for tick in nice_ticks(float(most)) if tick >= 1]
    return tuple((100 * tick / most, words(int(tick))) for tick in ticks if tick <= most)


def _files(number: int) -> str:
    return "file" if number == 1 else "files"


def _target_place(layout: TableLayout) -> float | None:
    if not layout.bins:
        return None
    place = next((at for at, each in enumerate(layout.bins) if each.low <= layout.target.size < each.high), None)
    if place is None:
        return None
    each = layout.bins[place]
    return 100 * (place + (layout.target.size - each.low) / (each.high - each.low)) / len(layout.bins)
