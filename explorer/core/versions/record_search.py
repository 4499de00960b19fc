"""Search of the entries of a history by author, operation, text and time.

Protocol section: Commit Provenance Information. Invariants: parts of words are enough and case does not count; a
fact that an entry lacks matches nothing; an entry without a time is in no span of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import mask
from explorer.core.protocol.arrow.records import moments


class EntryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria for entries; None is any.

    Attributes:
        by: A part of the author's name.
        operation: A part of the operation.
        text: A part of one of the texts that are searched.
        since, until: The earliest time, and the one before which it was, both with a zone.
    """

    by: str | None = None
    operation: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return self != EntryFilter()


def matching_entries(table: pa.Table, wanted: EntryFilter, texts: Sequence[str]) -> pa.Table:
    """Return the matching rows of a table, in its order.

    Args:
        texts: The columns of text, or of maps of text, that ``wanted.text`` is searched in.
    """
    columns = {name: table.column(name).to_pylist() for name in {"user_name", "operation", *texts}}
    times = moments(table.column("timestamp"))
    matches = [
        _has(wanted.by, [columns["user_name"][row]])
        and _has(wanted.operation, [columns["operation"][row]])
        and _has(wanted.text, (columns[name][row] for name in texts))
        and _is_within(wanted, times[row])
        for row in range(table.num_rows)
    ]
    return table.filter(mask(matches))


def _has(part: str | None, values: Sequence[object] | Iterator[object]) -> bool:
    return part is None or any(part.casefold() in text.casefold() for each in values for text in _texts(each))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():  # a map, as pairs
            yield from (item for _, item in value if isinstance(item, str))


def _is_within(wanted: EntryFilter, time: datetime | None) -> bool:
    if wanted.since is None and wanted.until is None:
        return True
    if time is None:
        return False
    late = wanted.since is None or time >= wanted.since.astimezone(UTC)
    return late and (wanted.until is None or time < wanted.until.astimezone(UTC))
