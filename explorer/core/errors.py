"""The error tree: one base, facts as typed attributes, messages that say what, where and what to do.

    ExplorerError               table
    ├── RequestError            the question cannot be answered as asked: what of it, what was found, what may be there
    │   ├── VersionNotFound         version, earliest, latest, nearest
    │   ├── TimestampOutOfRange     timestamp, earliest, latest, nearest
    │   ├── ChangeFeedGap           version, versions, holes, path, missing
    │   ├── InvalidIntent           field, column, found, allowed, nearest, earliest, latest; those of ExpressionRefused
    │   ├── ExpressionRefused       expression, position, reason, condition, found, expected, nearest
    │   └── NotAllowed              location, field
    ├── TableError              the table, or what should be one, is broken
    │   ├── TableNotFound           location
    │   ├── VersionGap              version, vanished, missing, earliest, latest
    │   ├── MalformedAction         version, path, line
    │   ├── IncompleteCheckpoint    version, path, vanished
    │   ├── CorruptDeletionVector   path, unique_id, version
    │   ├── LimitExceeded           version, path, line, found, allowed
    │   └── CorruptTable            path, version, column, found, expected
    ├── UnsupportedFeature      features, operation, path, version, column
    ├── CommitError             a commit was not made, or its outcome is not known
    │   ├── GuardFailed             results
    │   ├── CommitConflict          winner, version
    │   └── CommitUnknown           version, found
    ├── StorageError            path, version, unwritten; always raised ``from`` its cause
    ├── EngineUnavailable       engine, install
    └── Cancelled               operation, found

Two kinds of fault are kept apart: `RequestError` means that the caller asked for something that does not exist,
`TableError` that the table itself does not keep to the protocol. Every fact is None where it is not known; an error
inherits the facts of its base.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import get_annotations
from typing import Any, Self

from explorer.credentials import without_credentials

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


@dataclass(eq=False, repr=False, kw_only=True)
class ExplorerError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        message: What went wrong, where, and what to do about it.
        table: Location of the table; added where it is known.
    """

    message: str = dataclasses.field(kw_only=False)
    table: str | None = None

    def __post_init__(self) -> None:
        self.message = _printable(self.message)
        super().__init__(self.message)

    def with_facts(self, **facts: Any) -> Self:
        """Return an error of the same kind and message with other facts; raise it ``from`` this one."""
        return dataclasses.replace(self, **facts)

    def facts(self) -> dict[str, object]:
        """Return the error as a JSON-able record: ``error`` (class name), ``message``, and the facts that are known.

        The facts that a class declares come first, in its order, then those of its bases.
        """
        declared = [name for kind in type(self).__mro__ for name in get_annotations(kind)]
        known = {name: getattr(self, name) for name in dict.fromkeys(declared)}
        facts = {name: _plain(value) for name, value in known.items() if value is not None}
        return {"error": type(self).__name__, "message": self.message, **facts}


