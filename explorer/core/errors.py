"""The error tree: one base, facts as typed attributes, messages with cause, location and next step.

    ExplorerError               version, path, column, table
    ├── RequestError            the request is not valid: the part of it, its value, the allowed values
    │   ├── VersionNotFound         earliest, latest, nearest
    │   ├── TimestampOutOfRange     timestamp, earliest, latest, nearest
    │   ├── ChangeFeedGap           versions, holes, missing
    │   ├── InvalidIntent           expression, condition, nearest, earliest, latest
    │   ├── ExpressionRefused       expression, condition, found, nearest
    │   ├── InvalidConfiguration    line
    │   ├── LimitReached            limit
    │   └── NotAllowed
    ├── TableError              the table, or its log, is damaged
    │   ├── TableNotFound           location
    │   ├── VersionGap              vanished, missing, earliest, latest
    │   ├── MalformedAction         line
    │   ├── IncompleteCheckpoint    vanished
    │   ├── CorruptDeletionVector   unique_id
    │   ├── LimitExceeded           line, found, allowed
    │   └── CorruptTable            found, expected
    ├── UnsupportedFeature      features, operation
    ├── CommitError             a commit was not made, or its outcome is unknown
    │   ├── GuardFailed             results
    │   ├── CommitConflict          winner
    │   └── CommitUnknown           found
    ├── StorageError            unwritten, reason, code; always raised ``from`` its cause
    │   └── CatalogError            status, catalog; may have no cause
    ├── EngineUnavailable       engine, install
    └── Cancelled               operation, found

`RequestError` means that the caller requested something that does not exist or is not valid, `TableError` that the
table itself violates the protocol. Every fact is None where it is not known; an error inherits the facts of its base.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeVar

from explorer.credentials import without_credentials

__all__ = [
    "Cancelled",
    "CatalogError",
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
    "InvalidConfiguration",
    "InvalidIntent",
    "LimitExceeded",
    "LimitReached",
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

_Kind = TypeVar("_Kind", bound="ExplorerError")


@dataclass(eq=False, repr=False, kw_only=True)
class ExplorerError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        message: What happened, where, and the next step.
        version, path, column: Where it happened: the version, the file, and the column.
        table: Location of the table; added where it is known.
    """

    message: str = dataclasses.field(kw_only=False)
    version: int | None = None
    path: str | None = None
    column: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        self.message = _printable(self.message)
        super().__init__(self.message)

    def with_facts(self, **facts: Any) -> Self:
        """Return an error of the same kind and message with other facts; raise it ``from`` this one."""
        return dataclasses.replace(self, **facts)

    def of_kind(self, kind: type[_Kind], **facts: Any) -> _Kind:
        """Return an error of another kind with the message and the facts that both have, and others; raise it ``from``
        this one."""
        known = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        shared = {field.name: known[field.name] for field in dataclasses.fields(kind) if field.name in known}
        return kind(**(shared | facts))

    def facts(self) -> dict[str, object]:
        """Return the error as a JSON-able record: ``error`` (class name), ``message``, and the facts that are known.

        The facts of the bases come first, then those of the class, each in its order, and the table last.
        """
        declared = [field.name for field in dataclasses.fields(self) if field.name != "table"]
        known = {name: getattr(self, name) for name in (*declared, "table")}
        facts = {name: _plain(value) for name, value in known.items() if value is not None}
        return {"error": type(self).__name__, "message": self.message, **facts}


