"""Rows of tables with one column that is not read: the others come back, with their values, and conditions on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExpressionRefused, RequestError, UnsupportedFeature
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

_COUNTS = pa.array([1, 2, 3], pa.int64())
_BYTES = pa.array([b"a", b"b", b"c"])
_NANOS = pa.array([1, 2, 3], pa.timestamp("ns"))
_PAIRS = pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64()))
_LISTS = pa.array([["a"]] * 3)
_NESTED = pa.array([{"y": [{"z": "a"}]}] * 3)
_CLASS = {"type": "udt", "class": "org.example.Point", "pyClass": None, "sqlType": struct(column("x", "double"))}


def _array(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def _map(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


_ODD: list[tuple[Any, pa.Array]] = [
    ("interval day to second", _COUNTS),
    ("interval year to month", _COUNTS.cast(pa.int32())),
    ("geometry(4326)", _BYTES),
    ("geography(OGC:CRS84, spherical)", _BYTES),
    ("timestamp_nanos", _NANOS),
    ("time(6)", pa.array([1, 2, 3], pa.time64("us"))),
    ("uint64", pa.array([1, 2, 3], pa.uint64())),
    ("decimal(76,2)", _BYTES),
    (_CLASS, pa.array([{"x": 1.0}] * 3)),
    (_array("frob"), _LISTS),
    (_array(_CLASS), pa.array([[{"x": 1.0}]] * 3)),
    (_map("string", "timestamp_nanos"), _PAIRS),
    (_map("interval day", "long"), _PAIRS),
    (struct(column("y", _array(struct(column("z", "frob"))))), _NESTED),
]


def test_the_rows_of_the_other_columns_are_given_and_searched(tmp_path: Path) -> None:
    for number, (kind, values) in enumerate(at_least_one(_ODD)):
        rows = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "odd": values, "last": pa.array(["a", "b", "c"])})
        fields = [column("k", "integer"), column("odd", kind), column("last", "string")]
        found = explorer.open_table(write_table(tmp_path / str(number), fields, [DataFile("a.parquet", rows)]))
        expected = [(1, "a"), (2, "b"), (3, "c")]
        assert sorted(map(tuple, found.rows().collect())) == expected, kind
        assert sorted(map(tuple, found.rows(where="k > 1 AND last <> 'c'").collect())) == expected[1:2], kind
        assert [each.name for each in found.snapshot().unread_columns] == ["odd"]
        with pytest.raises(RequestError, match="odd"):
            found.rows(where="odd IS NULL")


@pytest.mark.parametrize("kind", ["frob", "interval day", "variant", struct(column("a", "long"))])
def test_rows_of_files_are_given_whatever_their_value_of_a_partition_column_that_is_not_read(
    kind: Any, tmp_path: Path
) -> None:
    files = [
        DataFile(f"{name}.parquet", pa.table({"k": pa.array([number], pa.int32())}), {"p": name, "q": "x"})
        for number, name in enumerate(("one", "two"))
    ]
    fields = [column("k", "integer"), column("p", kind), column("q", "string")]
    found = explorer.open_table(write_table(tmp_path, fields, files, ["p", "q"]))
    assert sorted(map(tuple, found.rows(where="q = 'x'").collect())) == [(0, "x"), (1, "x")]


@pytest.mark.parametrize("stated", ["ICU.frob_CI", "ICU.frob`) --.7"])
def test_texts_of_an_unknown_collation_are_read_and_not_compared(stated: str, tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "c": pa.array(["a", "A"])})
    fields = [column("k", "integer"), column("c", "string", __COLLATIONS={"c": stated})]
    found = explorer.open_table(write_table(tmp_path, fields, [DataFile("a.parquet", rows)]))
    assert sorted(map(tuple, found.rows().collect())) == [(1, "a"), (2, "A")]
    assert [tuple(row) for row in found.rows(where="k = 2").collect()] == [(2, "A")]
    with pytest.raises(UnsupportedFeature, match=r"collation .* is not one that Spark knows"):
        found.rows(where="c = 'a'").collect()
    with pytest.raises(ExpressionRefused):
        found.rows(where="nothing = 1")
