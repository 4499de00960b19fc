"""What the commands print: JSON lines on stdout, tables for people, errors on stderr.

In JSON nothing is lost if JSON allows it: decimals are numbers with all their digits, timestamps and dates ISO 8601
text (``Z`` for UTC), binary base64; NaN and the infinities, which JSON does not know, are the texts ``NaN``,
``Infinity`` and ``-Infinity``. Text from tables is hostile: markup stays text, and `explorer.formatting` makes
characters visible that steer a terminal.
"""

from __future__ import annotations

import contextlib
import math
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

import msgspec

from explorer import formatting as fmt
from explorer.credentials import without_credentials

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.status import Status
    from rich.table import Column, Table
    from rich.text import Text

    from explorer.core.versions.snapshot import Snapshot

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
_EXACT_TYPES: Final = (bytes, bytearray, memoryview, date, datetime, time, timedelta, Decimal, UUID)
"""What the encoder writes itself."""
_ADDRESSES: Final = frozenset(
    ["path", "paths", "rawPath", "location", "locations", "table", "source", "folder", "file", "files", "vector"]
)
"""The fields and headings that hold addresses; the values of others may be rows, which are exact."""
_STEERING: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that steer a terminal or change the direction of its text."""
_MARKS: Final = (b"@", b"?", b"#")
_SHOW_AFTER: Final = 1.0
_LOOK_EVERY: Final = 1.0
_PIPE_WIDTH: Final = 400
_SHORTEST_PIECE: Final = 12
_BETWEEN: Final = 3
# From how many rows on a table is not laid out by rich.
_MANY_ROWS: Final = 1_000


class Display(Protocol):
    """What shows progress: a status line or a bar of rich."""

    def start(self) -> None:
        """Show it."""

    def stop(self) -> None:
        """Take it away; does nothing if it is not shown."""


class Cell(Protocol):
    """What shows tables and facts instead of the text of a terminal, as a cell of a notebook does."""

    def facts(self, title: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Show a title and what is known."""

    def listing(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""


_CELL: Final[ContextVar[Cell | None]] = ContextVar("cell", default=None)


@contextlib.contextmanager
def shown_in(cell: Cell) -> Iterator[None]:
    """Show tables and facts in a cell."""
    token = _CELL.set(cell)
    try:
        yield
    finally:
        _CELL.reset(token)


def emit(document: msgspec.Struct) -> None:
    """Write one JSON document, or one row, as a line."""
    line = encode(document)
    if b":/" in line and any(mark in line for mark in _MARKS):
        line = encode(_shared(exact(document)))
    sys.stdout.buffer.write(line + b"\n")


def _shared(value: Any, key: str = "") -> Any:
    """Return a document without the credentials in its addresses; its other values stay as they are."""
    match value:
        case str():
            return without_credentials(value) if key in _ADDRESSES else value
        case Mapping():
            return {name: _shared(item, str(name)) for name, item in value.items()}
        case list() | tuple():
            return [_shared(item, key) for item in value]
        case _:
            return value


def encode(value: Any) -> bytes:
    """Encode a record, or a value made of builtins, datetimes and decimals, as one line without the newline."""
    text = _ENCODER.encode(exact(value))
    if text.isascii():
        return text
    # JSON demands it only of some; a terminal would obey the others.
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text.decode()).encode()


def exact(value: Any) -> Any:
    """Return a value as builtins, without the numbers that JSON does not know, at any depth."""
    match value:
        case msgspec.Struct():
            return exact(msgspec.to_builtins(value, builtin_types=_EXACT_TYPES))
        case float():
            return value if math.isfinite(value) else _name(value)
        case Mapping():
            return {key: exact(item) for key, item in value.items()}
        case list() | tuple():
            return [exact(item) for item in value]
        case _:
            return value


