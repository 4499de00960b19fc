"""Collated columns: a bound that another order made must not drop a file."""

from __future__ import annotations

import json

import pytest

from explorer.core.protocol.actions import Add, Metadata, Protocol
from tests.support.logs.small_logs import table

PROTOCOL = Protocol(
    min_reader_version=1, min_writer_version=7, writer_features=("collations-preview", "domainMetadata")
)
COLLATED = {"name": "city", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": {"city": "ICU.de_CI"}}}
BINARY = {"name": "code", "type": "string", "nullable": True, "metadata": {}}
METADATA = Metadata(id="x", schema_string=json.dumps({"type": "struct", "fields": [COLLATED, BINARY]}))
STATISTICS = {
    "numRecords": 3,
    "minValues": {"city": "a", "code": "a"},
    "maxValues": {"city": "c", "code": "c"},
    "nullCount": {"city": 0, "code": 0},
    "statsWithCollation": {"icu.de_CI.75.1": {"min": {"city": "x", "code": "x"}, "max": {"city": "z", "code": "z"}}},
}
FILE = Add(path="f", partition_values={}, size=1, modification_time=1, stats=json.dumps(STATISTICS))


@pytest.mark.conformance("COLLATE-001")
@pytest.mark.parametrize("where", ["city = 'X'", "city > 'm'", "city LIKE 'x%'", "city < 'A'", "city IN ('X')"])
def test_binary_bounds_drop_nothing_from_a_collated_column(where: str) -> None:
    result = table({0: (PROTOCOL, METADATA, FILE)}).snapshot().skipping(where)
    assert result.files["kept"].to_pylist() == [True]


@pytest.mark.conformance("COLLATE-001")
@pytest.mark.parametrize(("where", "kept"), [("code = 'x'", False), ("code = 'b'", True), ("city IS NULL", False)])
def test_binary_comparisons_and_null_counts_still_drop_files_beside_it(where: str, kept: bool) -> None:
    result = table({0: (PROTOCOL, METADATA, FILE)}).snapshot().skipping(where)
    assert result.files["kept"].to_pylist() == [kept]


@pytest.mark.conformance("COLLATE-001")
def test_bounds_under_a_collation_are_never_shown_as_binary_ones() -> None:
    (row,) = table({0: (PROTOCOL, METADATA, FILE)}).snapshot().column_ranges("code").to_pylist()
    assert (row["min"], row["max"]) == ("a", "c")