@dataclass(eq=False, repr=False, kw_only=True)
class RequestError(ExplorerError):
    """The requested object does not exist, or the request is not valid.

    Attributes:
        location, columns, timestamp: The object of the request.
        field: The argument or the field of a document that is not valid.
        position: A character of an expression, from 1.
        reason: One word for the cause.
        found, expected, allowed, nearest: The value given, and the valid ones.
    """

    location: str | None = None
    field: str | None = None
    columns: Sequence[str] | None = None
    timestamp: datetime | str | None = None
    position: int | None = None
    reason: str | None = None
    expected: str | None = None
    found: object = None
    allowed: Sequence[str | list[int]] | None = None
    nearest: int | str | Sequence[str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class VersionNotFound(RequestError):
    """The version does not exist; ``nearest`` is one that can be read."""

    earliest: int | None = None
    latest: int | None = None
    nearest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class TimestampOutOfRange(RequestError):
    """No version was current at that time; ``nearest`` is a version that can be read."""

    timestamp: datetime | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    nearest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ChangeFeedGap(RequestError):
    """The change feed has a gap in the requested versions; ``version`` is the first one, ``holes`` has each."""

    versions: Sequence[int] | None = None
    holes: Sequence[Mapping[str, object]] | None = None
    missing: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidIntent(RequestError):
    """The requested change is not valid for this table."""

    expression: str | None = None
    condition: str | None = None
    nearest: str | Sequence[str] | None = None
    earliest: int | None = None
    latest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ExpressionRefused(RequestError):
    """A SQL expression may not be evaluated."""

    expression: str | None = None
    condition: str | None = None
    found: str | None = None
    nearest: Sequence[str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidConfiguration(RequestError):
    """The configuration file is not valid; ``path``, ``line``, and ``field`` say where."""

    line: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class LimitReached(RequestError):
    """A person has as much of a server as one person may have; ``field`` is the setting, ``limit`` its value."""

    limit: int | None = None


class NotAllowed(RequestError):
    """The location is outside the served folders, or the operation was not permitted at start."""


class TableError(ExplorerError):
    """The table violates the protocol."""


@dataclass(eq=False, repr=False, kw_only=True)
class TableNotFound(TableError):
    """There is no Delta log at the location."""

    location: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class VersionGap(TableError):
    """A needed commit is missing from the log; ``vanished`` is True if it existed when the log was listed."""

    vanished: bool | None = None
    missing: int | None = None
    earliest: int | None = None
    latest: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class MalformedAction(TableError):
    """A line of the log is not a valid action."""

    line: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class IncompleteCheckpoint(TableError):
    """A checkpoint lacks a part, or cannot be read."""

    vanished: bool | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CorruptDeletionVector(TableError):
    """A deletion vector's bytes do not match its descriptor."""

    unique_id: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class LimitExceeded(TableError):
    """The log is beyond a limit of this program; see `explorer.core.protocol.limits`."""

    line: int | None = None
    found: int | None = None
    allowed: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CorruptTable(TableError):
    """The table's state contradicts itself or lacks something that the protocol requires."""

    found: object = None
    expected: int | str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class UnsupportedFeature(ExplorerError):
    """Reading or writing needs a feature that this program does not implement."""

    features: Sequence[str] | None = None
    operation: str | None = None


class CommitError(ExplorerError):
    """A commit was not made, or its outcome is unknown."""


@dataclass(eq=False, repr=False, kw_only=True)
class GuardFailed(CommitError):
    """A guard of the commit did not pass."""

    results: Sequence[Mapping[str, object]] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CommitConflict(CommitError):
    """Another commit took the version and conflicts with this one."""

    winner: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CommitUnknown(CommitError):
    """The response of the store was lost: the commit may or may not exist; ``found`` is its transaction."""

    found: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class StorageError(ExplorerError):
    """The store failed; the cause is chained.

    Attributes:
        unwritten: True if nothing of a put was written.
        reason: The kind of the refusal: see `explorer.storage.refusals.reasons`, and `CatalogError`.
        code: The store's own code for it.
    """

    unwritten: bool | None = None
    reason: str | None = None
    code: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CatalogError(StorageError):
    """A catalog refused a request, failed, or did not answer.

    Attributes:
        status: The HTTP status; None without an answer.
        reason: The error type of the catalog's contract, or one word for what is wrong with the connection.
        catalog: The address of its server.
    """

    status: int | None = None
    catalog: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class EngineUnavailable(ExplorerError):
    """Spark or Java is missing; ``install`` explains how to get it."""

    engine: str | None = None
    install: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Cancelled(ExplorerError):
    """The user or program that started the work cancelled it."""

    operation: str | None = None
    found: str | None = None


_LONGEST_MESSAGE = 5_000
# Characters of a name that would steer a terminal or turn the direction of a text.
_STEERING = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


def _printable(message: str) -> str:
    """Return a message as UTF-8 without credentials, whatever names it contains; a long one loses its middle."""
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
