"""The error tree: one base, facts as attributes, messages that say what, where and what to do.

    ExplorerError
    ├── RequestError            the question cannot be answered as asked
    │   ├── VersionNotFound         version, earliest, latest, nearest
    │   ├── TimestampOutOfRange     timestamp, earliest, latest, nearest
    │   ├── ChangeFeedGap           version, holes, path
    │   ├── InvalidIntent           field, allowed
    │   ├── ExpressionRefused       expression, position, reason, nearest
    │   └── NotAllowed              location
    ├── TableError              the table, or what should be one, is broken
    │   ├── TableNotFound           location
    │   ├── VersionGap              missing, earliest, latest
    │   ├── MalformedAction         version, path, line
    │   ├── IncompleteCheckpoint    version, path
    │   ├── CorruptDeletionVector   path, unique_id
    │   ├── LimitExceeded           path, line, found, allowed
    │   └── CorruptTable            version, path
    ├── UnsupportedFeature      features, operation
    ├── CommitError             GuardFailed, CommitConflict, CommitUnknown
    ├── StorageError            path, unwritten (nothing of a put is there); always raised ``from`` its cause
    ├── EngineUnavailable       engine, install
    └── Cancelled               operation

Two kinds of fault are kept apart: `RequestError` means that the caller asked for something that does not exist,
`TableError` that the table itself does not keep to the protocol.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Cancelled",
    "ChangeFeedGap",
    "CommitConflict",
    "CommitError",
    "CommitUnknown",
    "CorruptDeletionVector",
    "CorruptTable",
    "EngineUnavailable",
    "ExplorerError",
    "ExpressionRefused",
    "GuardFailed",
    "IncompleteCheckpoint",
    "InvalidIntent",
    "LimitExceeded",
    "MalformedAction",
    "NotAllowed",
    "RequestError",
    "StorageError",
    "TableError",
    "TableNotFound",
    "TimestampOutOfRange",
    "UnsupportedFeature",
    "VersionGap",
    "VersionNotFound",
]


class ExplorerError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        message: What went wrong, where, and what to do about it.
        **facts: What a program may want to act on; each becomes an attribute and a field of `facts()`.
    """

    def __init__(self, message: str, **facts: Any) -> None:
        self.message = _printable(message)
        super().__init__(self.message)
        self._facts = facts
        for name, value in facts.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Facts are set per instance; a fact that this error was not given reads as None, any other name is an error.
        if name in _FACT_NAMES:
            return None
        raise AttributeError(name)

    def add_facts(self, **facts: Any) -> None:
        """Add facts known only further out (the table's location, say); facts already there stay."""
        for name, value in facts.items():
            if self._facts.get(name) is None:
                self._facts[name] = value
                setattr(self, name, value)

    def facts(self) -> dict[str, Any]:
        """Return the error as a JSON-able record: ``error`` (class name), ``message``, and the facts that are known."""
        known = {name: _plain(value) for name, value in self._facts.items() if value is not None}
        return {"error": type(self).__name__, "message": self.message, **known}


class RequestError(ExplorerError):
    """What was asked for does not exist or is not valid."""


class VersionNotFound(RequestError):
    """No such version; ``nearest`` is one that can be read."""


class TimestampOutOfRange(RequestError):
    """No version answers to that time; ``nearest`` is a version that can be read."""


class ChangeFeedGap(RequestError):
    """The change feed has a hole in the versions asked for; ``version`` is the first one, ``holes`` says each."""


class InvalidIntent(RequestError):
    """A change was asked for that makes no sense on this table."""


class ExpressionRefused(RequestError):
    """A SQL expression may not be evaluated; ``position`` (a character, from 1) is where, ``reason`` one word why."""


class NotAllowed(RequestError):
    """The location lies outside the served roots, or the operation was not permitted at start."""


class TableError(ExplorerError):
    """The table does not keep to the protocol."""


class TableNotFound(TableError):
    """There is no Delta log at the location."""


class VersionGap(TableError):
    """A commit that is needed is missing from the log."""


class MalformedAction(TableError):
    """A line of the log is not a valid action."""


class IncompleteCheckpoint(TableError):
    """A checkpoint lacks a part, or cannot be read."""


class CorruptDeletionVector(TableError):
    """A deletion vector's bytes do not match its descriptor."""


class LimitExceeded(TableError):
    """The log asks for more than this program is set to read; see `explorer.core.protocol.limits`."""


class CorruptTable(TableError):
    """The table's state contradicts itself or lacks what the protocol demands."""


class UnsupportedFeature(ExplorerError):
    """Reading or writing needs a feature that this program does not implement."""


class CommitError(ExplorerError):
    """A commit was not made, or its outcome is not known."""


class GuardFailed(CommitError):
    """A guard of the commit did not pass."""


class CommitConflict(CommitError):
    """Another commit took the version, and the two cannot both hold."""


class CommitUnknown(CommitError):
    """The answer of the store was lost: the commit may or may not exist."""


class StorageError(ExplorerError):
    """The store failed; the cause is chained."""


class EngineUnavailable(ExplorerError):
    """Spark or Java is missing; ``install`` says how to get it."""


class Cancelled(ExplorerError):
    """The person or program that asked for the work cancelled it."""


_FACT_NAMES = frozenset(
    [
        "table",
        "version",
        "versions",
        "path",
        "position",
        "reason",
        "line",
        "field",
        "allowed",
        "location",
        "missing",
        "earliest",
        "latest",
        "nearest",
        "timestamp",
        "unique_id",
        "features",
        "vanished",
        "operation",
        "winner",
        "results",
        "engine",
        "install",
        "column",
        "expected",
        "expression",
        "found",
        "holes",
        "unwritten",
    ]
)


_LONGEST_MESSAGE = 5_000


def _printable(message: str) -> str:
    """A message that can be written as UTF-8, whatever names stand in it; one that is too long loses its middle."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE - 1_000]} […] {message[-1_000:]}"
    return message.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (int, float, bool)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    return str(value)
