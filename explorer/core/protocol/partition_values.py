"""Partition values: strings of the log <-> typed values.

Protocol section: Partition Value Serialization. Invariants: an empty string is null for every type (PART-003); a
value that does not parse is an error that names column and text, never a silent null (PART-011).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Context, Decimal, InvalidOperation
from math import isfinite
from typing import Final, assert_never
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import CorruptTable, RequestError
from explorer.core.protocol.arrow.arrays import Int64s, Mask, as_type, flags, numbers, one_array, strings, validity
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.json_values import plain_number
from explorer.core.protocol.schema.data_types import DataType, PrimitiveType, PrimitiveValue, type_name

_NOT_FINITE: Final = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_INTEGER_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_EXACT: Final = Context(prec=100)
_FARTHEST_ZONE: Final = timedelta(hours=18)
"""The farthest zone from UTC, as in Spark."""
_BLANKS: Final = " \t\n\r\f\v"
# Dates, times and numbers are accepted in every form that Spark casts to the same value.
_DAY: Final = r"\s*\+?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})"
_DATE: Final = re.compile(rf"{_DAY}(?:[ T].*)?)?)?\s*\Z", re.ASCII | re.DOTALL)
_TIMESTAMP: Final = re.compile(
    rf"{_DAY}(?:[ T](\d{{1,2}})(?::(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d{{1,9}}))?)?)?)?)?)?"
    r"\s?(Z|(?:UTC|GMT|UT)?[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?|[A-Za-z][\w+\-/]*)?\s*\Z",
    re.ASCII,
)
_ZONE: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2}):?(\d{2})?:?(\d{2})?\Z", re.ASCII)
_UTC: Final = ("Z", "UTC", "GMT", "UT")
_TRUE: Final = ("true", "t", "yes", "y")
_FALSE: Final = ("false", "f", "no", "n")
_INTEGER: Final = re.compile(r"([+-]?\d+)(?:\.\d*)?\Z", re.ASCII)


class ZoneWarning(msgspec.Struct, frozen=True):
    """Partition values that are times without a zone: they are read in a zone that may not be the writer's (D-18).

    Attributes:
        column: Name of the partition column, a ``timestamp``.
        zone: The zone in which its values are read.
        files: The number of files with such a value.
        example: One of the values, as in the log.
    """

    column: str
    zone: str
    files: int
    example: str


def parse_partition_value(text: str | None, kind: DataType, column: str, zone: tzinfo = UTC) -> PrimitiveValue | None:
    """Turn a partition value of the log into a Python value.

    Args:
        text: The string in ``partitionValues``, or None.
        zone: The zone of zone-less values of a ``timestamp`` column, which no log records (PART-008, D-18). A
            time that its clocks show twice is the earlier one; one that they skip is later by the time skipped.

    Returns:
        None for null and for the empty string; timestamps as aware datetimes in UTC; ``timestamp_ntz`` as naive
        datetimes; binary as bytes (PART-010).

    Raises:
        CorruptTable: The text does not parse as the type.
    """
    if text is None or text == "":
        return None
    if not isinstance(kind, PrimitiveType):
        raise CorruptTable(f"Column {column!r} of type {type_name(kind)} cannot be a partition column.", column=column)
    try:
        return _parse(text, kind, zone)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise CorruptTable(
            f"The partition value {text!r} of column {column!r} is not of type {type_name(kind)}. "
            "The file's partitionValues were written incorrectly. Remove the file and add it again with a valid value.",
            column=column,
            found=text,
            expected=type_name(kind),
        ) from error


def partition_key(values: Mapping[str, str | None], physical_name: str) -> str | None:
    """Return the key of a column's value in a file: an exact match, or one ignoring case, which verify reports."""
    if physical_name in values:
        return physical_name
    lowered = physical_name.lower()
    return next((key for key in values if key.lower() == lowered), None)


def format_partition_value(value: PrimitiveValue | None, kind: str) -> str | None:
    """Return a partition value as the log has it; the inverse of `parse_partition_value`.

    Args:
        value: A Python value of the type, or None; timestamps with a zone as aware datetimes.

    Returns:
        None for null and for the empty string (PART-004); instants in UTC with microseconds (PART-009).
    """
    if value is None or value in ("", b""):
        return None
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _as_java(value, single=kind == "float") if isfinite(value) else _NOT_FINITE[str(value)]
        case Decimal():
            return format(value, "f")
        case bytes():
            return _ascii(value)
        case datetime() if kind == "timestamp":
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        case datetime():
            text = value.isoformat(sep=" ")
            return text.rstrip("0") if value.microsecond else text
        case date():
            return value.isoformat()
        case int() | str():
            return str(value)
        case _:
            assert_never(value)


