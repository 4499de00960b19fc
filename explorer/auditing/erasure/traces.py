"""Where the log itself holds a constant of a predicate, or a value that meets it: bounds, partition values, paths,
provenance, anything else.

Protocol sections: Per-file Statistics, Commit Provenance Information, Checkpoints, Metadata Cleanup. Every file of
``_delta_log`` is read: commits, compactions, checksums, staged commits, checkpoints and their sidecars. Invariants: a
trace names its file, version, column and the kind of place; a file that cannot be read is named; the date is the
earliest at which log clean-up deletes the file, None where that is switched off. A value of which it is open whether it
meets the predicate is no trace: its file is named as not answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import pyarrow as pa

from explorer.auditing.erasure.constants import Constants
from explorer.auditing.erasure.log_hits import Hit, LogSearch, hits_and_reasons, text_of
from explorer.auditing.erasure.value_conditions import ValueCondition
from explorer.core.errors import StorageError
from explorer.core.log.log_path import LOG_FOLDER, parse_log_name
from explorer.core.protocol.arrow.arrays import only_array
from explorer.core.protocol.json_values import JsonValue
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.retention.expiry import file_times, retention_terms

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


class Trace(msgspec.Struct, frozen=True):
    """Constants, or values that match, in one file of the log, in one kind of place.

    Attributes:
        path: Key of the file.
        version: Its version, None if its name says none.
        what: ``least value``, ``greatest value``, ``partition value``, ``path``, ``predicate`` (of commitInfo), or the
            name of another field.
        column: The column, physical name, or the field; empty where there is none.
        value: One of the values, shortened.
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


class LogTraces(msgspec.Struct, frozen=True):
    """The traces, the files of the log that were read, and those that could not be, with the reason."""

    traces: tuple[Trace, ...]
    read: int
    unanswered: tuple[tuple[str, str], ...]


def log_traces(
    log: DeltaLog,
    constants: Constants,
    now: int,
    check_cancelled: Callable[[], None] = lambda: None,
    *,
    condition: ValueCondition | None = None,
) -> LogTraces:
    """Look for constants in every file of the log.

    Args:
        log: The table's log.
        constants: The constants to search for.
        now: ms since the epoch.
        check_cancelled: Called before each file; may raise.
        condition: Look for values that meet it too; constants then count only where it does not judge.

    Raises:
        StorageError: The folder cannot be listed.
    """
    dates = _dates(log, now)
    first = log.history_record().first_readable
    search = LogSearch(constants, condition, constants.needles if condition is None else ())
    traces: list[Trace] = []
    unanswered: list[tuple[str, str]] = []
    read = 0
    for key in sorted(_files(log, check_cancelled)):
        check_cancelled()
        try:
            hits, reasons = hits_and_reasons(log, key, search)
        except _UNREADABLE as error:
            unanswered.append((key, f"this log file cannot be read: {str(error).splitlines()[0]}"))
            continue
        read += 1
        version = _version(key)
        if condition is not None and version is not None and version < first:
            reasons = [*reasons, "its version can no longer be rebuilt, so the types of its values are unknown"]
        unanswered += [(key, reason) for reason in reasons]
        traces += [
            Trace(key, version, what, column, _shown(value), count, dates(version))
            for (what, column), (value, count) in _counted(hits).items()
        ]
    return LogTraces(tuple(traces), read, tuple(unanswered))


def _files(log: DeltaLog, check_cancelled: Callable[[], None]) -> list[str]:
    keys = only_array(log.store.list_files(check_cancelled), "path").to_pylist()
    prefix = f"{LOG_FOLDER}/"
    own = (key for key in keys if key.startswith(prefix))
    # Hadoop's checksums of its own files hold no values.
    return [key for key in own if not (key.rpartition("/")[2].startswith(".") and key.endswith(".crc"))]


def _shown(value: JsonValue) -> str:
    text = text_of(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}\u2026"


def _counted(hits: list[Hit]) -> dict[tuple[str, str], tuple[JsonValue, int]]:
    counts: dict[tuple[str, str], tuple[JsonValue, int]] = {}
    for hit in hits:
        first, count = counts.get((hit.what, hit.column), (hit.value, 0))
        counts[(hit.what, hit.column)] = (first, count + 1)
    return counts


def _version(key: str) -> int | None:
    parsed = parse_log_name(key.rpartition("/")[2])
    return None if parsed is None else parsed.version


def _dates(log: DeltaLog, now: int) -> Callable[[int | None], int | None]:
    """Return from when log cleanup may delete a version: once a later checkpoint is old enough (CLEANUP-001)."""
    period = retention_terms(log.history_record()).log
    times = file_times(log.listing)
    made = [
        (checkpoint.version, times.get(checkpoint.version, max(part.modified for part in checkpoint.parts)))
        for checkpoint in log.listing.checkpoints
    ]

    def date(version: int | None) -> int | None:
        if period is None:
            return None
        later = next((time for each, time in made if version is not None and each > version), now)
        return -(-later // _DAY) * _DAY + period

    return date
