"""Profiles: what the columns hold, and statistics that are wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.spark.checks.column_profile import WrongStatistic
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]


def _claim(root: Path, number: int, **statistics: Any) -> None:
    """Let the log say something of a file."""
    log = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    add = [line["add"] for line in lines if "add" in line][number]
    add["stats"] = json.dumps({"numRecords": 4, **statistics})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.always
def test_columns_are_counted_and_bounded_over_live_rows(tmp_path: Path) -> None:
    listed = {"type": "array", "elementType": "string", "containsNull": True}
    inner = struct(column("a b", "integer"), column("l", listed))
    fields = [column("s", inner), column("f", "double"), column("l", listed), column("t", "timestamp")]
    fields += [column("p", "string"), column("v", "void"), column("b", "binary")]
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    rows = pa.table(
        {
            "s": pa.array(
                [{"a b": 1, "l": []}, {"a b": 2}, None, {"a b": 99}],
                pa.struct([("a b", pa.int32()), ("l", pa.list_(pa.string()))]),
            ),
            "f": [0.5, float("nan"), None, 7.0],
            "l": [["x"], None, [], ["y"]],
            "t": pa.array([moment, None, None, None], pa.timestamp("us", "UTC")),
            "b": [b"x", b"x", None, b"y"],
        }
    )
    files = [DataFile("a.parquet", rows, {"p": "one"}, masked=[3]), DataFile("b.parquet", rows, {"p": None})]
    table = explorer.open_table(write_table(tmp_path, fields, files, ["p"]))
    profile = table.profile()
    assert profile.rows == 7
    found = {c.column: (c.nulls, c.distinct, c.min, c.max) for c in profile.columns}
    assert str(found.pop("f")) == "(2, 3, 0.5, nan)"
    assert found == {
        "s.`a b`": (2, 3, 1, 99),
        "s.l": (5, None, None, None),
        "l": (2, None, None, None),
        "t": (5, 1, moment, moment),
        "p": (4, 1, "one", "one"),
        "v": (7, None, None, None),
        "b": (2, 2, None, None),
    }
    assert [c.column for c in profile.columns] == ["s.`a b`", "s.l", "f", "l", "t", "p", "v", "b"]
    assert profile.columns[0].null_share == 2 / 7
    assert profile.findings == ()
    assert [c.column for c in table.profile(["t", "f"]).columns] == ["t", "f"]
    with pytest.raises(RequestError) as caught:
        table.profile(["nope"])
    assert "f" in caught.value.nearest


@pytest.mark.always
def test_a_wrong_statistic_is_a_finding_that_names_the_file(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    rows = pa.table({"id": [1, 5, None, 9], "t": pa.array([moment] * 4, pa.timestamp("us", "UTC")), "s": ["a"] * 4})
    fields = [column("id", "long"), column("t", "timestamp"), column("s", "string")]
    files = [DataFile(f"f {n}.parquet", rows, masked=[3] if n in (2, 4) else ()) for n in range(5)]
    root = write_table(tmp_path, fields, files)
    cut = "2026-01-02T03:04:05.678Z"
    _claim(root, 0, minValues={"id": 1, "t": cut}, maxValues={"id": 9, "t": cut}, nullCount={"id": 1})
    _claim(root, 1, minValues={"id": 2, "s": "b"}, maxValues={"id": 8, "t": "2026-01-02T03:04:05.677Z"})
    # Of rows that are masked, wide bounds may say more than is there.
    _claim(root, 2, minValues={"id": 0}, maxValues={"id": 9}, nullCount={"id": 2}, tightBounds=False)
    _claim(root, 3, numRecords=5, nullCount={"id": 0, "s": 0})
    # But that no row is null, or every one, they do say.
    _claim(root, 4, nullCount={"id": 0, "s": 4}, tightBounds=False)
    findings = explorer.open_table(root).profile().findings
    earlier = datetime(2026, 1, 2, 3, 4, 5, 677000, tzinfo=UTC)
    assert set(findings) == {
        WrongStatistic("f 3.parquet", None, "numRecords", 5, 4),
        WrongStatistic("f 1.parquet", "id", "minValues", 2, 1),
        WrongStatistic("f 1.parquet", "id", "maxValues", 8, 9),
        WrongStatistic("f 3.parquet", "id", "nullCount", 0, 1),
        WrongStatistic("f 1.parquet", "t", "maxValues", earlier, moment),
        WrongStatistic("f 1.parquet", "s", "minValues", "b", "a"),
        WrongStatistic("f 4.parquet", "id", "nullCount", 0, 1),
        WrongStatistic("f 4.parquet", "s", "nullCount", 4, 0),
    }


@pytest.mark.reference
@pytest.mark.parametrize("name", ["deletion-vectors", "partition-types", "timestamp-ntz"])
def test_the_statistics_of_the_reference_are_right(name: str) -> None:
    table = explorer.open_table(reference_root() / "tables" / name)
    profile = table.profile()
    assert profile.findings == ()
    assert profile.rows == table.rows().count()
