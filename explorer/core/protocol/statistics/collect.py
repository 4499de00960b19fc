"""The statistics of a new data file, true of its rows and small.

Protocol section: Per-file Statistics. Invariants: bounds go by physical name (STATS-013); a truncated text and a time
truncated to milliseconds still bound every value (STATS-011, STATS-012); a column with NaN or an infinity has no bounds
(STATS-016);
booleans, binaries and variants have none either, only a count of nulls (STATS-017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.data_types import VOID, PrimitiveType, StructField, StructType, parse_column
from explorer.core.protocol.schema.nested_types import Path, path_tree, walk_structs
from explorer.core.protocol.statistics.bounds import decode_statistics
from explorer.core.protocol.table_properties.registry import NUM_INDEXED_COLS, STATS_COLUMNS
from explorer.core.protocol.times import from_milliseconds

_PREFIX: Final = 32
_LAST: Final = "\U0010ffff"
_Bound: TypeAlias = int | float | Decimal | str
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def indexed_fields(
    fields: Sequence[StructField], configuration: dict[str, str], clustering: Sequence[Path] = ()
) -> tuple[tuple[Path, StructField], ...]:
    """Return the leaf fields that get statistics, with their physical paths (STATS-015).

    Args:
        clustering: Logical paths that get them whatever the properties are (CLUSTER-002).

    Raises:
        CorruptTable: A property cannot be read.
    """
    leaves = list(_leaves(fields))
    chosen = configuration.get(STATS_COLUMNS.key)
    if chosen is not None:
        wanted = {_folded(path) for path in _columns(chosen)}
        chosen_leaves = [leaf for leaf in leaves if not wanted.isdisjoint(_around(_folded(leaf[0])))]
    else:
        limit = NUM_INDEXED_COLS.of(configuration)
        chosen_leaves = leaves if limit < 0 else leaves[:limit]
    known = {path for path, _, _ in chosen_leaves}
    chosen_leaves += [leaf for leaf in leaves if leaf[0] in clustering and leaf[0] not in known]
    return tuple((physical, field) for _, physical, field in chosen_leaves)


def split_columns(names: str) -> list[str]:
    """Split a list of columns, as in ``delta.dataSkippingStatsColumns``, at the commas outside backticks."""
    parts, quoted = [""], False
    for letter in names:
        quoted ^= letter == "`"
        if letter == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def statistics_text(
    num_records: int, indexed: Sequence[tuple[Path, StructField]], values: Sequence[pa.Array], nulls: Sequence[int]
) -> str:
    """Return the ``stats`` text of a file.

    Args:
        indexed: The leaves to describe; see `indexed_fields`.
        values: Values of each leaf with its minimum and its maximum among them; nulls alone, or nothing, where it
            gets no bounds.
    """
    lows: dict[Path, _Bound] = {}
    highs: dict[Path, _Bound] = {}
    for (path, field), column in zip(indexed, values, strict=True):
        if isinstance(field.type, PrimitiveType) and column.null_count < len(column):
            low, high = _bounds(column, field.type)
            if low is not None and high is not None:
                lows[path], highs[path] = low, high
    stats = {
        "numRecords": num_records,
        "minValues": path_tree(lows),
        "maxValues": path_tree(highs),
        "nullCount": path_tree({path: count for (path, _), count in zip(indexed, nulls, strict=True)}),
        "tightBounds": True,
    }
    return written_statistics(stats)


def known_statistics(stats: str | None) -> dict[str, object]:
    """Return a file's statistics, to be written again: numbers keep all their digits, as a rounded bound is not a
    bound. Unusable statistics are empty (STATS-002).

    Args:
        stats: The text, if there is one.
    """
    statistics = {} if stats is None else decode_statistics(stats)
    if isinstance(statistics, str):
        return {}
    try:
        _ENCODER.encode(statistics)
    except (UnicodeEncodeError, RecursionError):  # an unpaired surrogate, which UTF-8 cannot encode; nested too deeply
        return {}
    return statistics


def written_statistics(stats: Mapping[str, object]) -> str:
    """Return the ``stats`` text of statistics."""
    return _ENCODER.encode(stats).decode()


def loosened(stats: str | None, num_records: int) -> str:
    """Return statistics of a file once a deletion vector hides some of its rows (STATS-009, STATS-010).

    Args:
        stats: The file's statistics so far, if any.
    """
    return written_statistics({**known_statistics(stats), "numRecords": num_records, "tightBounds": False})


def _folded(path: Path) -> Path:
    """Return a path in which names that differ only in case are the same (SCHEMA-008)."""
    return tuple(part.lower() for part in path)


def _around(path: Path) -> Iterator[Path]:
    """Yield a path, and those of all structs around it."""
    return (path[:length] for length in range(len(path) + 1))


def _leaves(fields: Sequence[StructField]) -> Iterator[tuple[Path, Path, StructField]]:
    """Yield the fields with statistics: those in structs that are not structs themselves; void has none."""
    for path, physical, field in walk_structs(StructType(tuple(fields))):
        if not isinstance(field.type, StructType) and field.type != VOID:
            yield path, physical, field


def _columns(names: str) -> list[Path]:
    try:
        return [parse_column(name) for name in split_columns(names) if name]
    except ValueError as error:
        raise CorruptTable(
            f"The table property {STATS_COLUMNS} is {names!r}, which is not a list of columns. Set it again.",
            found=names,
        ) from error


def _bounds(column: pa.Array, kind: PrimitiveType) -> tuple[_Bound | None, _Bound | None]:
    import pyarrow.compute as pc

    match kind.name:
        case "boolean" | "binary" | "variant":
            return None, None
        case "float" | "double":
            if not pc.all(pc.is_finite(column)).as_py():
                return None, None
            extremes = pc.min_max(column)
            # Zero has two signs and readers may distinguish them: bound both.
            low, high = extremes["min"].as_py(), extremes["max"].as_py()
            return (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
        case "date":
            extremes = pc.min_max(column.cast(pa.int32()))
            return _date(extremes["min"].as_py()), _date(extremes["max"].as_py())
        case "timestamp" | "timestamp_ntz":
            extremes = pc.min_max(column.cast(pa.int64()))
            zone = "Z" if kind.name == "timestamp" else ""
            return _moment(extremes["min"].as_py() // 1000, zone), _moment(-(-extremes["max"].as_py() // 1000), zone)
        case "string":
            extremes = pc.min_max(column)
            return extremes["min"].as_py()[:_PREFIX], _upper(extremes["max"].as_py())
        case _:
            extremes = pc.min_max(column)
            low, high = extremes["min"].as_py(), extremes["max"].as_py()
            assert isinstance(low, (int, Decimal))
            return low, high


def _upper(text: str) -> str:
    """Return a text of at most about 34 characters that sorts at or after the full one by UTF-8 bytes."""
    if len(text) <= _PREFIX:
        return text
    end = _PREFIX
    while text[end : end + 1] == _LAST:
        end += 1
    return text if end == len(text) else text[:end] + _LAST


def _date(days: int) -> str | None:
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def _moment(count: int, zone: str) -> str | None:
    try:
        moment = from_milliseconds(count)
    except OverflowError:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + zone
