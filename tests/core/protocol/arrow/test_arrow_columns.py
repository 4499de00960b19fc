"""Columns of Arrow made of Python values and NumPy arrays and taken apart again, beside those that PyArrow makes."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.arrays import (
    bools,
    flags,
    floats,
    fresh_buffer,
    in_large_chunks,
    int32s,
    int64s,
    integers,
    known_int64s,
    large_binaries,
    mask,
    numbers,
    numpy_array,
    one_array,
    only_array,
    plain_array,
    string_maps,
    strings,
    validity,
    with_room,
)
from explorer.core.protocol.arrow.arrow_types import (
    arrow_schema,
    json_variant_schema,
    nullable_arrow_schema,
    physical_arrow_schema,
    to_arrow,
)
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.arrow.typed_arrays import typed_column, without_nan
from explorer.core.protocol.schema.data_types import VOID, ArrayType, MapType, PrimitiveType, StructField, StructType

TEXT_MAP = pa.map_(pa.string(), pa.string())
FLAGS = [True, False, None, True, True, False, True, False, None, True, False]
"""More than one byte of bits."""


def same(found: pa.Array, expected: pa.Array) -> None:
    found.validate(full=True)
    assert found.type == expected.type
    assert found.equals(expected)
    assert found.null_count == expected.null_count
    assert (found.buffers()[0] is None) is (expected.null_count == 0)


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["a"],
        ["a", "", "bcd"],
        [None],
        [None] * 8,
        [None] * 9,
        [*[None] * 9, ""],
        ["a", None, "", "bc"],
        ["\u00e9", "\U0001f600x", ""],
        [None, "\u00e9", None, "z"],
        ["\x7f", "\x80"],
        [f"{place}" for place in range(20)],
    ],
)
def test_texts_are_a_column_of_them(values: list[str | None]) -> None:
    same(strings(values), pa.array(values, pa.string()))


def test_half_a_surrogate_pair_stays_in_a_column_of_texts() -> None:
    found = strings(["a", "\ud800", None])
    assert found.cast(pa.binary()).to_pylist() == [b"a", b"\xed\xa0\x80", None]


@pytest.mark.parametrize("text", ["ab", "\u00e9", None])
def test_texts_that_fill_a_column_are_one_and_a_byte_more_is_refused(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [*["ab"] * 1_199, text]
    size = 2 * 1_199 + len((text or "").encode())
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", size)
    assert len(strings(values)) == 1_200
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", size - 1)
    with pytest.raises(LimitExceeded, match=r"^1,200 texts together have ") as refused:
        strings(values)
    assert (refused.value.found, refused.value.allowed) == (size, size - 1)


@pytest.mark.parametrize("values", [[], [1], [None], [None, None], [None, 2, 3], [1, None], [0, -1, 2**31 - 1, None]])
def test_whole_numbers_are_a_column_of_their_width(values: list[int | None]) -> None:
    same(int64s(values), pa.array(values, pa.int64()))
    same(int32s(values), pa.array(values, pa.int32()))
    found, known = integers(values)
    assert [str(each.dtype) for each in (found, known)] == ["int64", "bool"]
    assert found.tolist() == [value or 0 for value in values]
    assert known.tolist() == [value is not None for value in values]


def test_nulls_are_told_for_more_numbers_than_a_byte_has_bits() -> None:
    values = [None if place % 3 == 1 else place for place in range(21)]
    same(int64s(values), pa.array(values, pa.int64()))
    same(int64s(np.arange(21, dtype=np.int16)), pa.array(range(21), pa.int64()))
    known = np.array([value is not None for value in values])
    same(known_int64s(np.arange(21), known), pa.array(values, pa.int64()))
    same(known_int64s(np.arange(42, dtype=np.int32)[::2], known | True), pa.array(range(0, 42, 2), pa.int64()))
    with pytest.raises(OverflowError):
        int32s([2**31])


@pytest.mark.parametrize("start", [0, 1, 3, 9])
def test_flags_are_a_column_and_a_column_is_flags(start: int) -> None:
    values = FLAGS[start:]
    same(bools(values), pa.array(values, pa.bool_()))
    known = [value is not None for value in values]
    same(mask(known), pa.array(known))
    same(mask(np.array(known)), pa.array(known))
    column = pa.array(FLAGS, pa.bool_()).slice(start)
    assert flags(column).dtype == validity(column).dtype == bool
    assert flags(column).tolist() == [value is True for value in values]
    assert validity(column).tolist() == known
    assert validity(pa.array([1, 2])).tolist() == [True, True]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [{}],
        [None, {"a": "1"}],
        [{"a": "1", "b": None}, {}, None, {"c": ""}, {"d": "2", "e": "3"}, None],
    ],
)
def test_dictionaries_are_a_column_of_maps(values: list[dict[str, str | None] | None]) -> None:
    pairs = [None if value is None else list(value.items()) for value in values]
    found = string_maps(values)
    same(found, pa.array(pairs, TEXT_MAP))
    entries = (found.type.key_field, found.type.item_field)
    assert [(each.name, each.nullable) for each in entries] == [("key", False), ("value", True)]


def test_bytes_are_a_column_of_large_binaries() -> None:
    for values in ([b"ab", b"", b"\x00\xff"], []):
        same(large_binaries(values), pa.array(values, pa.large_binary()))


def test_arrays_come_one_after_the_other_and_one_alone_stays_itself() -> None:
    first, second = pa.array([1, None]), pa.array([3])
    assert one_array([first], pa.int64()) is first
    assert one_array([first, second], pa.int64()).equals(pa.array([1, None, 3]))
    assert one_array([], pa.string()).equals(pa.array([], pa.string()))
    table = pa.table({"a": pa.chunked_array([first, second]), "b": ["x", "y", "z"]})
    assert only_array(table, "a").equals(pa.array([1, None, 3]))
    assert only_array(table, "b") is not None
    assert only_array(table.slice(0, 0).select(["b"]), "b").equals(pa.array([], pa.string()))
    assert only_array(pa.table({"c": pa.chunked_array([], pa.int32())}), "c").type == pa.int32()


def test_small_chunks_that_follow_each_other_are_put_together() -> None:
    large, small = pa.array(np.arange(1 << 16)), pa.array([1, 2])
    for chunks, lengths in [
        ([], []),
        ([small], [2]),
        ([small, small, small], [6]),
        ([large, small, small, large], [1 << 16, 4, 1 << 16]),
        ([small, large], [2, 1 << 16]),
        ([large[1:], small, small], [(1 << 16) + 1, 2]),
    ]:
        column = pa.chunked_array(chunks, pa.int64())
        found = in_large_chunks(column)
        assert [len(chunk) for chunk in found] == lengths
        assert pa.chunked_array(found, pa.int64()).equals(column)
    (only,) = in_large_chunks(pa.chunked_array([large]))
    assert only.buffers()[1].address == large.buffers()[1].address


NESTED = pa.struct([("number", pa.int64()), ("few", pa.string()), ("many", pa.binary()), ("map", TEXT_MAP)])


@pytest.mark.parametrize(
    ("column", "largest"),
    [
        (pa.array(["abc", None, "de"]), 5),
        (pa.array([b"abc", b"defg"]), 7),
        (pa.array(["x" * 90, "abc", "de", "y" * 90]).slice(1, 2), 5),
        (pa.array([{"few": "a", "many": b"bcde", "map": [("k", "vvv")], "number": 7}] * 2, NESTED), 8),
        (pa.array([{"few": "z" * 9}, {"few": "abcde", "many": b"bcd"}, {"few": "z" * 9}], NESTED).slice(1, 1), 5),
        (pa.array([[("a", "12345678")], [("kkkkk", "v"), ("lll", "w")], [("b", "2" * 50)]], TEXT_MAP).slice(1, 1), 8),
        (pa.array([[("a", "1")], None, [("bc", "23456")]], TEXT_MAP), 6),
        (pa.array([[("a", "1" * 50)]], TEXT_MAP).slice(1), 0),
    ],
)
def test_the_largest_column_of_text_inside_a_column_decides_whether_there_is_room(
    column: pa.Array, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 2 * largest)
    whole = one_array([column, column], column.type)
    assert whole.to_pylist() == 2 * column.to_pylist()
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 2 * largest - 1)
    with pytest.raises(LimitExceeded, match=rf"^The texts of {2 * len(column)} rows together have ") as refused:
        one_array([column, column], column.type)
    assert (refused.value.found, refused.value.allowed) == (2 * largest, 2 * largest - 1)


def test_what_holds_no_text_always_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 0)
    for kind in (pa.int64(), pa.list_(pa.string()), pa.struct([("a", pa.bool_())])):
        assert one_array([pa.nulls(600, kind)] * 2, kind).null_count == 1_200
    with pytest.raises(LimitExceeded, match=r"^The texts of 1,200 rows together have 1,200 bytes"):
        one_array([pa.array(["a"] * 600)] * 2, pa.string())


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
@pytest.mark.parametrize("values", [[], [1, None, -3, None], [4, 5], [None, None, 7]])
def test_a_column_of_whole_numbers_is_an_array_of_its_width(kind: pa.DataType, values: list[int | None]) -> None:
    for start in (0, 1):
        column = pa.array(values, kind)[start:]
        found, known = numbers(column)
        assert found.tolist() == [value or 0 for value in values[start:]]
        assert known.tolist() == [value is not None for value in values[start:]]
        assert found.dtype == str(kind)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, -2, 3], np.int64),
        np.array([1, -2, 3], np.int32),
        np.array([1, -2, 3], np.int8),
        np.array([1, 2, 255], np.uint8),
        np.arange(8)[::2],
        np.array([True, False, True]),
        np.array([True, False, True, True])[::2],
        np.array([], np.int32),
        np.array([], bool),
    ],
)
def test_an_array_becomes_a_plain_column_and_an_array_again(values: npt.NDArray[np.generic]) -> None:
    is_flags = values.dtype == bool
    column = plain_array(values)
    kind = pa.uint8() if is_flags else pa.from_numpy_dtype(values.dtype)
    same(column, pa.array([int(value) for value in values.tolist()], kind))
    again = numpy_array(column, flags=is_flags)
    assert (again.dtype, again.tolist()) == (values.dtype, values.tolist())
    rest = numpy_array(column.slice(1, 2), flags=is_flags)
    assert (rest.dtype, rest.tolist()) == (values.dtype, values.tolist()[1:3])


def test_a_column_in_part_null_is_one_of_floats_whatever_its_chunks() -> None:
    column = pa.chunked_array([pa.array([1, None]), pa.array([None, 2**53 + 1])])
    assert np.array_equal(floats(column), [1.0, np.nan, np.nan, 2.0**53], equal_nan=True)
    assert floats(pa.chunked_array([pa.array([7], pa.date32()).view(pa.int32())])).tolist() == [7.0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Decimal("1E+3"), "1E+3 does not fit 5 digits, 2 after the point"),
        (Decimal("1E+4"), "1E+4 does not fit 5 digits"),
        (Decimal("-1000.00"), "-1000.00 does not fit 5 digits, 2 after the point"),
        (Decimal("0.011"), "0.011 does not fit 5 digits, 2 after the point"),
        (Decimal("0.001"), "0.001 does not fit 5 digits"),
    ],
)
def test_a_decimal_that_does_not_fit_is_said_with_what_it_breaks(value: Decimal, said: str) -> None:
    with pytest.raises(ValueError, match="does not fit") as refused:
        typed_column([Decimal(1), value], PrimitiveType("decimal", 5, 2))
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Decimal("0E+99"), Decimal("0.00")),
        (Decimal("-0"), Decimal("0.00")),
        (Decimal("0E-99"), Decimal("0.00")),
        (Decimal("999.990"), Decimal("999.99")),
        (Decimal("-999.99"), Decimal("-999.99")),
        (Decimal("9E+2"), Decimal("900.00")),
        (Decimal("1.500000000"), Decimal("1.50")),
    ],
)
def test_a_decimal_that_fits_is_stored_with_the_places_of_its_type(value: Decimal, stored: Decimal) -> None:
    found = typed_column([value, None], PrimitiveType("decimal", 5, 2))
    same(found, pa.array([stored, None], pa.decimal128(5, 2)))


NTZ = [datetime(1, 1, 1), None, datetime(2026, 1, 1, 0, 0, 0, 7)]  # noqa: DTZ001
VARIANT = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])


@pytest.mark.parametrize(
    ("kind", "values", "made"),
    [
        (PrimitiveType("float"), [1e300, -1e300, 0.1, None, 0.0], pa.float32()),
        (PrimitiveType("double"), [-0.0, None, float("inf")], pa.float64()),
        (PrimitiveType("binary"), [b"ab", None, b"", b"c", None], pa.binary()),
        (PrimitiveType("date"), [None, date(1969, 12, 31), date(2000, 3, 1)], pa.date32()),
        (PrimitiveType("timestamp_ntz"), NTZ, pa.timestamp("us")),
        (PrimitiveType("void"), [None, None], pa.null()),
        (PrimitiveType("variant"), [None, None, None], VARIANT),
    ],
)
def test_values_of_a_type_are_stored_in_its_arrow_type(kind: PrimitiveType, values: list[Any], made: Any) -> None:
    expected = pa.array([float("inf"), float("-inf"), 0.1, None, 0.0], made) if kind.name == "float" else None
    found = typed_column(values, kind)
    assert found.type == made
    assert found.equals(pa.array(values, made) if expected is None else expected)
    assert typed_column(values[:0], kind).equals(pa.nulls(0, made))


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_every_nan_of_a_column_becomes_null_and_nothing_else(kind: pa.DataType) -> None:
    values = [9.0, np.nan, 1.0, None, np.inf, np.nan, 2.0, 3.0, 4.0, np.nan, 5.0]
    expected = [None if value is None or np.isnan(value) else value for value in values]
    for start in (0, 1, 2):
        found = without_nan(pa.array(values, kind, from_pandas=False).slice(start, 9))
        assert found.equals(pa.array(expected, kind).slice(start, 9))
    whole = pa.array([np.nan, 1.0, 2.0], kind, from_pandas=False).slice(1)
    assert without_nan(whole) is whole


def test_records_have_the_columns_of_a_table_and_its_times_as_moments() -> None:
    moment = datetime(2026, 3, 2, 14, 5)  # noqa: DTZ001
    table = pa.table({"at": pa.array([moment, None], pa.timestamp("s")), "n": [1, 2], "m": pa.nulls(2, TEXT_MAP)})
    assert records(table) == [{"at": moment, "n": 1, "m": None}, {"at": None, "n": 2, "m": None}]
    doubled = pa.table({"m": pa.array([[("a", "1"), ("a", "2")]], TEXT_MAP)})
    with pytest.raises(KeyError):
        records(doubled)


LONG, TEXT, JSON = PrimitiveType("long"), PrimitiveType("string"), PrimitiveType("variant")


def named(name: str, number: int) -> dict[str, Any]:
    return {"delta.columnMapping.physicalName": name, "delta.columnMapping.id": number}


SCHEMA = StructType(
    (
        StructField("id", LONG, nullable=False, metadata=named("col-1", 1)),
        StructField("list", ArrayType(JSON, contains_null=False)),
        StructField("map", MapType(TEXT, PrimitiveType("decimal", 5, 2), value_contains_null=False)),
        StructField("nothing", VOID),
        StructField("s", StructType((StructField("x", TEXT, False, named("col-3", 3)), StructField("y", VOID))), False),
    )
)


def field(name: str, kind: pa.DataType, nullable: bool = True, number: int | None = None) -> pa.Field:
    return pa.field(name, kind, nullable, None if number is None else {"PARQUET:field_id": str(number)})


def exactly(found: pa.Schema, *fields: pa.Field) -> None:
    """Names at every depth, nullability and metadata are in the bytes of a schema, and not all of them in ``==``."""
    assert str(found) == str(pa.schema(fields))
    assert found.serialize().equals(pa.schema(fields).serialize())


def test_a_schema_in_arrow_has_logical_names_and_says_what_is_never_null() -> None:
    exactly(
        arrow_schema(SCHEMA),
        field("id", pa.int64(), False),
        field("list", pa.list_(field("element", VARIANT, False))),
        field("map", pa.map_(field("key", pa.string(), False), field("value", pa.decimal128(5, 2), False))),
        field("nothing", pa.null()),
        field("s", pa.struct([field("x", pa.string(), False), field("y", pa.null())]), False),
    )


def test_a_schema_of_rows_lets_everything_be_null_and_may_show_variants_as_json() -> None:
    loose = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    for made, kind in ((nullable_arrow_schema, loose), (json_variant_schema, pa.json_())):
        exactly(
            made(SCHEMA),
            field("id", pa.int64()),
            field("list", pa.list_(field("element", kind))),
            field("map", pa.map_(pa.string(), pa.decimal128(5, 2))),
            field("nothing", pa.null()),
            field("s", pa.struct([field("x", pa.string()), field("y", pa.null())])),
        )


def test_a_schema_of_files_has_physical_names_and_ids_and_no_void() -> None:
    exactly(
        physical_arrow_schema(SCHEMA.fields),
        field("col-1", pa.int64(), False, 1),
        field("list", pa.list_(field("element", VARIANT, False))),
        field("map", pa.map_(field("key", pa.string(), False), field("value", pa.decimal128(5, 2), False))),
        field("s", pa.struct([field("col-3", pa.string(), False, 3)]), False),
    )
    assert to_arrow(SCHEMA) == pa.struct(arrow_schema(SCHEMA))


@pytest.mark.parametrize("size", [1, 5_000, (1 << 21) - 1, 1 << 21, 5 << 20])
def test_a_fresh_buffer_has_its_size_and_begins_at_a_large_page(size: int) -> None:
    first, second = fresh_buffer(size), fresh_buffer(size)
    assert len(first) == len(second) == size
    for each, value in ((first, 7), (second, 9)):
        assert each.__array_interface__["data"][0] % (2 << 20) == 0
        each[:] = value
    assert (first == 7).all()
    assert (second == 9).all()


def test_large_pages_are_asked_for_from_as_many_bytes_on_as_numpy_asks() -> None:
    # NumPy asks for arrays of four megabytes, so a smaller buffer is a part of one.
    assert fresh_buffer(1).base.nbytes == 4 << 20
    assert fresh_buffer(3 << 20).base.nbytes == 5 << 20


@pytest.mark.parametrize(
    ("length", "needed", "found"), [(3, 2, 3), (3, 3, 3), (3, 4, 4), (4, 5, 6), (10, 11, 15), (10, 40, 40), (0, 1, 1)]
)
def test_there_is_room_for_what_is_needed_and_for_half_as_much_again(length: int, needed: int, found: int) -> None:
    values = np.arange(length, dtype=np.int32)
    for filler in (0, -1):
        roomy = with_room(values, needed, filler)
        assert roomy.dtype == np.int32
        assert roomy.tolist() == [*range(length), *[filler] * (found - length)]
