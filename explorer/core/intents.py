"""What a person asks for, as records: one kind for each change, none of which knows how it is done.

Protocol section: Requirements for Writers. Invariants: an intent is plain data and can be read from JSON and shown as
JSON; a field or kind that does not exist is refused with the nearest one that does, before any table is looked at.
Names of columns are dotted paths whose parts stand in backticks where needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar, get_args

import msgspec

from explorer.core.errors import InvalidIntent

__all__ = [
    "AddColumns",
    "AddConstraint",
    "Append",
    "Checkpoint",
    "CleanLog",
    "CompactLog",
    "CreateTable",
    "Delete",
    "DropColumns",
    "DropConstraint",
    "DropFeature",
    "DropNotNull",
    "EnableFeature",
    "Intent",
    "MaintenanceIntent",
    "MoveColumn",
    "RemoveDomain",
    "RenameColumn",
    "Restore",
    "SetColumnComment",
    "SetColumnMapping",
    "SetDescription",
    "SetDomain",
    "SetNotNull",
    "SetProperties",
    "SetTransaction",
    "SyncIdentity",
    "UnsetProperties",
    "UpgradeProtocol",
    "WidenType",
    "intent_document",
    "intent_fields",
    "intent_kind",
    "intent_kinds",
    "parse_intent",
]


def _tag(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class _Intent(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    tag=_tag,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What all intents share: the field ``kind`` that tells them apart."""


class CreateTable(_Intent, frozen=True, kw_only=True):
    """Make a new table; ``schema`` is a struct as in schemaString."""

    schema: dict[str, Any]
    partition_columns: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    name: str | None = None
    description: str | None = None


class SetProperties(_Intent, frozen=True, kw_only=True):
    """Set table properties; what a property switches on comes with it."""

    properties: dict[str, str]


class UnsetProperties(_Intent, frozen=True, kw_only=True):
    """Remove table properties."""

    keys: tuple[str, ...]


class SetDescription(_Intent, frozen=True, kw_only=True):
    """Set the table's description; null removes it."""

    description: str | None


class SetColumnComment(_Intent, frozen=True, kw_only=True):
    """Set the comment of a column; null removes it."""

    column: str
    comment: str | None


class AddConstraint(_Intent, frozen=True, kw_only=True):
    """Add a CHECK constraint that all rows keep."""

    name: str
    expression: str


class DropConstraint(_Intent, frozen=True, kw_only=True):
    """Drop a CHECK constraint."""

    name: str


class SetNotNull(_Intent, frozen=True, kw_only=True):
    """Refuse nulls in a column from now on."""

    column: str


class DropNotNull(_Intent, frozen=True, kw_only=True):
    """Allow nulls in a column."""

    column: str


class AddColumns(_Intent, frozen=True, kw_only=True):
    """Add columns: struct fields as in schemaString, a nested one with a dotted name.

    ``at`` is ``first``, ``last``, ``after NAME`` or a position from 0; left out, they come last.
    """

    fields: tuple[dict[str, Any], ...]
    at: str | int | None = None


class RenameColumn(_Intent, frozen=True, kw_only=True):
    """Give a column another name; ``to`` is the last part alone."""

    column: str
    to: str


class DropColumns(_Intent, frozen=True, kw_only=True):
    """Drop columns from the schema; files keep their bytes."""

    columns: tuple[str, ...]


class MoveColumn(_Intent, frozen=True, kw_only=True):
    """Move a column among its siblings; ``at`` as in `AddColumns`."""

    column: str
    at: str | int


class WidenType(_Intent, frozen=True, kw_only=True):
    """Change a column to a wider type."""

    column: str
    type: str


class SetColumnMapping(_Intent, frozen=True, kw_only=True):
    """Switch column mapping to ``name``, ``id`` or ``none``."""

    mode: str


class UpgradeProtocol(_Intent, frozen=True, kw_only=True):
    """Raise the protocol versions."""

    min_reader_version: int
    min_writer_version: int


class EnableFeature(_Intent, frozen=True, kw_only=True):
    """Add a table feature, and set the property that switches it on where there is one."""

    feature: str


class DropFeature(_Intent, frozen=True, kw_only=True):
    """Remove a table feature from the protocol, once nothing uses it."""

    feature: str


class SetDomain(_Intent, frozen=True, kw_only=True):
    """Set the configuration of a metadata domain."""

    domain: str
    configuration: str


class RemoveDomain(_Intent, frozen=True, kw_only=True):
    """Remove a metadata domain."""

    domain: str


class SetTransaction(_Intent, frozen=True, kw_only=True):
    """Record how far an application has written."""

    app_id: str
    version: int


class SyncIdentity(_Intent, frozen=True, kw_only=True):
    """Move an identity column's high-water mark to the values in the table."""

    column: str


class Restore(_Intent, frozen=True, kw_only=True):
    """Make the table what it was at a version, or at a time (ISO 8601 with a zone)."""

    version: int | None = None
    timestamp: str | None = None


class Checkpoint(_Intent, frozen=True, kw_only=True):
    """Write a checkpoint of the newest version."""


class CompactLog(_Intent, frozen=True, kw_only=True):
    """Write a log compaction of the commits from one version to another, both included."""

    from_: int = msgspec.field(name="from")
    to: int


class CleanLog(_Intent, frozen=True, kw_only=True):
    """Delete log files that are older than an interval (``interval 30 days``) or a time, as far as that is safe."""

    older_than: str | None = None


class Append(_Intent, frozen=True, kw_only=True):
    """Append the rows of a Parquet or CSV file or folder."""

    source: str


class Delete(_Intent, frozen=True, kw_only=True):
    """Delete the rows for which a predicate is true."""

    where: str


MaintenanceIntent = Checkpoint | CompactLog | CleanLog
"""Intents that write no commit."""