def _as_java(value: float, *, single: bool) -> str:
    """Return the shortest text of a number in the form of the reference: ``0.1``, ``1.0E-300``."""
    shortest = Decimal(str(np.float32(value)) if single else repr(value)).normalize()
    if len(shortest.as_tuple().digits) == 1:
        shortest = Decimal(f"{value:.1e}").normalize()  # of two digits the nearest, which differ below 1E-322
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int), "the number is finite"
    text, place = "".join(map(str, digits)), len(digits) + exponent
    prefix = "-" if sign else ""
    if value == 0 or 10**-3 <= abs(value) < 10**7:
        return f"{prefix}{Decimal((0, digits, exponent)):f}" + ("" if exponent < 0 else ".0")
    return f"{prefix}{text[0]}.{text[1:] or '0'}E{place - 1}"


def _ascii(value: bytes) -> str:
    if not value.isascii():
        raise RequestError(
            f"The partition value {value!r} contains bytes above 127, which clients read differently. "
            "It is not written."
        )
    return value.decode("ascii")


def partition_column(maps: pa.MapArray, name: str, kind: PrimitiveType, column: str, zone: tzinfo = UTC) -> pa.Array:
    """Return the values of one partition column in every file, each distinct text parsed once.

    Args:
        maps: ``partitionValues`` of the files.
        name: The column's physical name, the key of the maps.
        zone: As in `parse_partition_value`.

    Returns:
        A column of the type; null where the value is null, the empty string, or missing.

    Raises:
        CorruptTable: A text does not parse as the type.
    """
    import pyarrow.compute as pc

    if not len(maps):
        return pa.nulls(0, to_arrow(kind))
    texts = partition_texts(maps, name).dictionary_encode()
    distinct = texts.dictionary.to_pylist()
    values = typed_column([parse_partition_value(text, kind, column, zone) for text in distinct], kind)
    return pc.take(values, texts.indices)


def zone_warning(maps: pa.MapArray, name: str, column: str, zone: tzinfo) -> ZoneWarning | None:
    """Return the values of a ``timestamp`` partition column that have no zone; None if all have one.

    Args:
        maps, name, column, zone: As in `partition_column`.
    """
    texts = partition_texts(maps, name).drop_null().to_pylist() if len(maps) else []
    bare = [text for text in texts if (match := _TIMESTAMP.match(text)) is not None and match[8] is None]
    return ZoneWarning(column, str(zone), len(bare), bare[0]) if bare else None


def partition_texts(maps: pa.MapArray, name: str) -> pa.StringArray:
    """Return the texts of one partition column in every file, null where the value is null or missing.

    Args:
        maps: ``partitionValues`` of the files, at least one.
        name: The column's physical name, the key of the maps.
    """
    return maps.items.take(_entry_indexes(maps, name))


def partition_codes(maps: pa.ChunkedArray) -> Int64s:
    """Return a number for the partition of each file, equal where all entries are, in the order of first appearance.

    Args:
        maps: ``partitionValues`` of the files, map<string, string>; a null map has no entries.
    """
    values = one_array(maps.chunks, pa.map_(pa.string(), pa.string()))
    count = len(values)
    if not count:
        return np.zeros(0, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + count + 1]
    lengths = np.diff(offsets)
    width, first = int(lengths[0]), int(offsets[0])
    if (lengths != width).any():
        return _codes_of_entries(values)
    combined = np.zeros(count, np.int64)
    for entries in (values.keys, values.items):
        encoded = entries.slice(first, count * width).dictionary_encode()
        places, known = numbers(encoded.indices)
        codes = np.where(known, places, -1).astype(np.int64).reshape(count, width) + 1
        for column in codes.T:
            combined = combined * (int(column.max(initial=0)) + 1) + column
            combined = np.unique(combined, return_inverse=True)[1].reshape(-1)
    return by_appearance(combined)


def _codes_of_entries(values: pa.MapArray) -> Int64s:
    """Return the same where files differ in the number of entries, as those of a damaged log."""
    places: dict[tuple[object, ...], int] = {}
    return np.array([places.setdefault(tuple(each or ()), len(places)) for each in values.to_pylist()], np.int64)


