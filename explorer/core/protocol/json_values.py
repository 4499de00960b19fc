"""JSON as it is decoded: the types of a value and of an object, and numbers that the log holds as texts.

Protocol section: Delta Log Entries (an entry is newline-delimited JSON). Invariant: an alias names what the decoder
gives and the encoder takes; what a member means, and which type it must have, is checked where it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["JsonObject", "JsonValue", "plain_number"]

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # msgspec reads the annotations of its records at run time, and does not support an alias that names itself.
    JsonValue = Any

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: the value of an action, of ``schemaString``, of ``stats``."""


def plain_number(text: str) -> str:
    """The text of a number, to be read by Python, which would take ``1_0`` and digits of other scripts for one too.

    Raises:
        ValueError: It is no number that another client would read.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return text
