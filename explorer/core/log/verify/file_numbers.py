"""The numbers that a log repeats of each live file in commits, checkpoints and checksums, to be compared.

Protocol sections: Add File, Checkpoints, Version Checksum File. Invariant: a number that one of the two lacks
contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from explorer.core.errors import MalformedAction
from explorer.core.protocol.logical_files import LogicalFiles, decode_map
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import count_of_line

_Values: TypeAlias = tuple[tuple[str, str | None], ...]
_NAMES: Final[Mapping[str, str]] = {
    "records": "numRecords",
    "modified": "modificationTime",
    "base_row_id": "baseRowId",
    "commit_version": "defaultRowCommitVersion",
    "partition": "partitionValues",
}
_COLUMNS: Final = ("num_records", "modification_time", "base_row_id", "default_row_commit_version", "partition_values")


class FileNumbers(msgspec.Struct, frozen=True, gc=False):
    """The numbers that an add records of a file other than its size and its vector; None for missing ones.

    Attributes:
        records: Rows in the file, masked ones too.
        modified: When it was written, ms since the epoch.
        base_row_id: The row id of its first row.
        commit_version: The version that its rows are of.
        partition: Its partition values by column.
    """

    records: int | None = None
    modified: int | None = None
    base_row_id: int | None = None
    commit_version: int | None = None
    partition: _Values | None = None


class NumberReader:
    """Reads the numbers of files; equal partition values are stored once."""

    def __init__(self) -> None:
        self._by_text: dict[bytes, _Values | None] = {}
        self._known: dict[_Values, _Values] = {}

    def of_line(self, add: AddLine) -> FileNumbers:
        """Return the numbers of a file that a commit adds."""
        return FileNumbers(
            count_of_line(add.stats),
            add.modification_time,
            add.base_row_id,
            add.default_row_commit_version,
            self._of_text(add),
        )

    def of_files(self, files: LogicalFiles) -> Iterator[FileNumbers]:
        """Yield the numbers of the files of a checkpoint, in its order."""
        columns = (column.to_pylist() for column in files.select(_COLUMNS).columns)
        for records, modified, base_row_id, commit_version, values in zip(*columns, strict=True):
            yield FileNumbers(records, modified, base_row_id, commit_version, self._interned(values or ()))

    def _of_text(self, add: AddLine) -> _Values | None:
        text = bytes(add.partition_values)
        if text not in self._by_text:
            try:
                values = decode_map(add.partition_values, add, "partitionValues")
            except MalformedAction:
                values = None  # It is a problem of its own.
            self._by_text[text] = None if values is None else self._interned(values.items())
        return self._by_text[text]

    def _interned(self, items: Iterable[tuple[str, str | None]]) -> _Values:
        # An empty value and null are one value (PART-003).
        values = tuple(sorted((name, value or None) for name, value in items))
        return self._known.setdefault(values, values)


def differing_numbers(
    one: Mapping[str, FileNumbers], two: Mapping[str, FileNumbers]
) -> Iterator[tuple[str, int, str, object, object]]:
    """Yield each number that differs for some files that both have.

    Returns:
        Its name in the protocol, the number of files, the first of their paths, and the two numbers of that one.
    """
    common = one.keys() & two.keys()
    for name, word in _NAMES.items():
        other = [key for key in common if _contradict(getattr(one[key], name), getattr(two[key], name))]
        if other:
            key = min(other)
            yield word, len(other), key, _plain(getattr(one[key], name)), _plain(getattr(two[key], name))


def _contradict(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, tuple) else value
