"""Exceptions of Spark as this program's typed errors, which name the file and the version.

Invariant: the cause is always chained by the caller, and nothing is swallowed. Known kinds have a message of their
own; of the rest the message has the kind alone, and where the full error is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from explorer.core.errors import (
    CorruptTable,
    EngineUnavailable,
    ExplorerError,
    ExpressionRefused,
    StorageError,
    UnsupportedFeature,
)
from explorer.core.protocol.file_locations import next_step_for_missing
from explorer.core.protocol.limits import footer_bytes, too_large_footer, too_many_decoded
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE
from explorer.debug import SEE_MORE
from explorer.spark.engine.failure_kinds import known_failure
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.engine.spark_words import (
    condition_of,
    first_sentence,
    messages_of,
    short_name,
    texts_of,
    without_java,
)

__all__ = ["PLANNING_ERRORS", "SPARK_ERRORS", "condition_of", "failure_of", "first_sentence", "messages_of"]

PLANNING_ERRORS: Final = (PySparkException, Py4JError)
"""What analysing a plan may raise: PySpark turns a part alone of Java's exceptions into its own."""
SPARK_ERRORS: Final = (*PLANNING_ERRORS, OSError)
"""What running a plan may raise."""

_READ_FILE: Final = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (\S+?)\.?\s")
_NOT_FOUND: Final = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE")
_TASK_READ: Final = re.compile(
    r"explorer: file (is missing|has another size|has too large a footer|takes too much memory|cannot be read"
    r"|cannot be fetched): (\S+)(?: :: (.*))?"
)
_UNKNOWN_FILE: Final = re.compile(r"explorer: no entry of the log for the file (\S+)")
_NO_FIELD_IDS: Final = "Parquet file schema doesn't contain any field Ids"
_FROM_EXPRESSIONS: Final = (
    "ARITHMETIC_OVERFLOW",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "DATETIME_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "INVALID_",
    "MAP_KEY_DOES_NOT_EXIST",
    "NUMERIC_",
    "REMAINDER_BY_ZERO",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    "USER_RAISED_EXCEPTION",
)
_DETAIL: Final = 300
_UNCLEAR: Final = ("INTERNAL_ERROR", "PYTHON_EXCEPTION", "FAILED_READ_FILE")


def failure_of(
    error: Exception, addresses: Sequence[FileAddress] = (), version: int | None = None, where: str | None = None
) -> ExplorerError:
    """Return the typed error for an exception out of Spark; raise it ``from`` the exception.

    Args:
        error: What Spark raised, classic or Connect, when planning or when running.
        addresses: Files of the scan, so that the error names the file as the log does.
        version: Version of the snapshot.
        where: The user's predicate, if there was one: a failure in an expression is then a fault of the request.
    """
    if isinstance(error, ExplorerError):
        return error
    if isinstance(error, (Py4JNetworkError, ConnectionError)) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    ):
        return EngineUnavailable(
            "Spark's Java process died while it worked. It starts again at the next request; if this happens again, "
            "give it more memory (spark.driver.memory) or read fewer rows.",
            engine="spark",
        )
    text, condition = "\n".join(messages_of(error)), condition_of(error)
    if (file_failure := _file_failure(text, addresses, version)) is not None:
        return file_failure
    if condition is None or not condition.startswith(_FROM_EXPRESSIONS):
        # The error of an expression may contain any text of the table, and must not be taken for another kind.
        known = known_failure(_READ_FILE.sub("", texts_of(error)))
        if known is not None:
            return _about_file(known, text, addresses, version)
    if (failed := _READ_FILE.search(text)) is not None:
        return _unreadable(failed, text, addresses, version)
    if where is not None and condition is not None and condition.startswith(_FROM_EXPRESSIONS):
        return ExpressionRefused(
            f"The condition {where!r} fails on some row: {first_sentence(error)} "
            "Guard it, for example with try_cast or CASE WHEN.",
            expression=where,
            reason="runtime",
            condition=condition,
        )
    if condition is not None and not condition.startswith(_UNCLEAR):
        return StorageError(f"Spark could not read the rows: {first_sentence(error)}", version=version)
    kind = short_name(error) if condition is None or condition.startswith("PYTHON") else condition
    return StorageError(f"Spark could not read the rows ({kind}). {SEE_MORE}", version=version)