@dataclass(eq=False, repr=False, kw_only=True)
class RequestError(ExplorerError):
    """What was asked for does not exist or is not valid."""

    location: str | None = None
    path: str | None = None
    field: str | None = None
    column: str | None = None
    columns: Sequence[str] | None = None
    version: int | None = None
    timestamp: datetime | str | None = None
    position: int | None = None
    reason: str | None = None
    expected: str | None = None
    found: object = None
    allowed: Sequence[str | list[int]] | None = None
    nearest: int | str | Sequence[str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class VersionNotFound(RequestError):
    """No such version; ``nearest`` is one that can be read."""

    version: int | None = None
    earliest: int | None = None
    latest: int | None = None
    nearest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class TimestampOutOfRange(RequestError):
    """No version answers to that time; ``nearest`` is a version that can be read."""

    timestamp: datetime | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    nearest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ChangeFeedGap(RequestError):
    """The change feed has a hole in the versions asked for; ``version`` is the first one, ``holes`` says each."""

    version: int | None = None
    versions: Sequence[int] | None = None
    holes: Sequence[Mapping[str, object]] | None = None
    path: str | None = None
    missing: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidIntent(RequestError):
    """A change was asked for that makes no sense on this table."""

    field: str | None = None
    expression: str | None = None
    position: int | None = None
    reason: str | None = None
    condition: str | None = None
    column: str | None = None
    found: object = None
    expected: str | None = None
    allowed: Sequence[str | list[int]] | None = None
    nearest: str | Sequence[str] | None = None
    earliest: int | None = None
    latest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ExpressionRefused(RequestError):
    """A SQL expression may not be evaluated; ``position`` (a character, from 1) is where, ``reason`` one word why."""

    expression: str | None = None
    position: int | None = None
    reason: str | None = None
    condition: str | None = None
    found: str | None = None
    expected: str | None = None
    nearest: Sequence[str] | None = None


class NotAllowed(RequestError):
    """The location is outside the served roots, or the operation was not permitted at start."""


class TableError(ExplorerError):
    """The table does not keep to the protocol."""


@dataclass(eq=False, repr=False, kw_only=True)
class TableNotFound(TableError):
    """There is no Delta log at the location."""

    location: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class VersionGap(TableError):
    """A commit that is needed is missing from the log; ``vanished`` says that it was there when the log was listed."""

    version: int | None = None
    vanished: bool | None = None
    missing: int | None = None
    earliest: int | None = None
    latest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class MalformedAction(TableError):
    """A line of the log is not a valid action."""

    version: int | None = None
    path: str | None = None
    line: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class IncompleteCheckpoint(TableError):
    """A checkpoint lacks a part, or cannot be read."""

    version: int | None = None
    path: str | None = None
    vanished: bool | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CorruptDeletionVector(TableError):
    """A deletion vector's bytes do not match its descriptor."""

    path: str | None = None
    unique_id: str | None = None
    version: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class LimitExceeded(TableError):
    """The log asks for more than this program is set to read; see `explorer.core.protocol.limits`."""

    version: int | None = None
    path: str | None = None
    line: int | None = None
    found: int | None = None
    allowed: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CorruptTable(TableError):
    """The table's state contradicts itself or lacks what the protocol demands."""

    path: str | None = None
    version: int | None = None
    column: str | None = None
    found: object = None
    expected: int | str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class UnsupportedFeature(ExplorerError):
    """Reading or writing needs a feature that this program does not implement."""

    features: Sequence[str] | None = None
    operation: str | None = None
    path: str | None = None
    version: int | None = None
    column: str | None = None


class CommitError(ExplorerError):
    """A commit was not made, or its outcome is not known."""


@dataclass(eq=False, repr=False, kw_only=True)
class GuardFailed(CommitError):
    """A guard of the commit did not pass."""

    results: Sequence[Mapping[str, object]] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CommitConflict(CommitError):
    """Another commit took the version, and the two cannot both hold."""

    winner: int | None = None
    version: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CommitUnknown(CommitError):
    """The answer of the store was lost: the commit may or may not exist; ``found`` is its transaction."""

    version: int | None = None
    found: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class StorageError(ExplorerError):
    """The store failed; the cause is chained. ``unwritten`` says that nothing of a put is there."""

    path: str | None = None
    version: int | None = None
    unwritten: bool | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class EngineUnavailable(ExplorerError):
    """Spark or Java is missing; ``install`` says how to get it."""

    engine: str | None = None
    install: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Cancelled(ExplorerError):
    """The person or program that asked for the work cancelled it."""

    operation: str | None = None
    found: str | None = None


_LONGEST_MESSAGE = 5_000
# Characters of a name that would steer a terminal or turn the direction of a text.
_STEERING = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


def _printable(message: str) -> str:
    """A message as UTF-8 without credentials, whatever names it holds; one that is too long loses its middle."""
    message = without_credentials(message)  # before it is cut, and its names perhaps with it
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE - 1_000]} […] {message[-1_000:]}"
    return _STEERING.sub("\ufffd", message.encode("utf-8", "backslashreplace").decode())


def _plain(value: object) -> object:
    if isinstance(value, str):
        return without_credentials(value.encode("utf-8", "backslashreplace").decode())
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    return without_credentials(str(value))