def by_appearance(codes: Int64s) -> Int64s:
    """Return codes numbered in the order in which they first appear."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), np.int64)
    ranks[np.argsort(first, kind="stable")] = np.arange(len(first))
    return ranks[inverse.reshape(-1)]


def has_empty_values(maps: pa.MapArray) -> bool:
    """Return whether an empty string is among the partition values of files, of any column."""
    texts = as_type(maps.items, pa.string())
    if not len(texts):
        return False
    bounds = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return bool((validity(texts) & (np.diff(bounds) == 0)).any())


def recorded_partitions(maps: pa.MapArray, name: str) -> Mask:
    """Return whether each file has a value of one partition column, null included; readers refuse one without.

    Args:
        maps, name: As in `partition_texts`.
    """
    return validity(_entry_indexes(maps, name)) if len(maps) else np.zeros(0, bool)


def _entry_indexes(maps: pa.MapArray, name: str) -> pa.Int64Array:
    """Return for every map the index of a key among the entries of all maps, null where it is absent.

    The key must match exactly, or else ignoring case (see `partition_key`).
    """
    import pyarrow.compute as pc

    length = len(maps)
    offsets = np.frombuffer(maps.buffers()[1], np.int32)[maps.offset : maps.offset + length + 1]
    places, known = np.zeros(length, np.int64), np.zeros(length, bool)

    def take(is_key: pa.BooleanArray) -> None:
        hits = np.flatnonzero(flags(is_key))
        hits = hits[(hits >= offsets[0]) & (hits < offsets[-1])]
        rows = np.searchsorted(offsets[1:], hits, side="right")
        new = ~known[rows]
        places[rows[new]] = hits[new]
        known[rows] = True

    take(pc.is_in(maps.keys, value_set=strings([name])))
    if not known.all():
        take(pc.is_in(pc.utf8_lower(maps.keys), value_set=pc.utf8_lower(strings([name]))))
    buffers = [pa.py_buffer(np.packbits(known, bitorder="little")), pa.py_buffer(places)]
    return pa.Array.from_buffers(pa.int64(), length, buffers)


def _parse(text: str, kind: PrimitiveType, zone: tzinfo) -> PrimitiveValue:
    match kind.name:
        case "string":
            return text
        case "byte" | "short" | "integer" | "long":
            return _integer(text, _INTEGER_BITS[kind.name])
        case "float" | "double":
            return _double(text)
        case "boolean":
            return _boolean(text)
        case "decimal":
            return _decimal(text, kind)
        case "date":
            return _date(text)
        case "timestamp":
            moment, own_zone = _timestamp(text)
            return moment.replace(tzinfo=zone if own_zone is None else _zone(own_zone)).astimezone(UTC)
        case "timestamp_ntz":
            return _timestamp(text)[0]
        case "binary":
            return _binary(text)
    raise ValueError(f"{kind.name} cannot partition a table")


def _integer(text: str, bits: int) -> int:
    match = _INTEGER.match(text.strip(_BLANKS))
    if match is None:
        raise ValueError("not a whole number")
    value = int(match[1])
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError("out of range")
    return value


def _double(text: str) -> float:
    number = text.strip(_BLANKS)
    if number[-1:] in tuple("dDfF") and number[-2:-1].isdigit():
        number = number[:-1]  # as in Java
    return float(plain_number(number))


def _boolean(text: str) -> bool:
    word = text.strip(_BLANKS).lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError("neither true nor false")
    return word in _TRUE


def _decimal(text: str, kind: PrimitiveType) -> Decimal:
    value = Decimal(plain_number(text.strip(_BLANKS)))
    if not value.is_finite():
        raise ValueError("not a number")
    if value and value.adjusted() >= kind.precision - kind.scale:
        raise ValueError("too many digits")
    exact = value.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if exact != value:
        raise ValueError("too many digits after the point")
    return exact


def _date(text: str) -> date:
    match = _DATE.match(text)
    if match is None:
        raise ValueError("not a date")
    return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def _timestamp(text: str) -> tuple[datetime, str | None]:
    """Return the time on the clocks, and the zone of the text."""
    match = _TIMESTAMP.match(text)
    if match is None:
        raise ValueError("not a timestamp")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    microsecond = int((fraction or "0")[:6].ljust(6, "0"))
    moment = datetime(  # noqa: DTZ001 - the caller decides on the zone, or that there is none
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), microsecond
    )
    if zone is not None:
        if hour is None:
            raise ValueError("a zone without a time")
        _zone(zone)
    return moment, zone


def _zone(text: str) -> tzinfo:
    """Return the zone of a text: an offset from UTC, or the name of a region."""
    if text in _UTC:
        return UTC
    match = _ZONE.match(text)
    if match is None:
        try:
            return ZoneInfo(text)
        except (ZoneInfoNotFoundError, OSError) as error:
            raise ValueError("not a zone") from error
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset > _FARTHEST_ZONE or max(minutes, seconds) >= 60:
        raise ValueError("not a zone")
    return timezone(-offset if match[1] == "-" else offset)


def _binary(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")
