"""Files that enter a table: bytes under physical names, statistics that bound every value, actions that say it all."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.deletion_vectors import decode_bitmap, encode_vectors, unframe, vector_file_name
from explorer.core.protocol.partition_values import format_partition_value, parse_partition_value
from explorer.core.protocol.schema.data_types import StructType, parse_schema, parse_type
from explorer.core.protocol.statistics.collect import indexed_fields
from explorer.core.transaction.new_files.layout import (
    stored_fields,
)


def _schema(columns: list[tuple[str, Any]]) -> StructType:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return parse_schema(json.dumps({"type": "struct", "fields": fields}))


_NAIVE = datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.conformance("NTZ-002", "PART-006", "PART-009", "PART-010")
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("timestamp_ntz", _NAIVE, "2021-01-02 03:04:05"),
        ("timestamp_ntz", _NAIVE.replace(microsecond=60), "2021-01-02 03:04:05.00006"),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC), "1970-01-01T00:00:00.123456Z"),
        ("date", date(1, 1, 1), "0001-01-01"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("integer", -5, "-5"),
        ("long", -(2**63), "-9223372036854775808"),
        ("decimal(10,3)", Decimal("-9999999.999"), "-9999999.999"),
        ("decimal(38,20)", Decimal("1E-20"), "0.00000000000000000001"),
        ("decimal(5,0)", Decimal("1E+3"), "1000"),
        ("string", "a/b=c é%20+", "a/b=c é%20+"),
        ("binary", b"\x01\x02", "\x01\x02"),
        ("double", 1.5, "1.5"),
        ("string", "", None),
    ],
)
def test_partition_values_are_written_as_they_are_read(kind: str, value: Any, text: str | None) -> None:
    assert format_partition_value(value, kind) == text
    assert parse_partition_value(text, parse_type(kind), "p") == (None if value == "" else value)


@pytest.mark.conformance("SCHEMA-015")
@pytest.mark.parametrize(
    "columns",
    [
        [("v", "void")],
        [("id", "long"), ("a", {"type": "array", "elementType": "void", "containsNull": True})],
        [("id", "long"), ("m", {"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": True})],
        [
            ("id", "long"),
            ("s", {"type": "struct", "fields": [{"name": "v", "type": "void", "nullable": True, "metadata": {}}]}),
        ],
    ],
)
def test_void_that_cannot_be_left_out_is_refused(columns: list[tuple[str, Any]]) -> None:
    with pytest.raises(InvalidIntent):
        stored_fields(_schema(columns), ())


@pytest.mark.conformance("STATS-015", "CLUSTER-002", "STATS-019")
def test_statistics_cover_the_columns_that_the_table_asks_for() -> None:
    schema = _schema([(f"c{i}", "long") for i in range(40)] + [("v", "variant")])
    names = lambda found: [path[0] for path, _ in found]  # noqa: E731 - local shorthand
    assert names(indexed_fields(schema.fields, {})) == [f"c{i}" for i in range(32)]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingNumIndexedCols": "2"}, [("c39",)])) == [
        "c0",
        "c1",
        "c39",
    ]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "c5, `v`"})) == ["c5", "v"]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": "C5, `V`"})) == ["c5", "v"]
    assert names(indexed_fields(schema.fields, {"delta.dataSkippingStatsColumns": ""})) == []
    assert len(indexed_fields(schema.fields, {"delta.dataSkippingNumIndexedCols": "-1"})) == 41


@pytest.mark.conformance("DV-011", "DV-021", "DV-023")
@given(st.lists(st.sets(st.integers(0, 2**40), min_size=1, max_size=20), min_size=1, max_size=4))
def test_one_file_holds_a_vector_for_each_data_file(masks: list[set[int]]) -> None:
    identity = uuid.UUID("11111111-2222-3333-4444-555555555555")
    rows = [np.array(sorted(mask), np.uint64) for mask in masks]
    data, descriptors = encode_vectors(identity, rows)
    assert vector_file_name(identity) == f"deletion_vector_{identity}.bin"
    places = [msgspec.to_builtins(descriptor)["offset"] for descriptor in descriptors]
    assert places == [1 + sum(8 + before.size_in_bytes for before in descriptors[:n]) for n in range(len(descriptors))]
    for wanted, descriptor in zip(rows, descriptors, strict=True):
        frame = data[descriptor.offset or 0 :]
        # The size and the checksum with the highest byte first, all between them with the lowest.
        size, magic = struct.unpack_from(">i", frame)[0], struct.unpack_from("<i", frame, 4)[0]
        assert (size, magic) == (descriptor.size_in_bytes, 1_681_511_377)
        assert struct.unpack_from(">I", frame, 4 + size)[0] == zlib.crc32(frame[4 : 4 + size])
        assert BitMap64.deserialize(frame[8 : 4 + size]) == BitMap64(wanted.tolist())
        assert decode_bitmap(unframe(frame, descriptor), descriptor.id).tolist() == wanted.tolist()
        assert descriptor.cardinality == len(wanted)
        assert msgspec.to_builtins(descriptor)["storageType"] == "u"
