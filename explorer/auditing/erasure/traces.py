"""Where the log itself holds a constant of a predicate: bounds, partition values, paths, provenance, anything else.

Protocol sections: Per-file Statistics, Commit Provenance Information, Checkpoints, Metadata Cleanup. Every file of
``_delta_log`` is read: commits, compactions, checksums, staged commits, checkpoints and their sidecars. Invariants: a
trace names its file, version, column and the kind of place; a file that cannot be read is named; the date is the
earliest at which log clean-up deletes the file, None where that is switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from explorer.auditing.erasure.constants import Constants
from explorer.core.errors import MalformedAction, StorageError
from explorer.core.log.log_path import LOG_FOLDER, parse_log_name
from explorer.core.maintenance.unused_files import one_column
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.json_values import JsonValue, decode_json, encode_json
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.retention.expiry import file_times, retention_terms

__all__ = ["Trace", "TracesFound", "log_traces"]

_DAY: Final = 86_400_000
_SHOWN: Final = 80
# A recursion error: brackets in brackets, deeper than can be followed.
_UNREADABLE: Final = (
    StorageError,
    pa.ArrowException,
    OSError,
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
)
_BOUNDS: Final = {"minValues": "least value", "maxValues": "greatest value"}
_SPOKEN: Final = frozenset(["operationParameters", "userMetadata"])
_Hit = tuple[str, str, str]
"""What it is, the column or field, the value."""


class Trace(msgspec.Struct, frozen=True):
    """Constants in one file of the log, in one kind of place.

    Attributes:
        path: Key of the file.
        version: Its version, None if its name says none.
        what: ``least value``, ``greatest value``, ``partition value``, ``path``, ``predicate`` (of commitInfo), or the
            name of another field.
        column: The column, physical name, or the field; empty where there is none.
        value: One of the values found, shortened.
        count: How often, distinct values of a checkpoint counted once.
        gone_from: ms since the epoch; None for never.
    """

    path: str
    version: int | None
    what: str
    column: str
    value: str
    count: int
    gone_from: int | None


class TracesFound(msgspec.Struct, frozen=True):
    """The traces, the files of the log that were read, and those that could not be, with the reason."""

    traces: tuple[Trace, ...]
    read: int
    unanswered: tuple[tuple[str, str], ...]


def log_traces(
    log: DeltaLog, constants: Constants, now: int, check_cancelled: Callable[[], None] = lambda: None
) -> TracesFound:
    """Look for constants in every file of the log.

    Args:
        log: The table's log.
        constants: What to look for.
        now: ms since the epoch.
        check_cancelled: Called before each file; may raise.

    Raises:
        StorageError: The folder cannot be listed.
    """
    dates = _dates(log, now)
    traces: list[Trace] = []
    unanswered: list[tuple[str, str]] = []
    read = 0
    for key in sorted(_files(log)):
        check_cancelled()
        try:
            hits = _hits(log, key, constants)
        except _UNREADABLE as error:
            unanswered.append((key, f"this file of the log cannot be read: {str(error).splitlines()[0]}"))
            continue
        read += 1
        version = _version(key)
        traces += [
            Trace(key, version, what, column, value, count, dates(version))
            for (what, column), (value, count) in _counted(hits).items()
        ]
    return TracesFound(tuple(traces), read, tuple(unanswered))


def _files(log: DeltaLog) -> list[str]:
    keys = one_column(log.store.list_files(), "path").to_pylist()
    prefix = f"{LOG_FOLDER}/"
    own = (key for key in keys if key.startswith(prefix))
    # Hadoop's checksums of its own files hold no values.
    return [key for key in own if not (key.rpartition("/")[2].startswith(".") and key.endswith(".crc"))]


def _hits(log: DeltaLog, key: str, constants: Constants) -> Iterator[_Hit]:
    if key.endswith(".parquet"):
        return iter(_parquet_hits(log, key, constants))
    return iter(_json_hits(log.store.read(key), constants))


def _json_hits(data: bytes, constants: Constants) -> list[_Hit]:
    needles = [needle.encode() for needle in constants.needles]
    hits: list[_Hit] = []
    for line in data.split(b"\n"):
        escaped = b"\\u" in line or b"%" in line
        if line.strip() and (not needles or escaped or any(needle in line for needle in needles)):
            hits += _walk(decode_json(line), (), constants)
    return hits


def _walk(value: JsonValue, path: tuple[str, ...], constants: Constants) -> Iterator[_Hit]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _walk(inner, (*path, name), constants)
        case list():
            for inner in value:
                yield from _walk(inner, path, constants)
        case str() if path[-1:] == ("stats",):
            yield from _statistics(value, path, constants)
        case _:
            yield from _leaf(value, path, constants)


def _statistics(text: str, path: tuple[str, ...], constants: Constants) -> Iterator[_Hit]:
    try:
        yield from _walk(decode_json(text), (*path[:-1], "stats_parsed"), constants)
    except (msgspec.DecodeError, RecursionError):
        yield from _leaf(text, path, constants)


def _leaf(value: JsonValue, path: tuple[str, ...], constants: Constants) -> Iterator[_Hit]:
    bound = next((name for name in path if name in _BOUNDS), None)
    if bound is not None:
        if constants.equal(value, bound=True, numbers=_is_named(path, bound, constants)):
            yield _BOUNDS[bound], ".".join(path[path.index(bound) + 1 :]), _shown(value)
    elif (values := next((name for name in path if name.startswith("partitionValues")), None)) is not None:
        if constants.equal(value, numbers=_is_named(path, values, constants)):
            yield "partition value", path[-1], _shown(value)
    elif path[-1:] == ("path",) and isinstance(value, str):
        place = _decoded(value)
        if constants.within(place) or any(constants.equal(part.partition("=")[2]) for part in place.split("/")):
            yield "path", "", _shown(place)
    elif path[:2] != ("commitInfo", "operationMetrics"):
        spoken = path[:1] == ("commitInfo",) and bool(_SPOKEN & set(path))
        if isinstance(value, str):
            found = constants.within(value, numbers=spoken)
        else:
            # Sizes, counts, times and ids of the log's own equal a constant by chance alone.
            found = spoken and constants.equal(value)
        if found:
            what = "predicate" if spoken and "redicate" in path[-1] else ".".join(path) or "value"
            yield what, "", _shown(value)


def _is_named(path: tuple[str, ...], after: str, constants: Constants) -> bool:
    """Whether a column is one that the predicate names."""
    place = path.index(after) + 1
    return place < len(path) and path[place].lower() in constants.columns


def _decoded(path: str) -> str:
    try:
        return decode_path(decode_path(path))
    except MalformedAction:
        return path


def _shown(value: JsonValue) -> str:
    text = value if isinstance(value, str) else encode_json(value).decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}\u2026"


def _parquet_hits(log: DeltaLog, key: str, constants: Constants) -> list[_Hit]:
    hits: list[_Hit] = []
    with log.store.open_input(key) as source:
        parquet = pq.ParquetFile(source)
        for batch in parquet.iter_batches(batch_size=1 << 16):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                hits += _column_hits(column, (name,), constants)
    return hits


def _column_hits(column: Any, path: tuple[str, ...], constants: Constants) -> Iterator[_Hit]:
    kind = column.type
    if pa.types.is_struct(kind):
        for field, part in zip(kind, column.flatten(), strict=True):
            yield from _column_hits(part, (*path, field.name), constants)
    elif pa.types.is_map(kind):
        keys, items = column.keys, column.items
        for name in keys.unique().to_pylist():
            yield from _column_hits(items.filter(pc.equal(keys, name)), (*path, name), constants)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _column_hits(column.flatten(), path, constants)
    else:
        for value in _candidates(column, constants):
            yield from _walk(value, path, constants)


def _candidates(column: Any, constants: Constants) -> list[JsonValue]:
    """The distinct values of a column that may hold a constant, as the log would write them in JSON."""
    distinct = column.unique().drop_null()
    if pa.types.is_boolean(distinct.type) or pa.types.is_binary(distinct.type):
        return []
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        needles = constants.needles
        if needles:
            kept = pc.match_substring_regex(distinct, r"\\u|%")
            for needle in needles:
                kept = pc.or_(kept, pc.match_substring(distinct, needle))
            distinct = distinct.filter(kept)
        return list(distinct.to_pylist())
    if pa.types.is_timestamp(distinct.type):
        distinct = distinct.cast(pa.timestamp("us", distinct.type.tz), safe=False)
    return [value if isinstance(value, (int, float)) else str(value) for value in distinct.to_pylist()]


def _counted(hits: Iterator[_Hit]) -> dict[tuple[str, str], tuple[str, int]]:
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for what, column, value in hits:
        first, count = found.get((what, column), (value, 0))
        found[(what, column)] = (first, count + 1)
    return found


def _version(key: str) -> int | None:
    parsed = parse_log_name(key.rpartition("/")[2])
    return None if parsed is None else parsed.version


def _dates(log: DeltaLog, now: int) -> Callable[[int | None], int | None]:
    """From when log clean-up may delete what a version wrote: a later checkpoint has to be old enough (CLEANUP-001).

    Where there is no later checkpoint, one that is made today.
    """
    kept = retention_terms(log.history_record()).log
    times = file_times(log.listing)
    made = [
        (checkpoint.version, times.get(checkpoint.version, max(part.modified for part in checkpoint.parts)))
        for checkpoint in log.listing.checkpoints
    ]

    def date(version: int | None) -> int | None:
        if kept is None:
            return None
        later = next((time for each, time in made if version is not None and each > version), now)
        return -(-later // _DAY) * _DAY + kept

    return date
