"""The content hash of the expectations: SHA-256 over the sorted JSON lines of all rows.

Written from its definition (README of the golden tables): see `row_lines`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import pyarrow as pa


def content_hash(table: pa.Table) -> str:
    """The hash of a table's rows, independent of their order."""
    return sha256("\n".join(sorted(row_lines(table))).encode("utf-8", "surrogatepass")).hexdigest()


def row_lines(table: pa.Table) -> Iterable[str]:
    """Each row as compact JSON.

    Integers and booleans as they are, ``s:`` strings, ``b:`` binaries in hexadecimal, ``f:`` floats by repr, ``d:``
    decimals with all digits of the scale, ``D:`` days and ``t:`` / ``n:`` microseconds since the epoch, structs and
    lists as lists, maps as lists of pairs sorted by their JSON, variants as their two binaries.
    """
    columns = [_values(column.combine_chunks()) for column in table.columns]
    if not columns:
        return ["[]"] * table.num_rows
    return [json.dumps(list(row), ensure_ascii=False, separators=(",", ":")) for row in zip(*columns, strict=True)]


def _values(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_null(kind):
        return [None] * len(array)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        values: list[Any] = array.to_pylist()
        return values
    if pa.types.is_timestamp(kind):
        mark = "t:" if kind.tz else "n:"
        assert kind.unit == "us"
        return _each(array.view(pa.int64()).to_pylist(), lambda value: f"{mark}{value}")
    if pa.types.is_date32(kind):
        return _each(array.view(pa.int32()).to_pylist(), lambda value: f"D:{value}")
    if pa.types.is_struct(kind):
        parts = [_values(part) for part in array.flatten()]
        rows = list(map(list, zip(*parts, strict=True))) if parts else [[]] * len(array)
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        keys, items = _values(array.keys), _values(array.items)
        return _sliced(array, lambda begin, end: _sorted_pairs(keys[begin:end], items[begin:end]))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        elements = _values(array.values)
        return _sliced(array, lambda begin, end: elements[begin:end])
    return _each(array.to_pylist(), _scalar_form(kind))


def _scalar_form(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_floating(kind):
        return lambda value: f"f:{value!r}"
    if pa.types.is_decimal(kind):
        # Arrow gives every digit of the scale.
        return lambda value: f"d:{value:f}"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return lambda value: f"b:{value.hex()}"
    assert pa.types.is_string(kind) or pa.types.is_large_string(kind), kind
    return lambda value: f"s:{value}"


def _each(values: list[Any], form: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else form(value) for value in values]


def _sliced(array: Any, part: Callable[[int, int], Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [part(offsets[i], offsets[i + 1]) if valid[i] else None for i in range(len(array))]


def _sorted_pairs(keys: list[Any], items: list[Any]) -> list[list[Any]]:
    pairs = [[key, item] for key, item in zip(keys, items, strict=True)]
    return sorted(pairs, key=lambda pair: json.dumps(pair, ensure_ascii=False))
