"""Errors -> exit codes and JSON objects.

0    done
1    a bug; findings of `audit` as severe as --fail-on, or of `verify`; an alert of `tripwires`; a changed report
2    bad request: wrong usage, no such version, column or output folder
3    the table is damaged or missing, its store failed, or the output cannot be written
4    the table needs a feature that is not supported
5    the change was not committed: a guard failed or another commit conflicts; or the outcome is unknown
6    an engine is missing: Java, Spark, or the package that serves pages
130  cancelled
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import typer

from explorer.core.errors import (
    Cancelled,
    CommitError,
    EngineUnavailable,
    ExplorerError,
    RequestError,
    StorageError,
    TableError,
    UnsupportedFeature,
)
from explorer.debug import in_words, is_of_spark

CANCELLED: Final = 130
_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (RequestError, 2),
    (TableError, 3),
    (StorageError, 3),
    (UnsupportedFeature, 4),
    (CommitError, 5),
    (EngineUnavailable, 6),
    (Cancelled, CANCELLED),
    (typer.TyperException, 2),
)
_FAULT: Final = 1


class ErrorDocument(msgspec.Struct, frozen=True):
    """An error: its class, its message, and the facts of that class beside them, such as path, version or nearest."""

    error: str
    message: str


def typed(error: Exception) -> Exception:
    """Return an exception of Spark or of its Java as this program's error, and any other as it is."""
    if not is_of_spark(error):
        return error
    from explorer.spark.engine.failures import failure_of

    return failure_of(error)


def exit_code(error: Exception) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), _FAULT)


def facts_of(error: Exception) -> dict[str, Any]:
    """Return the error as a JSON object: ``error`` (the class), ``message`` and its facts."""
    if isinstance(error, ExplorerError):
        return error.facts()
    if isinstance(error, typer.TyperException):
        return {"error": "UsageError", "message": f"{_ended(error.format_message())}{_hint(error)}"}
    return {
        "error": type(error).__name__,
        "message": f"{in_words(error)} This is a bug. Run delta-explorer --debug COMMAND ... to see where.",
    }


def _ended(message: str) -> str:
    """Return a message of the parser with one mark at its end."""
    message = message.rstrip(".")  # the parser ends a question with "?."
    return message if message.endswith("?") else f"{message}."


def _hint(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f" See {context.command_path} --help."
