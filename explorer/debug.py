"""The switch for full errors: tracebacks, chained causes, and Spark's own words.

Without it, a person and a log get one line in words. It is a variable, so that the processes that this one starts know
it too; the command line sets it by ``--debug``. What it lets out may hold paths, settings and names of the machine.
"""

from __future__ import annotations

import logging
import os
import re
from typing import Final

from explorer.core.errors import ExplorerError
from explorer.credentials import without_credentials
from explorer.formatting import plain, readable_lines

DEBUG_VARIABLE: Final = "DELTA_EXPLORER_DEBUG"
"""The environment variable that switches full errors on: ``1``, ``true``, ``yes`` or ``on``."""
SEE_MORE: Final = f"Run it again with --debug, or with {DEBUG_VARIABLE}=1 set, to see the full error."
_ON: Final = frozenset({"1", "true", "yes", "on"})
_LONGEST: Final = 500
_FORMATTER: Final = logging.Formatter()
_TRACEBACK: Final = re.compile(r"\n?Traceback \(most recent call last\):|\n\s+at [\w.$]+\(")


def debugging() -> bool:
    """Return whether full errors are wanted."""
    return os.environ.get(DEBUG_VARIABLE, "").strip().lower() in _ON


def log_failure(log: logging.Logger, what: str, error: BaseException, level: int = logging.ERROR) -> None:
    """Write what failed and why to a log: one line in words, and the traceback with its causes when debugging.

    Args:
        log: The log.
        what: What failed: ``a check of the rows failed``.
        error: Why.
        level: As of `logging`.
    """
    log.log(level, "%s: %s", without_credentials(plain(what)), in_words(error), exc_info=error if debugging() else None)


class OneLine(logging.Filter):
    """Makes one line in words of every record that carries an error, unless debugging: for the handlers of a server."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, and let it through."""
        if debugging():
            record.msg, record.args = without_credentials(record.getMessage()), ()
            if record.exc_info:
                record.exc_text = without_credentials(_FORMATTER.formatException(record.exc_info))
            return True
        error = record.exc_info[1] if record.exc_info else None
        text = without_credentials(readable_lines(record.getMessage()))
        first = _TRACEBACK.split(text, maxsplit=1)[0].rstrip()
        record.msg, record.args = (first if error is None else f"{first}: {in_words(error)}"), ()
        record.exc_info = record.exc_text = record.stack_info = None
        return True


def quiet_handlers() -> None:
    """Let the handlers of this process's logs write errors in one line; what is debugged stays whole."""
    handlers = [*logging.getLogger().handlers, *logging.getLogger("panel").handlers]
    for handler in (*handlers, *([] if logging.lastResort is None else [logging.lastResort])):
        if not any(isinstance(known, OneLine) for known in handler.filters):
            handler.addFilter(OneLine())


def is_of_spark(error: BaseException) -> bool:
    """Return whether Spark, its Java, or the connection to it raised an exception."""
    return any(kind.__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"} for kind in type(error).__mro__)


def in_words(error: BaseException) -> str:
    """Return an error as one line for people, without a traceback and without the words of Java."""
    if isinstance(error, ExplorerError):
        return plain(error.message)
    name = type(error).__name__
    if is_of_spark(error):
        return f"Spark failed ({name})."
    first = plain(without_credentials(str(error).strip().partition("\n")[0]), _LONGEST).rstrip(".")
    return f"{name}: {first}." if first else f"{name}."
