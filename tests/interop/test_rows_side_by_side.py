"""The reference reads a table, and so do we: the same rows, ids and types at every version."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.spark.scan.scan import scan
from tests.support.clients.reference_writer import ReferenceRefused, ReferenceWriter
from tests.support.comparison.row_content import content_hash, row_lines
from tests.support.dose import WHOLE_DOSE, some_of

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

MAPPED_FEED: Final = (
    "'delta.columnMapping.mode'='{mode}', 'delta.enableDeletionVectors'='true', 'delta.enableChangeDataFeed'='true', "
    "'delta.enableRowTracking'='true'"
)

_STORY: Final = """
CREATE TABLE {table} (id BIGINT, `a b` STRING, s STRUCT<x: INT, `y.z`: ARRAY<STRUCT<q: INT>>>, p STRING)
USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties});
INSERT INTO {table} SELECT id, concat('v', id),
named_struct('x', int(id), 'y.z', array(named_struct('q', int(id * 2)))), if(id % 3 = 0, NULL, concat('p ', id % 3))
FROM range(100);
DELETE FROM {table} WHERE id % 5 = 0;
ALTER TABLE {table} RENAME COLUMN `a b` TO name;
ALTER TABLE {table} RENAME COLUMN s.x TO renamed;
UPDATE {table} SET name = 'new', s = NULL WHERE id % 7 = 0;
ALTER TABLE {table} DROP COLUMN name;
ALTER TABLE {table} ADD COLUMN name INT;
MERGE INTO {table} t USING (SELECT id FROM range(90, 110)) s ON t.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, -1);
OPTIMIZE {table}
"""


def _ours(path: Path, version: int) -> pa.Table:
    table = explorer.open_table(path)
    return scan(table, table.snapshot(version)).to_arrow(readable=True)


def _assert_same(writer: ReferenceWriter, path: Path, *versions: int) -> None:
    for version in versions or (explorer.open_table(path).latest_version(),):
        theirs, ours = writer.rows(path, version), _ours(path, version)
        assert theirs.column_names == ours.column_names, f"version {version}"
        assert sorted(row_lines(theirs)) == sorted(row_lines(ours)), f"version {version}"


# Under `make prove` by ids too, and every version whose columns or masks differ.
@pytest.mark.whole("tests/spark/scan/test_golden_rows.py and tests/spark/scan/test_reference_rows.py", cases=["name"])
@pytest.mark.parametrize("mode", ["name", "id"] if WHOLE_DOSE else ["name"])
def test_a_mapped_table_with_masks_and_renames_reads_alike(
    reference_writer: ReferenceWriter, tmp_path: Path, mode: str
) -> None:
    path, table = tmp_path / "orders", f"delta.`{tmp_path}/orders`"
    for statement in _STORY.format(table=table, properties=MAPPED_FEED.format(mode=mode)).split(";"):
        reference_writer.sql(statement)
    _assert_same(reference_writer, path, *([2, 5, 8, 9] if WHOLE_DOSE else [5]))
    opened = explorer.open_table(path)
    theirs = reference_writer.rows(path, hidden=["row_id", "row_commit_version"])
    identified = scan(opened, opened.snapshot(), row_identity=True).to_arrow()
    ours = identified.drop_columns(["_file", "_row_index"])
    assert content_hash(theirs) == content_hash(ours)


@pytest.mark.whole("tests/spark/scan/test_golden_rows.py and tests/spark/scan/test_reference_rows.py")
def test_every_type_reads_alike_its_extremes_included(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    path = tmp_path / "types"
    moments = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1582, 10, 4, 23, tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=UTC),
        None,
    ]
    rows = pa.table(
        {
            "id": pa.array([1, -(2**63), 2**63 - 1, None], pa.int64()),
            "f": pa.array([float("nan"), float("-inf"), -0.0, None], pa.float32()),
            "m": pa.array([Decimal("1e-18"), Decimal(-(10**20) + 1), Decimal(0), None], pa.decimal128(38, 18)),
            "d": pa.array([date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31), None]),
            "t": pa.array(moments, pa.timestamp("us", "UTC")),
            "n": pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp("us")),
            "b": pa.array([b"", b"\x00\xff", b"x", None], pa.binary()),
            "l": pa.array([[1, None], [], None, [3]], pa.list_(pa.int32())),
            "k": pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    reference_writer.commit(path, rows)
    reference_writer.commit(path, rows, options={"maxRecordsPerFile": "1"})
    reference_writer.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
    _assert_same(reference_writer, path)
    assert [c["operation"] for c in reference_writer.history(path)] == ["DELETE", "WRITE", "WRITE"]


@pytest.mark.whole("tests/spark/scan/test_golden_rows.py and tests/spark/scan/test_reference_rows.py")
def test_tables_of_the_demo_read_alike(reference_writer: ReferenceWriter, demo_warehouse: Path) -> None:
    seen = 0
    for log in some_of(sorted(demo_warehouse.rglob("_delta_log")), 2):
        try:
            explorer.open_table(log.parent).snapshot().files()
        except ExplorerError:
            # Some are broken on purpose; the reference refuses them as we do.
            with pytest.raises(ReferenceRefused):
                reference_writer.rows(log.parent)
        else:
            _assert_same(reference_writer, log.parent)
            seen += 1
    assert seen


@pytest.mark.whole("tests/spark/scan/test_golden_rows.py and tests/spark/scan/test_reference_rows.py")
def test_what_the_reference_refuses_is_told_with_its_condition(
    reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    reference_writer.sql(f"CREATE TABLE delta.`{tmp_path}/t` (id BIGINT) USING delta")
    with pytest.raises(ReferenceRefused) as caught:
        reference_writer.sql(f"ALTER TABLE delta.`{tmp_path}/t` ADD CONSTRAINT c CHECK (nope > 1)")
    assert caught.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert reference_writer.detail(tmp_path / "t")["minWriterVersion"] == 2
