"""Tables that we make: the reference writes its rows into them, by their identities, expressions and defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.new_table import new_table
from explorer.spark.scan.scan import scan
from tests.support.clients.reference_writer import ReferenceRefused, ReferenceWriter
from tests.support.comparison.row_content import content_hash
from tests.support.logs.small_schemas import field, struct

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def _identity(start: int, step: int, *, explicit: bool) -> dict[str, Any]:
    return {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": explicit,
    }


SCHEMA = struct(
    field("id", "long", metadata=_identity(1, 1, explicit=False)),
    field("other", "long", metadata=_identity(100, -5, explicit=True)),
    field("ts", "timestamp", nullable=False, comment="when"),
    field("day", "date", metadata={"delta.generationExpression": "CAST(ts AS DATE)"}),
    field("v", "varchar(5)", metadata={"CURRENT_DEFAULT": "'none'"}),
    field("odd name", struct(field("x", "timestamp_ntz"))),
)
PROPERTIES = {
    "delta.feature.allowColumnDefaults": "supported",
    "delta.columnMapping.mode": "name",
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableChangeDataFeed": "true",
}


@pytest.mark.whole("tests/core/transaction/intents/test_create_table.py, and tests/spark/writes/test_first_rows.py")
@pytest.mark.conformance(
    "META-001", "PROTO-011", "IDENT-001", "IDENT-007", "GENCOL-001", "DEFCOL-001", "CM-007", "ICT-001"
)
def test_the_reference_fills_a_table_that_we_made(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    path, name = tmp_path / "made", f"delta.`{tmp_path}/made`"
    place = new_table(path)
    intent = {"kind": "create-table", "schema": SCHEMA, "partitionColumns": ["day"], "properties": PROPERTIES}
    plan = place.plan(intent, user="steward")
    assert plan.committable, plan.blocking
    assert place.commit(plan).outcome == "committed"
    table = place.open()
    ntz = "named_struct('x', TIMESTAMP_NTZ'2020-01-01 00:00:00')"
    reference_writer.sql(f"INSERT INTO {name} (ts, `odd name`) VALUES (TIMESTAMP'2020-01-01 10:00:00Z', {ntz})")
    reference_writer.sql(f"INSERT INTO {name} (other, ts) VALUES (-1000, TIMESTAMP'2021-01-01 10:00:00Z')")
    for statement in ("VALUES (TIMESTAMP'2020-01-01 10:00:00Z', 'longer')", "VALUES (NULL, 'x')"):
        with pytest.raises(ReferenceRefused):
            reference_writer.sql(f"INSERT INTO {name} (ts, v) {statement}")
    table.refresh()
    assert scan(table, table.snapshot()).to_arrow().select(["id", "other", "v"]).sort_by("id").to_pylist() == [
        {"id": 1, "other": 100, "v": "none"},
        {"id": 2, "other": -1000, "v": "none"},
    ]
    for change in (
        {"kind": "sync-identity", "column": "other"},
        {"kind": "rename-column", "column": "v", "to": "word"},
        {"kind": "widen-type", "column": "word", "type": "varchar(9)"},
        {"kind": "add-columns", "fields": [field("`odd name`.y", "variant")]},
    ):
        changed = table.plan(change, user="steward")
        assert changed.committable, (change, changed.blocking)
        assert table.commit(changed).outcome == "committed"
    reference_writer.sql(f"INSERT INTO {name} (ts, word) VALUES (TIMESTAMP'2022-01-01 10:00:00Z', 'longer')")
    reference_writer.sql(f"DELETE FROM {name} WHERE id = 1")
    table.refresh()
    rows = scan(table, table.snapshot()).to_arrow(readable=True)
    assert content_hash(rows) == content_hash(reference_writer.rows(path))
    assert sorted(zip(*(rows.column(key).to_pylist() for key in ("id", "other", "word")), strict=True)) == [
        (2, -1000, "none"),
        (3, -1005, "longer"),
    ]
    assert explorer.open_table(path).verify().problems == ()
