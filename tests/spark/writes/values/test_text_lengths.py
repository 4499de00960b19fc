"""Rows with a text that is too long inside a struct, a map or an array, as the column's CHAR and VARCHAR say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.new_table import new_table
from tests.support.logs.spark_tables import column, struct

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

PLACE = struct(column("code", "char(2)"), column("notes", {"type": "array", "elementType": "varchar(3)"}))
WORDS = {"type": "map", "keyType": "varchar(1)", "valueType": {"type": "array", "elementType": PLACE}}
GIVEN = pa.struct({"code": pa.string(), "notes": pa.list_(pa.string())})
TYPES = {"s": GIVEN, "m": pa.map_(pa.string(), pa.list_(GIVEN))}


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        ({"s": [{"code": "ab", "notes": ["abc", None]}], "m": [[("k", [{"code": "c", "notes": None}, None])]]}, []),
        ({"s": [None], "m": [None]}, []),
        ({"s": [{"code": "abc", "notes": None}], "m": [None]}, ["new-rows:length:s"]),
        ({"s": [{"code": None, "notes": ["a", "abcd"]}], "m": [None]}, ["new-rows:length:s"]),
        ({"s": [None], "m": [[("kk", None)]]}, ["new-rows:length:m"]),
        ({"s": [None], "m": [[("k", [{"code": "abc", "notes": None}])]]}, ["new-rows:length:m"]),
        ({"s": [None], "m": [[("k", [{"code": "ab", "notes": ["abcd"]}])]]}, ["new-rows:length:m"]),
    ],
)
def test_a_text_that_is_too_long_inside_a_value_is_not_written(
    rows: dict[str, Any], broken: list[str], tmp_path: Path
) -> None:
    intent = {"kind": "create-table", "schema": struct(column("s", PLACE), column("m", WORDS))}
    place = new_table(tmp_path / "t")
    assert place.commit(place.plan(intent)).outcome == "committed"
    table = place.open()
    given = pa.table({name: pa.array(values, TYPES[name]) for name, values in rows.items()})
    pq.write_table(given, tmp_path / "rows.parquet")
    result = table.commit(table.plan({"kind": "append", "source": str(tmp_path / "rows.parquet")}))
    assert sorted({guard.name for guard in result.plan.blocking}) == broken
    assert (result.outcome, table.latest_version()) == (("rejected", 0) if broken else ("committed", 1))
