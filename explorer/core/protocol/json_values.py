"""JSON as it is decoded: the types of a value and of an object.

Protocol section: Delta Log Entries (an entry is newline-delimited JSON). Invariant: an alias names what the decoder
gives and the encoder takes; what a member means, and which type it must have, is checked where it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["JsonObject", "JsonValue"]

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # msgspec reads the annotations of its records at run time, and does not support an alias that names itself.
    JsonValue = Any

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: the value of an action, of ``schemaString``, of ``stats``."""