def complain(error: Mapping[str, Any], *, as_json: bool) -> None:
    """Write an error to stderr: one JSON object, or its message."""
    line = encode(error) if as_json else f"Error: {fmt.plain(error['message'])}".encode(errors="replace")
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def console() -> Console:
    """Return the console for people; wide if the output is not a terminal, so that pipes get whole lines."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if terminal else _PIPE_WIDTH, markup=False, highlight=False, emoji=False)


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> None:
    """Print a title and what is known, a line each."""
    if (cell := _CELL.get()) is not None:
        cell.facts(_plain(title), [(_plain(name), _plain(value)) for name, value in pairs])
        return
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(_cell(name), _cell(value))
    out = console()
    out.print(_cell(title), style="bold")
    out.print(grid)


def listing(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
    *,
    numbers: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> None:
    """Print a table; on a screen too narrow for its columns, each row as a list of its cells that are not empty.

    Args:
        headings: One a column.
        rows: The cells.
        empty: What to say where no row exists.
        numbers: The headings over numbers, which are aligned to the right.
        whole: Other headings over what should not be broken into lines.
    """
    shown = [[_shared(value, heading) for value, heading in zip(row, headings, strict=True)] for row in rows]
    if (cell := _CELL.get()) is not None and shown:
        cell.listing([_plain(heading) for heading in headings], [[_plain(value) for value in row] for row in shown])
        return
    if len(shown) > _MANY_ROWS:
        from explorer.cli.long_listing import print_long_listing

        right = [heading in numbers for heading in headings]
        unbroken = [heading in numbers or heading in whole for heading in headings]
        texts = [[_plain(value) for value in row] for row in shown]
        if print_long_listing(console(), headings, texts, right, unbroken):
            return
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        justify: JustifyMethod = "right" if heading in numbers else "left"
        grid.add_column(
            _cell(heading), justify=justify, overflow="fold", no_wrap=heading in numbers or heading in whole
        )
    for row in shown:
        grid.add_row(*(_cell(value) for value in row))
    out = console()
    if not grid.row_count:
        out.print(_cell(empty))
    elif _least_width(grid, out) <= out.width:
        out.print(grid)
    else:
        _print_one_below_another(grid, out)


def check_agreed(snapshot: Snapshot) -> None:
    """Name the columns of a version that are not read, and raise what readers disagree about, once it was shown.

    Raises:
        CorruptTable: Other clients read other rows, as the log contradicts itself.
    """
    for column in snapshot.unread_columns:
        note(column.message)
    if snapshot.contested is not None:
        raise snapshot.contested.error()


def note(text: str) -> None:
    """Say something beside the output, on stderr."""
    sys.stderr.buffer.write(fmt.plain(text).encode(errors="replace") + b"\n")
    sys.stderr.buffer.flush()


def warn_without_schema(snapshot: Snapshot) -> None:
    """Say on stderr that the log states no schema, where it states none."""
    if not snapshot.has_schema:
        note(
            f"Warning: the log states no schema up to version {snapshot.version}. Its files and history are shown; its "
            "rows cannot be read. Restore the commit that sets the schema from a backup."
        )


@contextlib.contextmanager
def patience(text: str) -> Iterator[None]:
    """Show on a terminal's stderr that work goes on, once it takes more than a second, or which store is silent."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True, markup=False, emoji=False).status(text)
    with later(status), _silence_shown(status, lambda: text):
        yield


class Counts:
    """What is counted while tables are searched for and read."""

    def __init__(self, text: str, show: Callable[[str], None]) -> None:
        self._text, self._show = text, show
        self._done = self._folders = 0

    @property
    def line(self) -> str:
        """The text with the counts so far."""
        parts = [f"{self._done:,} done"] if self._done else []
        parts += [fmt.plural(self._folders, "folder") + " searched"] if self._folders > 1 else []
        return f"{self._text}: {', '.join(parts)}" if parts else self._text

    def done(self) -> None:
        """Count a thing that is done."""
        self._done += 1
        self._show(self.line)

    def searched(self, folders: int) -> None:
        """Take the number of folders that were searched."""
        self._folders = folders
        self._show(self.line)


@contextlib.contextmanager
def counting(text: str) -> Iterator[Counts]:
    """Show the same with counts."""
    if not sys.stderr.isatty():
        yield Counts(text, lambda _line: None)
        return
    from rich.console import Console

    status = Console(stderr=True, markup=False, emoji=False).status(text)
    counts = Counts(text, status.update)
    with later(status), _silence_shown(status, lambda: counts.line):
        yield counts


@contextlib.contextmanager
def _silence_shown(status: Status, text: Callable[[], str]) -> Iterator[None]:
    """Show in place of the text that a store does not answer, and for how long."""
    ended = threading.Event()

    def watch() -> None:
        shown = ""
        while not ended.wait(_LOOK_EVERY):
            # Late: it loads all of storage, and what is quick must not wait for that.
            from explorer.storage.silence import waiting_line

            line = waiting_line()
            if line or shown:
                status.update(f"{line} Press Ctrl-C to cancel." if line else text())
            shown = line

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextlib.contextmanager
def later(display: Display) -> Iterator[None]:
    """Start a display if the work takes more than a second, and stop it at the end."""
    timer = threading.Timer(_SHOW_AFTER, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        display.stop()


def _least_width(grid: Table, out: Console) -> int:
    """Return the narrowest screen on which the columns can be read: no piece of a broken word is too short."""
    from rich.measure import Measurement

    def least(column: Column) -> int:
        cells = [Measurement.get(out, out.options, cell) for cell in (column.header, *column.cells)]
        if column.no_wrap:
            return max(cell.maximum for cell in cells)
        return min(max(cell.minimum for cell in cells), _SHORTEST_PIECE)

    return sum(least(column) + _BETWEEN for column in grid.columns)


def _print_one_below_another(grid: Table, out: Console) -> None:
    from rich.table import Table

    for cells in zip(*(column.cells for column in grid.columns), strict=True):
        block = Table.grid(padding=(0, 2))
        block.add_column(style="bold", no_wrap=True)
        block.add_column(overflow="fold")
        for column, cell in zip(grid.columns, cells, strict=True):
            if str(cell):
                block.add_row(column.header, cell)
        out.print(block)
        out.print()


def _cell(value: object) -> Text:
    from rich.text import Text

    return value if isinstance(value, Text) else Text(fmt.value_text(value))


def _plain(value: object) -> str:
    from rich.text import Text

    return value.plain if isinstance(value, Text) else fmt.value_text(value)


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
