"""Intents as JSON: reading and showing them, and what their kinds and fields are called.

Protocol section: Requirements for Writers. Invariants: a field or kind that does not exist is refused with the nearest
one that does, before any table is looked at; what is read is shown again as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, get_args

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.intents import AddColumns, DropColumns, Intent, Restore, SetProperties, UnsetProperties

__all__ = ["intent_document", "intent_fields", "intent_kind", "intent_kinds", "parse_intent"]

_KINDS: Final[dict[str, type[msgspec.Struct]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Intent)}


def intent_kinds() -> tuple[str, ...]:
    """The names of all kinds, in the order of `explorer.core.intents`."""
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


def _record(kind: object) -> type[msgspec.Struct]:
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


def _check_fields(record: type[msgspec.Struct], members: dict[str, Any]) -> None:
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
