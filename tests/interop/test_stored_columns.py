"""Columns that files hold beside those of rows: row ids, row commit versions and partition columns, read by others.

The files are opened as they are by PyArrow too: what stands in them is what the protocol says, not what a reader of
ours makes of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.protocol.file_paths import decode_path
from explorer.new_table import new_table
from tests.support.at_least_one import at_least_one
from tests.support.clients.other_readers import assert_others_read
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.logs.spark_tables import column, struct

pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.whole(
        "tests/spark/scan/test_row_ids.py, and tests/data_files/test_rows_at_hand.py of partition columns in files"
    ),
]

_FIELDS: Final = struct(column("id", "long"), column("v", "integer"), column("p", "string"))


def _table(folder: Path, properties: dict[str, str], *intents: dict[str, Any]) -> explorer.Table:
    place = new_table(folder)
    created = {"kind": "create-table", "schema": _FIELDS, "partitionColumns": ["p"], "properties": properties}
    assert place.commit(place.plan(created)).outcome == "committed"
    table = place.open()
    for intent in intents:
        _done(table, intent)
    return table


def _done(table: explorer.Table, intent: dict[str, Any], rows: pa.Table | None = None) -> None:
    plan = table.plan(intent, rows=rows)
    assert plan.committable, plan.blocking
    assert table.commit(plan).outcome == "committed"


def _rows(first: int) -> pa.Table:
    ids = range(first, first + 6)
    return pa.table(
        {
            "id": list(ids),
            "v": pa.array([n % 4 for n in ids], pa.int32()),
            "p": [["a", "x y", None][n % 3] for n in ids],
        }
    )


def _stored(table: explorer.Table, folder: Path) -> list[tuple[dict[str, Any], pa.Table]]:
    """Each live file: what the log says of it, and what PyArrow reads in it alone."""
    files = table.snapshot().files().to_pylist()
    return [(file, pq.ParquetFile(folder / decode_path(file["raw_path"])).read()) for file in files]


@pytest.mark.conformance("ROWTRACK-003", "ROWTRACK-008", "ROWTRACK-009")
@pytest.mark.parametrize("mode", ["none", "name"])
def test_ids_and_commit_versions_stand_in_rewritten_files(
    mode: str, reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    table = _table(folder, {"delta.enableRowTracking": "true", "delta.columnMapping.mode": mode})
    for first in (0, 6):
        _done(table, {"kind": "append", "source": "rows"}, _rows(first))
    fresh = {row["id"]: row["_row_id"] for row in table.rows(row_identity=True).toArrow().to_pylist()}
    commits = {key: 1 if key < 6 else 2 for key in fresh}
    names = table.snapshot().row_tracking
    assert names.row_id_column is not None
    assert names.row_commit_version_column is not None
    for _, held in at_least_one(_stored(table, folder)):
        assert not {names.row_id_column, names.row_commit_version_column} & set(held.column_names), "new rows need none"
    _done(table, {"kind": "update", "set": {"v": "v + 10"}, "where": "v = 1"})
    commits |= {key: 3 for key in fresh if key % 4 == 1}
    for intent in ({"kind": "delete", "where": "v = 2"}, {"kind": "optimize"}):
        _done(table, intent)
    for key in [key for key in fresh if key % 4 == 2]:
        del fresh[key], commits[key]
    physical = {field.name: field.physical_name for field in table.snapshot().schema.fields}
    found = {}
    materialised = 0
    for file, held in at_least_one(_stored(table, folder)):
        base, version = file["base_row_id"], file["default_row_commit_version"]
        for place, row in enumerate(held.to_pylist()):
            own, when = row.get(names.row_id_column), row.get(names.row_commit_version_column)
            materialised += own is not None
            found[row[physical["id"]]] = (base + place if own is None else own, version if when is None else when)
    assert found == {key: (fresh[key], commits[key]) for key in fresh}
    assert materialised == len(fresh), "the optimization rewrote every row"
    ours = table.rows(row_identity=True).toArrow().to_pylist()
    assert {row["id"]: (row["_row_id"], row["_row_commit_version"]) for row in ours} == found
    theirs = reference_writer.rows(folder, hidden=["row_id", "row_commit_version"]).to_pylist()
    assert {row["id"]: (row["row_id"], row["row_commit_version"]) for row in theirs} == found
    if mode == "none":
        # DuckDB reads the partition columns of a mapped table as null, and deltalake refuses it.
        assert_others_read(folder, table.rows().toArrow(), "materialised ids are no columns of rows")


@pytest.mark.conformance("MATPART-001", "MATPART-002")
def test_partition_columns_stand_in_every_file_where_the_feature_asks_for_it(
    reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    table = _table(folder, {}, {"kind": "enable-feature", "feature": "materializePartitionColumns"})
    for first in (0, 6):
        _done(table, {"kind": "append", "source": "rows"}, _rows(first))
    for intent in (
        {"kind": "update", "set": {"v": "v + 10"}, "where": "v = 1"},
        {"kind": "delete", "where": "id = 4"},
        {"kind": "update", "set": {"p": "'moved'"}, "where": "id = 5"},
        {"kind": "optimize"},
    ):
        _done(table, intent)
    found = []
    for file, held in at_least_one(_stored(table, folder)):
        assert held.column_names == ["id", "v", "p"]
        assert set(held["p"].to_pylist()) == {dict(file["partition_values"])["p"]}, (
            "what the log says stands in the file"
        )
        found += held.to_pylist()
    wanted = {n: {"id": n, "v": n % 4 + 10 * (n % 4 == 1), "p": ["a", "x y", None][n % 3]} for n in range(12) if n != 4}
    wanted[5]["p"] = "moved"
    assert {row["id"]: row for row in found} == wanted
    assert len(found) == len(wanted)
    for rows in (table.rows().toArrow(), reference_writer.rows(folder)):
        assert {row["id"]: row for row in rows.to_pylist()} == wanted
    assert_others_read(folder, table.rows().toArrow(), "partition columns in the files")
