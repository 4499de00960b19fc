"""What one file of the log holds of constants, and of values that meet a condition.

Protocol sections: Per-file Statistics, Partition Value Serialization, Commit Provenance Information, Checkpoints.
Invariants: bounds, partition values and the folders of paths are values of a column, which a condition judges; of what
commits say only what a program fills with words of its own is never a value; a value of which it is open whether it
meets the condition is not a match but unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.auditing.erasure.constants import Constants
from explorer.auditing.erasure.logged_values import LoggedPlace
from explorer.auditing.erasure.value_conditions import ValueCondition
from explorer.core.errors import MalformedAction
from explorer.core.log.action_lines import action_lines
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.file_paths import NULL_FOLDER, decode_path
from explorer.core.protocol.json_values import JsonValue, decode_json, encode_json
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.versions.delta_log import DeltaLog

_BOUNDS: Final[dict[str, LoggedPlace]] = {"minValues": "least value", "maxValues": "greatest value"}
_SPOKEN: Final = frozenset(["operationParameters", "userMetadata"])
_OWN_WORDS: Final = frozenset(
    {
        *("timestamp", "inCommitTimestamp", "userId", "operation", "operationMetrics", "job", "notebook", "clusterId"),
        *("readVersion", "isolationLevel", "isBlindAppend", "engineInfo", "clientVersion", "txnId", "tags"),
    }
)
"""Fields of commitInfo that a program fills with words of its own, never with values of rows."""
_OWN_PARAMETERS: Final = frozenset(
    {
        *("mode", "partitionBy", "clusterBy", "zOrderBy", "auto", "applyPurge", "isManaged", "properties", "ifExists"),
        *("canMergeSchema", "canOverwriteSchema", "isDynamicPartitionOverwrite", "location", "protocol", "metadata"),
        *("retentionCheckEnabled", "defaultRetentionMillis", "specifiedRetentionMillis", "status", "version"),
        *("timestamp", "outputMode", "queryId", "epochId", "featureName", "truncateHistory", "column", "columns"),
    }
)
"""The same of its operationParameters."""


class Hit(msgspec.Struct, frozen=True):
    """A match.

    Attributes:
        what: What it is, as in `Trace`.
        column: The column or field.
        value: The value.
        asked: The path of the column that is to be judged by the value; None if it is judged already.
        place: Where a value that is to be judged is.
    """

    what: str
    column: str
    value: JsonValue
    asked: Path | None = None
    place: LoggedPlace | None = None


_NOTHING: Final = frozenset(["", "[]", "{}"])
_QUOTED: Final = "quoted"
"""What a hit is that may be a value of a row, in a text."""


class LogSearch(msgspec.Struct, frozen=True):
    """The search: constants, and values that meet a condition."""

    constants: Constants
    condition: ValueCondition | None
    needles: tuple[str, ...]


def hits_and_reasons(log: DeltaLog, key: str, search: LogSearch) -> tuple[list[Hit], list[str]]:
    """Return the matches in a log file, and what could not be checked, in words that do not repeat the values.

    Raises:
        StorageError, pa.ArrowException, OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError: The file
            cannot be read.
    """
    hits: list[Hit] = []
    reasons: dict[str, None] = {}
    undecided: dict[tuple[Path, LoggedPlace], list[Hit]] = {}
    for hit in _hits(log, key, search):
        if hit.what == _QUOTED:
            reasons[f"{hit.column} may contain a matching value"] = None
        elif hit.asked is None or hit.place is None:
            hits.append(hit)
        elif hit.value is not None and (hit.place != "partition value" or hit.value not in {"", NULL_FOLDER}):
            undecided.setdefault((hit.asked, hit.place), []).append(hit)
    for (column, place), values in undecided.items():
        assert search.condition is not None, "values can only be checked against a condition"
        distinct = list(dict.fromkeys(hit.value for hit in values))
        verdicts = dict(zip(distinct, search.condition.judged(column, place, distinct), strict=True))
        hits += [hit for hit in values if verdicts[hit.value]]
        if None in verdicts.values():
            reason = "truncated, rounded, without a time zone, or of another type"
            reasons[f"whether a {place} of {format_column(column)} matches is open: it may be {reason}"] = None
    return hits, list(reasons)


def _hits(log: DeltaLog, key: str, search: LogSearch) -> Iterator[Hit]:
    if key.endswith(".parquet"):
        return iter(_parquet_hits(log, key, search))
    return iter(_json_hits(log.store.read(key), search))


def _json_hits(data: bytes, search: LogSearch) -> list[Hit]:
    needles = [needle.encode() for needle in search.needles]
    hits: list[Hit] = []
    for line in action_lines(data):
        escaped = b"\\u" in line or b"%" in line
        if line.strip() and (not needles or escaped or any(needle in line for needle in needles)):
            hits += _walk(decode_json(line), (), search)
    return hits


def _walk(value: JsonValue, path: tuple[str, ...], search: LogSearch) -> Iterator[Hit]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _walk(inner, (*path, name), search)
        case list():
            for inner in value:
                yield from _walk(inner, path, search)
        case str() if path[-1:] == ("stats",) and not any(_is_of_columns(name) for name in path):
            yield from _statistics(value, path, search)
        case _:
            yield from _leaf(value, path, search)


def _statistics(text: str, path: tuple[str, ...], search: LogSearch) -> Iterator[Hit]:
    try:
        yield from _walk(decode_json(text), (*path[:-1], "stats_parsed"), search)
    except (msgspec.DecodeError, RecursionError):
        yield from _leaf(text, path, search)
        if search.condition is not None:
            yield Hit(_QUOTED, ".".join(path), text)


def _is_of_columns(name: str) -> bool:
    """Return whether the members of a field are columns."""
    return name in _BOUNDS or name.startswith("partitionValues")


def _leaf(value: JsonValue, path: tuple[str, ...], search: LogSearch) -> Iterator[Hit]:
    constants, condition = search.constants, search.condition
    bound = next((name for name in path if name in _BOUNDS), None)
    if bound is not None:
        column = path[path.index(bound) + 1 :]
        if condition is not None and condition.stored(column):
            yield Hit(_BOUNDS[bound], ".".join(column), value, column, _BOUNDS[bound])
        elif constants.equal(value, bound=True, numbers=_is_named(path, bound, constants)):
            yield Hit(_BOUNDS[bound], ".".join(column), value)
    elif (values := next((name for name in path if name.startswith("partitionValues")), None)) is not None:
        if condition is not None and condition.stored(path[-1:]):
            yield Hit("partition value", path[-1], value, path[-1:], "partition value")
        elif constants.equal(value, numbers=_is_named(path, values, constants)):
            yield Hit("partition value", path[-1], value)
    elif path[-1:] == ("path",) and isinstance(value, str):
        yield from _path(_decoded(value), search)
    elif path[:2] != ("commitInfo", "operationMetrics"):
        spoken = path[:1] == ("commitInfo",) and bool(_SPOKEN & set(path))
        if isinstance(value, str):
            matches = constants.within(value, numbers=spoken)
        else:
            # Sizes, counts, times and ids of the log's own equal a constant by chance alone.
            matches = spoken and constants.equal(value)
        if matches:
            what = "predicate" if spoken and "redicate" in path[-1] else ".".join(path) or "value"
            yield Hit(what, "", value)
        searchable = value is not None and not isinstance(value, bool) and value not in _NOTHING
        if condition is not None and searchable and _may_quote(path) and condition.may_be_quoted(text_of(value)):
            yield Hit(_QUOTED, ".".join(path), value)


def _path(place: str, search: LogSearch) -> Iterator[Hit]:
    """Constants in the path of a file, and the values that its folders state; its name is made by its writer."""
    constants, condition = search.constants, search.condition
    matches = constants.within(place, numbers=condition is None)
    for part in place.split("/"):
        name, _, value = part.partition("=")
        column = None if condition is None else condition.folder(name)
        if column is not None:
            yield Hit("path", "", value, column, "partition value")
        else:
            matches = matches or constants.equal(value, numbers=condition is None)
    if matches:
        yield Hit("path", "", place)


def _may_quote(path: tuple[str, ...]) -> bool:
    """Return whether a field of commitInfo may quote values of rows, as far as is known of it."""
    if path[:1] != ("commitInfo",) or path[1:2] in {(name,) for name in _OWN_WORDS}:
        return False
    return path[1:2] != ("operationParameters",) or path[2:3] not in {(name,) for name in _OWN_PARAMETERS}


def _is_named(path: tuple[str, ...], after: str, constants: Constants) -> bool:
    """Return whether a column is one that the predicate names."""
    place = path.index(after) + 1
    return place < len(path) and path[place].lower() in constants.columns


def _decoded(path: str) -> str:
    try:
        return decode_path(decode_path(path))
    except MalformedAction:
        return path


def text_of(value: JsonValue) -> str:
    """Return a value as text; values that are not strings, as JSON."""
    return value if isinstance(value, str) else encode_json(value).decode()


def _parquet_hits(log: DeltaLog, key: str, search: LogSearch) -> list[Hit]:
    hits: list[Hit] = []
    rows = RowGroups(partial(log.store.open_input, key), name=key)
    for group in range(rows.count):
        for batch in rows.batches(group, 1 << 16, rows.schema.names):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                hits += _column_hits(column, (name,), search)
    return hits


def _column_hits(column: Any, path: tuple[str, ...], search: LogSearch) -> Iterator[Hit]:
    kind = column.type
    if pa.types.is_struct(kind):
        for field, part in zip(kind, column.flatten(), strict=True):
            yield from _column_hits(part, (*path, field.name), search)
    elif pa.types.is_map(kind):
        keys, items = column.keys, column.items
        for name in keys.unique().to_pylist():
            yield from _column_hits(items.filter(pc.equal(keys, name)), (*path, name), search)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _column_hits(column.flatten(), path, search)
    else:
        for value in _candidates(column, search):
            yield from _walk(value, path, search)


def _candidates(column: Any, search: LogSearch) -> list[JsonValue]:
    """Return the distinct values of a column that may contain a constant, as written in JSON."""
    distinct = column.unique().drop_null()
    if pa.types.is_boolean(distinct.type) or pa.types.is_binary(distinct.type):
        return []
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        needles = search.needles
        if needles:
            escaped = pc.match_substring_regex(distinct, r"\\u|%")
            for needle in needles:
                escaped = pc.or_(escaped, pc.match_substring(distinct, needle))
            distinct = distinct.filter(escaped)
        return list(distinct.to_pylist())
    if pa.types.is_timestamp(distinct.type):
        distinct = distinct.cast(pa.timestamp("us", distinct.type.tz), safe=False)
    return [value if isinstance(value, (int, float)) else str(value) for value in distinct.to_pylist()]