Intent = (
    CreateTable
    | SetProperties
    | UnsetProperties
    | SetDescription
    | SetColumnComment
    | AddConstraint
    | DropConstraint
    | SetNotNull
    | DropNotNull
    | AddColumns
    | RenameColumn
    | DropColumns
    | MoveColumn
    | WidenType
    | SetColumnMapping
    | UpgradeProtocol
    | EnableFeature
    | DropFeature
    | SetDomain
    | RemoveDomain
    | SetTransaction
    | SyncIdentity
    | Restore
    | Append
    | Delete
    | MaintenanceIntent
)

_KINDS: Final[dict[str, type[_Intent]]] = {str(kind.__struct_config__.tag): kind for kind in (*get_args(Intent),)}
_T = TypeVar("_T")


def intent_kinds() -> tuple[str, ...]:
    """The names of all kinds, in the order of this module."""
    return tuple(_KINDS)


def intent_fields(kind: str) -> tuple[str, ...]:
    """The JSON names of a kind's fields.

    Raises:
        InvalidIntent: There is no such kind.
    """
    return tuple(_record(kind).__struct_encode_fields__)


def intent_kind(intent: Intent) -> str:
    """The name of an intent's kind, such as ``add-constraint``."""
    return str(intent.__struct_config__.tag)


def intent_document(intent: Intent) -> dict[str, Any]:
    """Return an intent as the JSON object that `parse_intent` reads."""
    document: dict[str, Any] = msgspec.to_builtins(intent)
    return document


def parse_intent(value: str | bytes | Mapping[str, Any]) -> Intent:
    """Read an intent from JSON.

    Args:
        value: The JSON text of one object, or the object itself.

    Raises:
        InvalidIntent: The text is no JSON object, the kind or a field does not exist, is missing or has a wrong type;
            ``field`` names it, ``allowed`` lists what may stand there.
    """
    if isinstance(value, (str, bytes)):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidIntent(
                f'The intent is not JSON: {error}. Write it like {{"kind": "set-description", "description": "..."}}.'
            ) from error
    if not isinstance(value, Mapping):
        raise InvalidIntent(f"An intent is a JSON object with the field kind, not {type(value).__name__}.")
    members = dict(value)
    record = _record(members.pop("kind", None))
    _check_fields(record, members)
    members = {name: _texts(item) if name == "properties" else item for name, item in members.items()}
    try:
        intent: Intent = msgspec.convert({"kind": record.__struct_config__.tag, **members}, Intent)
    except (msgspec.ValidationError, RecursionError) as error:
        field = _field_of(str(error))
        raise InvalidIntent(f"The intent {record.__struct_config__.tag} is not valid: {error}.", field=field) from error
    _check_letters(intent)
    _check_choice(intent)
    return intent


def _record(kind: object) -> type[_Intent]:
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        near = get_close_matches(str(kind), _KINDS, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InvalidIntent(
            f"There is no intent of kind {kind!r}.{hint} Kinds: {', '.join(_KINDS)}.",
            field="kind",
            allowed=list(_KINDS),
            nearest=near[0] if near else None,
        )
    return found


def _check_fields(record: type[_Intent], members: dict[str, Any]) -> None:
    names = record.__struct_encode_fields__
    tag = record.__struct_config__.tag
    for name in members:
        if name not in names:
            near = get_close_matches(str(name), names, 1)
            raise InvalidIntent(
                f"The intent {tag} has no field {name!r}; its fields are: {', '.join(names) or 'none'}.",
                field=str(name),
                allowed=list(names),
                nearest=near[0] if near else None,
            )
    required = [field.encode_name for field in msgspec.structs.fields(record) if field.required]
    for name in required:
        if name not in members:
            raise InvalidIntent(
                f"The intent {tag} needs the field {name!r}; its fields are: {', '.join(names)}.",
                field=name,
                allowed=list(names),
            )


def _check_letters(intent: Intent) -> None:
    """Check that every text can be written into the log, which is UTF-8."""
    for attribute, name in zip(intent.__struct_fields__, intent.__struct_encode_fields__, strict=True):
        try:
            msgspec.json.encode(getattr(intent, attribute))
        except (UnicodeEncodeError, RecursionError) as error:
            why = "holds half a surrogate pair" if isinstance(error, UnicodeEncodeError) else "is nested too deep"
            raise InvalidIntent(f"The field {name} {why}, so it cannot be written into a log.", field=name) from error


def _check_choice(intent: Intent) -> None:
    """Check what a type cannot say: that something is asked for, and one thing only."""
    match intent:
        case Restore():
            if (intent.version is None) == (intent.timestamp is None):
                raise InvalidIntent(
                    "Restore to a version or to a timestamp: give one of the two.",
                    field="version",
                    allowed=["version", "timestamp"],
                )
        case SetProperties(properties=items) | UnsetProperties(keys=items):
            _demand(items, "properties" if isinstance(intent, SetProperties) else "keys")
        case AddColumns(fields=fields):
            _demand(fields, "fields")
        case DropColumns(columns=columns):
            _demand(columns, "columns")
        case _:
            pass


def _demand(items: object, field: str) -> None:
    if not items:
        raise InvalidIntent(f"The field {field} is empty: name at least one.", field=field)


def _texts(properties: object) -> object:
    """Property values are text in the log; a JSON boolean or number is taken as its text."""
    if not isinstance(properties, Mapping):
        return properties
    return {
        name: str(item).lower() if isinstance(item, bool) else str(item) if isinstance(item, (int, float)) else item
        for name, item in properties.items()
    }


def _field_of(message: str) -> str | None:
    _, _, place = message.partition("`$.")
    return place.rstrip("`.").split("[")[0].split(".")[0] or None
