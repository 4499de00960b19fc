"""Exceptions of Spark as this program's typed errors, which name the file and the version.

Invariant: the cause is always chained by the caller; nothing is swallowed, and an unknown exception becomes a
StorageError with Spark's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from explorer.core.errors import (
    Cancelled,
    CorruptTable,
    EngineUnavailable,
    ExplorerError,
    ExpressionRefused,
    StorageError,
)
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE
from explorer.spark.engine.file_addresses import FileAddress

__all__ = ["condition_of", "failure_of", "first_sentence", "messages_of"]

_READ_FILE: Final = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (\S+?)\.?\s")
_NOT_FOUND: Final = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE")
_TASK_READ: Final = re.compile(
    r"explorer: file (is missing|has another size|cannot be read|cannot be fetched): (\S+)(?: :: (.*))?"
)
_UNKNOWN_FILE: Final = re.compile(r"explorer: no entry of the log for the file (\S+)")
_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_INSTALL: Final = "pip install delta-table-explorer"
_NO_FIELD_IDS: Final = "Parquet file schema doesn't contain any field Ids"
# Advice on settings of the session, which the user cannot change here.
_SETTING_ADVICE: Final = re.compile(
    r"\s*If necessary set \S+ to \S+ to bypass this error\.?|\nRewrite the query.*", re.DOTALL
)
# A traceback of a Python worker, up to the error that ended it.
_TRACEBACK: Final = re.compile(r"^.*Traceback \(most recent call last\):\n.*\n[\w.]+: ", re.DOTALL)
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
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


def failure_of(
    error: Exception, addresses: Sequence[FileAddress] = (), version: int | None = None, where: str | None = None
) -> ExplorerError:
    """The typed error for an exception out of Spark; raise it ``from`` the exception.

    Args:
        error: What Spark raised, classic or Connect, when planning or when running.
        addresses: Files of the scan, so that the error names the file as the log does.
        version: Version of the snapshot.
        where: The user's predicate, if there was one: a failure in an expression is then a fault of the request.
    """
    if isinstance(error, ExplorerError):
        return error
    text = "\n".join(messages_of(error))
    condition = condition_of(error)
    if "SPARK_JOB_CANCELLED" in text or "OPERATION_CANCELED" in text:
        return Cancelled("The work was cancelled.", operation="read rows")
    if isinstance(error, (Py4JNetworkError, ConnectionError)) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    ):
        return EngineUnavailable(
            "Spark's Java process died while it worked. It starts again at the next request; if this happens again, "
            "give it more memory (spark.driver.memory) or read fewer rows.",
            engine="spark",
        )
    if (lacking := _NO_PACKAGE.search(text)) is not None:
        return EngineUnavailable(
            f"The Python package {lacking[1]} is not installed where Spark's tasks run. Install there what this "
            f"program needs: {_INSTALL}.",
            engine="spark",
            install=_INSTALL,
        )
    about_file = _file_failure(text, addresses, version)
    if about_file is not None:
        return about_file
    if where is not None and condition is not None and condition.startswith(_FROM_EXPRESSIONS):
        return ExpressionRefused(
            f"The condition {where!r} fails on some row: {first_sentence(error)} "
            "Guard it, for example with try_cast or CASE WHEN.",
            expression=where,
            reason="runtime",
            condition=condition,
        )
    return StorageError(f"Spark could not read the rows: {first_sentence(error)}", version=version)


def condition_of(error: Exception) -> str | None:
    """Spark's error condition, for example ``UNRESOLVED_COLUMN.WITH_SUGGESTION``, or None."""
    get = getattr(error, "getCondition", None)
    if callable(get) and (found := get()) is not None:
        return str(found)
    match = next((m for m in map(_CONDITION.search, messages_of(error)) if m is not None), None)
    return None if match is None else match[1]


def first_sentence(error: Exception) -> str:
    """What Spark or an error in a worker said, without its condition, SQL state, position marks, traceback and plan."""
    messages = [message for message in messages_of(error) if "awaitResult" not in message]
    text = messages[0].strip() if messages else type(error).__name__
    text = _CONDITION.sub("", _TRACEBACK.sub("", text), count=1).strip()
    text = re.split(r"\s*SQLSTATE:|\n==|;\n", text)[0]
    text = " ".join(_SETTING_ADVICE.sub("", text).split())
    return text if text.endswith((".", "?", "!")) else text + "."


def _file_failure(text: str, addresses: Sequence[FileAddress], version: int | None) -> ExplorerError | None:
    at = "" if version is None else f" of version {version}"
    if (missing := _NOT_FOUND.search(text)) is not None:
        path = _named(missing[1], addresses)
        return _missing(path, at, version)
    if (unknown := _UNKNOWN_FILE.search(text)) is not None:
        path = _named(unknown[1], addresses)
        return StorageError(
            f"Spark read the file {path}{at} under a name that matches no entry of the log, so its rows cannot be "
            "distinguished from others. This is a fault of this program: please report it with the file's name.",
            path=path,
            version=version,
        )
    if (told := _TASK_READ.search(text)) is not None:
        return _told_by_task(told[1], _named(told[2], addresses), told[3] or "", at, version)
    if (failed := _READ_FILE.search(text)) is None:
        return None
    path = _named(failed[2], addresses)
    if failed[1] == "FILE_NOT_EXIST":
        return _missing(path, at, version)
    if _NO_FIELD_IDS in text:
        return CorruptTable(
            f"The data file {path}{at} has no Parquet field ids, but the table maps columns by id "
            f"({COLUMN_MAPPING_MODE} = id). Its columns cannot be identified; rewrite the file with a writer that "
            "sets field ids.",
            path=path,
            version=version,
        )
    detail = text[failed.end() :].replace("SQLSTATE: KD001", "").strip().splitlines()
    return CorruptTable(
        f"The data file {path}{at} cannot be read as the table's schema says"
        f"{': ' + ' '.join(detail)[:300].rstrip('.') if detail else ''}. It is damaged or holds other types.",
        path=path,
        version=version,
    )


def _told_by_task(what: str, path: str, detail: str, at: str, version: int | None) -> ExplorerError:
    if what == "is missing":
        return _missing(path, at, version)
    if what == "has another size":
        return CorruptTable(
            f"The data file {path}{at} has {detail}. It was overwritten or truncated; data files are never changed in "
            "place.",
            path=path,
            version=version,
        )
    if what == "cannot be fetched":
        return StorageError(
            f"The data file {path}{at} cannot be fetched from its store: {detail.rstrip('.')}. Check the address, the "
            "network, and the credentials, which Spark's workers must have too where they are not in storage_options.",
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
        f"The data file {path}{at} does not exist. It was removed after the commit, by VACUUM or by hand: "
        "choose a version whose files still exist.",
        path=path,
        version=version,
    )


def _named(spoken: str, addresses: Sequence[FileAddress]) -> str:
    """The path in the log of a file that Spark names."""
    key = _plain(spoken)
    return next((a.raw_path for a in addresses if key in (_plain(a.metadata_path), _plain(a.reader_path))), spoken)


def _plain(path: str) -> str:
    return unquote(re.sub(r"^file:/+", "/", path))


def messages_of(error: Exception) -> Iterator[str]:
    """The error's message and those of its Java causes, outermost first."""
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        yield str(error)
        return
    while java is not None:
        message = java.getMessage()
        if message:
            yield str(message)
        java = java.getCause()
