"""The history of a key: versions and values, across deletion vectors, rewrites, renames; which files are read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import RequestError, VersionNotFound
from tests.support.logs.spark_tables import DataFile, column, inline_vector, struct, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=6)]


def _commit(root: Path, version: int, *actions: dict[str, Any]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (root / "_delta_log" / f"{version:020}.json").write_text(text, "utf-8")


def _add(root: Path, path: str, **more: Any) -> dict[str, Any]:
    size = (root / path).stat().st_size
    known = {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
    return {"add": known | more}


def _remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}}


def _spans(history: Any) -> list[tuple[int, int, int, tuple[Any, ...]]]:
    return [
        (s["from_version"], s["to_version"], s["copies"], tuple(s["row"].values())) for s in history.spans.to_pylist()
    ]


def _statistics(least: int, greatest: int) -> str:
    return json.dumps({"numRecords": 2, "minValues": {"k": least}, "maxValues": {"k": greatest}, "nullCount": {"k": 0}})


def test_a_row_is_followed_through_masks_rewrites_and_copies(tmp_path: Path) -> None:
    fields = [column("k", "long"), column("v", "string")]
    files = [DataFile(f"{i}.parquet", pa.table({"k": [2 * i, 2 * i + 1], "v": ["a", "b"]})) for i in range(3)]
    write_table(tmp_path, fields, files)
    vector = inline_vector([1])
    _commit(tmp_path, 1, _remove("1.parquet"), _add(tmp_path, "1.parquet", deletionVector=vector))
    _commit(
        tmp_path,
        2,
        {"remove": _remove("1.parquet")["remove"] | {"deletionVector": vector}},
        _add(tmp_path, "1.parquet"),
    )
    pq.write_table(pa.table({"k": [3, 9], "v": ["b", "c"]}), tmp_path / "copy.parquet")
    _commit(tmp_path, 3, _add(tmp_path, "copy.parquet", stats=_statistics(3, 9)))
    pq.write_table(pa.table({"k": [50, 60], "v": ["x", "y"]}), tmp_path / "other.parquet")
    _commit(tmp_path, 4, _add(tmp_path, "other.parquet", stats=_statistics(50, 60)))
    pq.write_table(pa.table({"k": [2, 3], "v": ["a", None]}), tmp_path / "new.parquet")
    _commit(
        tmp_path,
        5,
        _remove("1.parquet"),
        _remove("copy.parquet"),
        _add(tmp_path, "new.parquet", stats=_statistics(2, 3)),
    )
    (tmp_path / "other.parquet").unlink()
    table = explorer.open_table(tmp_path)
    history = table.row_history({"k": 3})
    assert _spans(history) == [(0, 0, 1, (3, "b")), (2, 2, 1, (3, "b")), (3, 4, 2, (3, "b")), (5, 5, 1, (3, None))]
    assert (history.files_read, history.files_total) == (5, 6)
    assert _spans(table.row_history({"k": 3, "v": None}, 1)) == [(5, 5, 1, (3, None))]
    nothing = table.row_history({"k": 45}, 4, 4)
    assert (_spans(nothing), nothing.spans.column_names) == ([], ["from_version", "to_version", "copies", "row"])
    none = table.row_history({"k": 1000}, 3, 3)
    assert (_spans(none), none.files_read, none.files_total) == ([], 3, 4)


@pytest.mark.reference
def test_a_row_is_followed_under_the_names_that_its_columns_have_at_the_end() -> None:
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    history = table.row_history({"id": 1}, 0, 13)
    spans = _spans(history)
    assert spans[0][0] == 1
    for first, last, copies, values in spans:
        for version in (first, last):
            rows = table.rows(version).where("id = 1").toArrow().to_pylist()
            assert len(rows) == copies
            assert {rows[0]["id"], rows[0].get("part", rows[0].get("p"))} <= set(map(str, values)) | {1}
    assert "name" in {column.column for column in history.left_out}


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("date", date(2024, 2, 29), pa.array([date(2024, 2, 29)])),
        (
            "timestamp",
            datetime(2024, 2, 29, 12, tzinfo=UTC),
            pa.array([datetime(2024, 2, 29, 12, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        ),
        ("timestamp_ntz", datetime(1, 1, 1, 0, 0, 0, 1), pa.array([datetime(1, 1, 1, 0, 0, 0, 1)], pa.timestamp("us"))),  # noqa: DTZ001
        ("decimal(20,3)", Decimal("-1.5"), pa.array([Decimal("-1.500")], pa.decimal128(20, 3))),
        ("double", float("nan"), pa.array([float("nan")])),
        ("double", 0.0, pa.array([-0.0])),
        ("string", "it's \\ ü", pa.array(["it's \\ ü"])),
        ("binary", b"\x00'\xff", pa.array([b"\x00'\xff"])),
        ("boolean", True, pa.array([True])),
        ("byte", 7, pa.array([7], pa.int8())),
        ("long", None, pa.array([None], pa.int64())),
    ],
)
def test_keys_of_every_type_find_their_row(tmp_path: Path, kind: str, value: Any, stored: pa.Array) -> None:
    rows = pa.table({"a`b.c": stored, "n": [1]})
    root = write_table(tmp_path, [column("a`b.c", kind), column("n", "long")], [DataFile("f.parquet", rows)])
    history = explorer.open_table(root).row_history({"a`b.c": value})
    assert [span["row"]["n"] for span in history.spans.to_pylist()] == [1]


def test_keys_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    fields = [column("k", "long"), column("t", "timestamp"), column("s", struct(column("x", "long")))]
    table = explorer.open_table(write_table(tmp_path, fields, []))
    naive = datetime(2024, 1, 1)  # noqa: DTZ001 - that it has no zone is the fault
    for key in (
        {},
        {"nope": 1},
        {"k": "1"},
        {"k": 1.5},
        {"k": True},
        {"k": 1 << 70},
        {"t": naive},
        {"s": {"x": 1}},
        {"t": 5},
        {"k": 1.0},
    ):
        with pytest.raises(RequestError):
            table.row_history(key)
    with pytest.raises(RequestError, match="backwards"):
        table.row_history({"k": 1}, 1, 0)
    with pytest.raises(VersionNotFound):
        table.row_history({"k": 1}, 0, 4)


def test_a_key_of_too_many_rows_is_no_key(tmp_path: Path) -> None:
    rows = pa.table({"k": [1] * 10_001})
    root = write_table(tmp_path, [column("k", "long")], [DataFile("f.parquet", rows)])
    with pytest.raises(RequestError, match="More than 10,000 rows"):
        explorer.open_table(root).row_history({"k": 1})
