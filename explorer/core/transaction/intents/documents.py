"""Intents as JSON: reading and showing them, and the names of their kinds and fields.

Protocol section: Requirements for Writers. Invariants: a field or kind that does not exist is refused with the nearest
one that does, before any table is read; what is read is shown again as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final, get_args

import msgspec
from msgspec import inspect, structs

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.limits import check_json_values
from explorer.core.transaction.intents.records import Intent

_KINDS: Final[dict[str, type[msgspec.Struct]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Intent)}
_WORDS: Final[dict[type[inspect.Type], str]] = {
    inspect.StrType: "text",
    inspect.IntType: "an integer",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.DictType: "an object",
}
_PLURALS: Final[dict[type[inspect.Type], str]] = {inspect.StrType: "texts", inspect.DictType: "objects"}
_LONGEST_NUMBER: Final = 4_000
"""Bits of a number that is accepted as a property's text."""


def intent_kinds() -> tuple[str, ...]:
    """Return the names of all kinds, in the order of `explorer.core.transaction.intents.records`."""
    return tuple(_KINDS)


def intent_fields(kind: str) -> tuple[str, ...]:
    """Return the JSON names of a kind's fields.

    Raises:
        InvalidIntent: There is no such kind.
    """
    return tuple(_record(kind).__struct_encode_fields__)


def intent_kind(intent: Intent) -> str:
    """Return the name of an intent's kind, such as ``add-constraint``."""
    return str(intent.__struct_config__.tag)


def intent_document(intent: Intent) -> JsonObject:
    """Return an intent as the JSON object that `parse_intent` reads."""
    document: JsonObject = msgspec.to_builtins(intent)
    return document


def parse_intent(value: str | bytes | Mapping[str, object] | Intent) -> Intent:
    """Read an intent from JSON, or check a record that was made in the program: records do not check themselves.

    Args:
        value: The JSON text of one object, the object itself, or a record.

    Raises:
        InvalidIntent: The text is not a JSON object, the kind or a field does not exist, is missing or has a wrong
            type; ``field`` names it, ``allowed`` lists what is allowed there.
        LimitExceeded: The text has too many values.
    """
    if isinstance(value, (str, bytes)):
        check_json_values(value, "The intent")
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidIntent(
                f'The intent is not JSON: {error}. Write it like {{"kind": "set-description", "description": "..."}}.'
            ) from error
    if isinstance(value, get_args(Intent)):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        value = {"kind": intent_kind(value), **{name: getattr(value, attribute) for attribute, name in names}}
    if not isinstance(value, Mapping):
        raise InvalidIntent(
            'An intent is a JSON object with the field kind, such as {"kind": "checkpoint"}.',
            field="kind",
            allowed=list(_KINDS),
        )
    members = dict(value)
    record = _record(members.pop("kind", None))
    _check_fields(record, members)
    _check_letters(members)
    members = {name: _texts(item) if name == "properties" else item for name, item in members.items()}
    _check_types(record, members)
    intent: Intent = msgspec.convert({"kind": record.__struct_config__.tag, **members}, Intent)
    intent.check()
    return intent


def _record(kind: object) -> type[msgspec.Struct]:
    record = _KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        near = get_close_matches(kind, _KINDS, 1) if isinstance(kind, str) else []
        hint = f" Did you mean {near[0]}?" if near else ""
        shown = f"no intent of kind {kind!r}" if isinstance(kind, str) else "no text in the intent's field kind"
        raise InvalidIntent(
            f"There is {shown}.{hint} Kinds: {', '.join(_KINDS)}.",
            field="kind",
            allowed=list(_KINDS),
            nearest=near[0] if near else None,
        )
    return record


def _check_fields(record: type[msgspec.Struct], members: Mapping[str, object]) -> None:
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
    required = [field.encode_name for field in structs.fields(record) if field.required]
    for name in required:
        if name not in members:
            raise InvalidIntent(
                f"The intent {tag} needs the field {name!r}; its fields are: {', '.join(names)}.",
                field=name,
                allowed=list(names),
            )


def _check_letters(members: Mapping[str, object]) -> None:
    """Check that every text can be written into the log, which is UTF-8."""
    for name, item in members.items():
        try:
            msgspec.json.encode(item)
        except (UnicodeEncodeError, RecursionError) as error:
            why = "contains an unpaired surrogate" if isinstance(error, UnicodeEncodeError) else "is nested too deep"
            raise InvalidIntent(f"The field {name} {why}, so it cannot be written into a log.", field=name) from error
        except (TypeError, ValueError, OverflowError):
            pass  # not a JSON value: making the record names its type


def _check_types(record: type[msgspec.Struct], members: Mapping[str, object]) -> None:
    """Convert field by field, so that the field at fault and what it may hold are known."""
    for field in structs.fields(record):
        name = field.encode_name
        if name not in members:
            continue
        try:
            msgspec.convert(members[name], field.type)
        except (msgspec.ValidationError, RecursionError) as error:
            allowed = _type_words(inspect.type_info(field.type))
            raise InvalidIntent(
                f"The field {name} of the intent {record.__struct_config__.tag} must be {' or '.join(allowed)}.",
                field=name,
                allowed=allowed,
            ) from error


def _type_words(kind: inspect.Type) -> list[str]:
    """Describe the values of a field in words: one phrase for each type of a union."""
    match kind:
        case inspect.UnionType(types=parts):
            return [word for part in parts for word in _type_words(part)]
        case inspect.VarTupleType(item_type=item):
            return [f"a list of {_PLURALS[type(item)]}"]
        case inspect.DictType(value_type=inspect.StrType()):
            return ["an object of texts"]
        case _:
            return [_WORDS[type(kind)]]


def _texts(properties: object) -> object:
    """Return property values as the log has them: a JSON boolean or number becomes its text."""
    if not isinstance(properties, Mapping):
        return properties
    return {name: _text(item) for name, item in properties.items()}


def _text(item: object) -> object:
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float) or (isinstance(item, int) and item.bit_length() <= _LONGEST_NUMBER):
        return str(item)
    return item
