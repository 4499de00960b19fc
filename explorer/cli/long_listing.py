"""A table of many rows for people, line by line: rich lays out a cell in a millisecond, and a table may have 100,000.

Invariant: where every cell fits, the lines are those that rich prints for the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

# What rich leaves between columns, and the narrowest column into which a long text is broken.
_GAP: Final = "   "
_NARROWEST: Final = 12


def print_long_listing(
    out: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    unbroken: Sequence[bool],
) -> bool:
    """Print a table, unless the screen is too narrow for cells that may not be broken.

    Args:
        out: The console.
        headings: One a column.
        rows: The cells, as texts.
        right: Which columns are aligned to the right.
        unbroken: Which columns are not broken into lines.

    Returns:
        Whether it was printed.
    """
    widths = _widths(headings, rows, unbroken, out.width)
    if widths is None:
        return False
    length = sum(widths) + len(_GAP) * (len(widths) - 1)
    blank = " " * (length + 2) + "\n"
    out.file.write(blank)
    out.print(_line(headings, widths, right), style="bold", no_wrap=True, crop=False, overflow="ignore")
    out.file.write(f" {'─' * length} \n")
    for cells in rows:
        for line in _folded(cells, widths):
            out.file.write(_line(line, widths, right) + "\n")
    out.file.write(blank)
    return True


def _widths(
    headings: Sequence[str], rows: Sequence[Sequence[str]], unbroken: Sequence[bool], width: int
) -> list[int] | None:
    """Return the widths of the columns: of their longest cells, or less if these do not fit; None if none do."""
    widths = [max(map(_length, column)) for column in zip(headings, *rows, strict=True)]
    beyond = sum(widths) + len(_GAP) * (len(widths) - 1) + 2 - width
    broken = [place for place, fixed in enumerate(unbroken) if not fixed and widths[place] > _NARROWEST]
    if beyond > sum(widths[place] - _NARROWEST for place in broken):
        return None
    for _ in range(max(beyond, 0)):
        widths[max(broken, key=widths.__getitem__)] -= 1
    return widths


def _folded(cells: Sequence[str], widths: Sequence[int]) -> Iterator[Sequence[str]]:
    """Yield the lines of a row: one, unless a cell is longer than its column is wide."""
    if all(_length(cell) <= width for cell, width in zip(cells, widths, strict=True)):
        yield cells
        return
    from rich.cells import chop_cells

    pieces = [chop_cells(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, pieces))):
        yield [each[number] if number < len(each) else "" for each in pieces]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - _length(cell))
        padded.append(space + cell if to_right else cell + space)
    return " " + _GAP.join(padded) + " "


def _length(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return cell_len(cell)