def _file_failure(text: str, addresses: Sequence[FileAddress], version: int | None) -> ExplorerError | None:
    """Return the failure of a file, from the known messages of Spark and of this program's tasks."""
    at = "" if version is None else f" of version {version}"
    if (missing := _NOT_FOUND.search(text)) is not None:
        return _missing(_named(missing[1], addresses), at, version)
    if (unknown := _UNKNOWN_FILE.search(text)) is not None:
        path = _named(unknown[1], addresses)
        return StorageError(
            f"Spark read the file {path}{at} under a name that matches no entry of the log, so its rows cannot be "
            "distinguished from others. This is a fault of this program: please report it with the file's name.",
            path=path,
            version=version,
        )
    if (task_error := _TASK_READ.search(text)) is not None:
        return _task_failure(task_error[1], _named(task_error[2], addresses), task_error[3] or "", at, version)
    return None


def _about_file(
    known: ExplorerError, text: str, addresses: Sequence[FileAddress], version: int | None
) -> ExplorerError:
    """Return a known failure with the name of the file that Spark read."""
    failed = _READ_FILE.search(text)
    if failed is None or not isinstance(known, StorageError | UnsupportedFeature):
        return known
    path = _named(failed[2], addresses)
    at = "" if version is None else f" of version {version}"
    return replace(
        known, message=f"The data file {path}{at} cannot be read. {known.message}", path=path, version=version
    )


def _unreadable(
    failed: re.Match[str], text: str, addresses: Sequence[FileAddress], version: int | None
) -> ExplorerError:
    path = _named(failed[2], addresses)
    at = "" if version is None else f" of version {version}"
    if failed[1] == "FILE_NOT_EXIST":
        return _missing(path, at, version)
    if failed[1] == "UNSUPPORTED_FILE_SYSTEM":
        return UnsupportedFeature(
            f"Spark cannot read the data file {path}{at}: it has no file system for such addresses. Copy the files to "
            "a folder or an object store that it can read.",
            features=[path.partition(":")[0]],
            operation="read rows",
            path=path,
            version=version,
        )
    if _NO_FIELD_IDS in text:
        return CorruptTable(
            f"The data file {path}{at} has no Parquet field ids, but the table maps columns by id "
            f"({COLUMN_MAPPING_MODE} = id). Its columns cannot be identified; rewrite the file with a writer that "
            "sets field ids.",
            path=path,
            version=version,
        )
    detail = without_java(text[failed.end() :]).replace(failed[2], path)[:_DETAIL].rstrip(".")
    return CorruptTable(
        f"The data file {path}{at} cannot be read as the table's schema says{': ' + detail if detail else ''}. It is "
        "damaged or holds other types. Restore it from a backup, or choose a version without it.",
        path=path,
        version=version,
    )


def _task_failure(what: str, path: str, detail: str, at: str, version: int | None) -> ExplorerError:
    if what == "is missing":
        return _missing(path, at, version)
    if what == "has another size":
        return CorruptTable(
            f"The data file {path}{at} has {detail}. It was overwritten or truncated; data files are never changed in "
            "place.",
            path=path,
            version=version,
        )
    if what == "has too large a footer":
        return too_large_footer(path, int(detail) if detail.isdecimal() else 0, footer_bytes())
    if what == "takes too much memory":
        # A name in a log may look like more of the message.
        numbers = [int(number) for number in detail.split(" of ") if number.isascii() and number.isdecimal()]
        decoded, allowed = numbers if len(numbers) == 2 else (0, 0)
        return too_many_decoded("The rows of a data file that are read at once", path, version, decoded, allowed)
    if what == "cannot be fetched":
        return StorageError(
            f"The data file {path}{at} cannot be fetched from its store: {detail.rstrip('.')}. Spark's workers must "
            "reach the store too, and have the credentials where they are not in storage_options.",
            path=path,
            version=version,
        )
    return CorruptTable(
        f"The data file {path}{at} cannot be read as the table's schema says: {detail.rstrip('.')}. It is damaged or "
        "holds other types.",
        path=path,
        version=version,
    )


def _missing(path: str, at: str, version: int | None) -> StorageError:
    return StorageError(
        f"The data file {path}{at} does not exist. It was removed after the commit, by VACUUM or by hand. "
        f"{next_step_for_missing([path])}",
        path=path,
        version=version,
    )


def _named(spelling: str, addresses: Sequence[FileAddress]) -> str:
    """Return the path in the log of a file that Spark names."""
    key = _plain(spelling)
    return next((a.raw_path for a in addresses if key in (_plain(a.metadata_path), _plain(a.reader_path))), spelling)


def _plain(path: str) -> str:
    return unquote(re.sub(r"^file:/+", "/", path))
