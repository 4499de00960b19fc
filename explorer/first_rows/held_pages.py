"""The pages of a remote file that hold the first rows of a row group, fetched in few rounds of requests.

Format: Apache Parquet. A header of a page is known only once it is there, so the number of rounds is what time goes
by. Invariants: a round asks for what all columns lack, at the same time; no byte is asked for twice; what is not held
is fetched when it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from explorer.core.protocol.arrow.chunk_sizes import Chunk
from explorer.core.protocol.arrow.page_headers import page_headers
from explorer.data_files.measured_batches import held_parts, spans_of

_Span = tuple[int, int]
# Of so many bytes after the dictionary of a column chunk, most pages with the first hundred rows are part.
_BEGINNING: Final = 1 << 18
# What is fetched after the end of a page that was cut off.
_AHEAD: Final = 1 << 16
# A list's column must be measured in full, as one row may have all its values.
_LIST: Final = 1 << 24
_ROUNDS: Final = 8


def file_with_pages(
    file: Any,
    size: int,
    chunks: Sequence[tuple[Chunk, int]],
    fetch: Callable[[Sequence[_Span]], list[bytes]],
    most: int,
) -> Any:
    """Return a file with the pages of some column chunks in memory.

    Args:
        file, size: The file, and its bytes.
        chunks: Of each, only the pages with its first ``values``; and where the values begin, after a dictionary.
        fetch: Returns parts of the file, all at the same time.
        most: Bytes that are held at most.
    """
    held = _Held()
    each = most // max(1, len(chunks))
    spans = spans_of([_beginning(chunk, values_at, each) for chunk, values_at in chunks])
    for _ in range(_ROUNDS):
        if not spans or held.bytes + sum(end - start for start, end in spans) > most:
            break
        held.add(spans, fetch(spans))
        lacking = (_lacking(chunk, held) for chunk, _ in chunks if chunk.levels < 2)
        spans = [span for span in lacking if span is not None]
    return held_parts(file, size, held.spans, held.parts)


def _beginning(chunk: Chunk, values_at: int, most: int) -> Chunk:
    wanted = _LIST if chunk.levels > 1 else max(0, values_at - chunk.start) + _BEGINNING
    return replace(chunk, length=min(chunk.length, most, wanted))


def _lacking(chunk: Chunk, held: _Held) -> _Span | None:
    """The next bytes that are needed of a chunk; None if its pages are held."""
    end = chunk.start + chunk.length

    def read(length: int, start: int) -> bytes:
        lacks = held.reach(start, start + length)
        if lacks < start + length:
            raise _NotHeldError(lacks)
        return held.read(start, start + length)

    try:
        for page in page_headers(read, chunk.start, chunk.length, chunk.values):
            after = min(page.start + page.stored, end)
            lacks = held.reach(page.start, after)
            if lacks < after:
                return lacks, min(after + _AHEAD, end)
    except _NotHeldError as error:
        return error.place, min(error.place + _AHEAD, end)
    return None


class _NotHeldError(Exception):
    """A byte is not held."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class _Held:
    """Parts of a file, ascending."""

    def __init__(self) -> None:
        self.spans: list[_Span] = []
        self.parts: list[bytes] = []
        self.bytes = 0

    def add(self, spans: Sequence[_Span], parts: Sequence[bytes]) -> None:
        """Add parts that begin where the others do not reach."""
        placed = sorted([*zip(self.spans, self.parts, strict=True), *zip(spans, parts, strict=True)], key=_start)
        self.spans = [(start, start + len(part)) for (start, _), part in placed]
        self.parts = [part for _, part in placed]
        self.bytes = sum(map(len, self.parts))

    def reach(self, start: int, end: int) -> int:
        """Return how far, up to an end, the bytes from a start on are held."""
        place = bisect_right(self.spans, (start, 1 << 62)) - 1
        while start < end and 0 <= place < len(self.spans) and self.spans[place][0] <= start < self.spans[place][1]:
            start, place = self.spans[place][1], place + 1
        return min(start, end)

    def read(self, start: int, end: int) -> bytes:
        """Return bytes that are held."""
        place = bisect_right(self.spans, (start, 1 << 62)) - 1
        data = b""
        while len(data) < end - start:
            first = self.spans[place][0]
            data += self.parts[place][start + len(data) - first : end - first]
            place += 1
        return data


def _start(placed: tuple[_Span, bytes]) -> int:
    return placed[0][0]
