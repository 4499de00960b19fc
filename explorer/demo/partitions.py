"""Partitioned writing: rows by combination of values, folders and log paths as other writers spell them.

Protocol sections: Partition Values, Partition Value Serialization, Add File and Remove File (``path``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.uris import encode_path

__all__ = ["partition_folder", "split_by_partition"]

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
# What Hive escapes in the name of a partition's folder.
_ESCAPED: Final = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(32))))

Values = dict[str, str | None]


def split_by_partition(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[Values, pa.Table]]:
    """Yield (partition values as in the log, rows) for each combination, sorted, nulls last; no rows give no group."""
    if not columns:
        if rows.num_rows:
            yield {}, rows
        return
    combinations = rows.select(columns).group_by(columns).aggregate([]).to_pylist()
    for combination in sorted(combinations, key=lambda found: [(found[c] is None, str(found[c])) for c in columns]):
        part = rows
        for name in columns:
            column, value = part.column(name), combination[name]
            part = part.filter(column.is_null() if value is None else pc.equal(column, pa.scalar(value, column.type)))
        yield {name: _serialised(combination[name]) for name in columns}, part


def partition_folder(values: Values, name: str) -> tuple[str, str]:
    """The file's location under the table's root, and the same as a path of the log."""
    folders = [f"{_escaped(key)}={NULL_FOLDER if value is None else _escaped(value)}" for key, value in values.items()]
    location = "/".join([*folders, name])
    return location, encode_path(location)


def _serialised(value: Any) -> str | None:
    return None if value is None else str(value)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)
