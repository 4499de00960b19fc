"""A case file: what a person pinned as evidence, as JSON or TOML.

    title = "Orders lost on 23 October"
    author = "ana"

    [[pins]]
    kind = "commit"
    version = 30
    note = "the delete"
    pinned = "2026-11-22T09:00:00Z"

A pin is a ``commit`` (version, and the digest of its file when it was pinned), a ``diff`` (fromVersion, toVersion), a
``finding`` (id of its rule, and subject), a ``file`` (path as the log writes it, version), a ``plan`` (its document as
``delta-explorer plan --json`` prints it) or ``rows`` (version, where, and the rows as they were seen). Each may carry
``note``, ``pinned`` (when) and ``table`` (its location; needed where a report is of several tables).
"""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

import msgspec

from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.limits import check_dotted_names
from explorer.core.transaction.commit_plan import PlanDocument

_Version: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Pin(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True,
    tag_field="kind",
):  # fmt: skip
    """What every pin may carry; ``pinned`` has a zone."""

    note: str = ""
    pinned: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    table: str | None = None


class CommitPin(_Pin, frozen=True, kw_only=True, tag="commit"):
    """A commit, and SHA-256 of its file when it was pinned."""

    version: _Version
    digest: str | None = None


class DiffPin(_Pin, frozen=True, kw_only=True, tag="diff"):
    """What differs between two versions."""

    from_version: _Version
    to_version: _Version


class FindingPin(_Pin, frozen=True, kw_only=True, tag="finding"):
    """A finding of a rule; any of the rule's unless its subject is given."""

    id: str
    subject: str | None = None


class FilePin(_Pin, frozen=True, kw_only=True, tag="file"):
    """A data file at a version."""

    path: str
    version: _Version


class PlanPin(_Pin, frozen=True, kw_only=True, tag="plan"):
    """A plan: its document."""

    plan: PlanDocument


class RowsPin(_Pin, frozen=True, kw_only=True, tag="rows"):
    """Rows of a version as pinned; the report repeats them without reading them."""

    version: _Version
    where: str = ""
    rows: tuple[JsonObject, ...] = ()


AnyPin: TypeAlias = CommitPin | DiffPin | FindingPin | FilePin | PlanPin | RowsPin


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A case: what it is about, who makes it, what to know, and the evidence in the order to be read."""

    title: str
    author: str = ""
    notes: str = ""
    pins: tuple[AnyPin, ...] = ()

    def document(self) -> bytes:
        """Return the case as the content of a JSON file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def read_case(data: bytes, name: str) -> CaseFile:
    """Read a case file.

    Args:
        data: The file.
        name: Its name; ``.toml`` is TOML, anything else JSON.

    Raises:
        RequestError: If it is not a case file; the message names the field.
        LimitExceeded: A TOML file has too many dots.
    """
    try:
        if name.endswith(".toml"):
            check_dotted_names(name, text := data.decode())
            return msgspec.convert(_zoned(tomllib.loads(text)), CaseFile)
        return msgspec.json.decode(data, type=CaseFile)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RequestError(
            f"{name} is not a case file: {error}. It needs a title and pins, each with a kind: commit, diff, finding, "
            "file, plan or rows.",
            path=name,
            reason=str(error),
        ) from error


def _zoned(value: Any) -> Any:
    """TOML knows times without a zone; they are taken as UTC."""
    match value:
        case datetime():
            return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        case dict():
            return {name: _zoned(item) for name, item in value.items()}
        case list():
            return [_zoned(item) for item in value]
        case _:
            return value
