"""Every kind of intent on a table of the reference: it and others read what we committed, and it goes on writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.spark.scan.scan import scan
from tests.support.clients.other_readers import assert_others_read
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.comparison.row_content import content_hash
from tests.support.dose import WHOLE_DOSE

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

_TABLE: Final = (
    "CREATE TABLE delta.`{path}` (id BIGINT, name STRING, amount INT, s STRUCT<a: INT, b: STRING>, p STRING) "
    "USING delta PARTITIONED BY (p)"
)
_ROWS: Final = (
    "INSERT INTO delta.`{path}` SELECT id, concat('n', id), int(id), named_struct('a', int(id), 'b', 'x'), "
    "if(id % 2 = 0, 'even', NULL) FROM range(20)"
)

# Each intent, and a statement by which the reference goes on; None where one after the next is enough.
STORY: Final[list[tuple[dict[str, Any], str | None]]] = [
    ({"kind": "set-description", "description": "what `it` is; -- 'quoted'"}, None),
    ({"kind": "set-column-comment", "column": "s.a", "comment": "a 'comment'"}, None),
    ({"kind": "set-properties", "properties": {"delta.checkpointInterval": "7", "team": "a;b"}}, None),
    ({"kind": "unset-properties", "keys": ["team"]}, "UPDATE {t} SET amount = amount + 1 WHERE id = 3"),
    ({"kind": "add-constraint", "name": "small", "expression": "amount < 1000 OR amount IS NULL"}, None),
    ({"kind": "drop-constraint", "name": "small"}, "INSERT INTO {t} (id, amount) VALUES (100, 1000)"),
    ({"kind": "add-constraint", "name": "positive", "expression": "id >= 0"}, None),
    ({"kind": "set-not-null", "column": "id"}, None),
    ({"kind": "drop-not-null", "column": "id"}, None),
    (
        {
            "kind": "add-columns",
            "fields": [{"name": "extra", "type": "integer", "nullable": True, "metadata": {}}],
            "at": "after id",
        },
        "INSERT INTO {t} (id, extra) VALUES (101, 5)",
    ),
    ({"kind": "move-column", "column": "amount", "at": "first"}, None),
    ({"kind": "set-properties", "properties": {"delta.enableTypeWidening": "true"}}, None),
    ({"kind": "widen-type", "column": "amount", "type": "long"}, "UPDATE {t} SET amount = 5000000000 WHERE id = 4"),
    ({"kind": "set-column-mapping", "mode": "name"}, None),
    ({"kind": "rename-column", "column": "name", "to": "full name"}, "UPDATE {t} SET `full name` = 'z' WHERE id = 5"),
    ({"kind": "rename-column", "column": "s.a", "to": "alpha"}, None),
    ({"kind": "drop-columns", "columns": ["extra"]}, "INSERT INTO {t} (id) VALUES (102)"),
    ({"kind": "enable-feature", "feature": "deletionVectors"}, "DELETE FROM {t} WHERE id = 6"),
    ({"kind": "delete", "where": "id IN (7, 8)"}, "DELETE FROM {t} WHERE id = 9"),
    ({"kind": "append", "source": "{source}"}, "DELETE FROM {t} WHERE id = 1000"),
    ({"kind": "enable-feature", "feature": "domainMetadata"}, None),
    ({"kind": "set-domain", "domain": "team.audit", "configuration": '{"seen": true}'}, None),
    ({"kind": "remove-domain", "domain": "team.audit"}, None),
    ({"kind": "set-transaction", "appId": "loader", "version": 7}, "INSERT INTO {t} (id) VALUES (103)"),
    ({"kind": "enable-feature", "feature": "v2Checkpoint"}, None),
    ({"kind": "checkpoint"}, "UPDATE {t} SET amount = 1 WHERE id = 10"),
    ({"kind": "set-properties", "properties": {"delta.enableChangeDataFeed": "true"}}, None),
    ({"kind": "delete", "where": "id = 11"}, "UPDATE {t} SET amount = 2 WHERE id = 12"),
    ({"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "true"}}, None),
    ({"kind": "set-description", "description": None}, "INSERT INTO {t} (id) VALUES (104)"),
    ({"kind": "enable-feature", "feature": "rowTracking"}, "INSERT INTO {t} (id) VALUES (105)"),
    ({"kind": "append", "source": "{source}"}, "UPDATE {t} SET amount = 3 WHERE id = 1001"),
    ({"kind": "drop-columns", "columns": ["s.b"]}, None),
    ({"kind": "restore", "version": "{renamed}"}, "DELETE FROM {t} WHERE id = 13"),
    ({"kind": "delete", "where": "true"}, "INSERT INTO {t} (id) VALUES (106)"),
]

RENAMED: Final = 14
# On every run the reference goes on where it must heed all that it did not write: renamed columns, a checkpoint, and a
# restored table with a change feed, commit times and row ids.
EVERY_RUN: Final = {33}
# What changes neither rows nor the files and names by which they are read; others read them after the next that does.
OF_THE_LOG: Final = {
    *("set-description", "set-column-comment", "set-properties", "unset-properties", "add-constraint"),
    *("drop-constraint", "set-not-null", "drop-not-null", "enable-feature", "set-domain", "remove-domain"),
    "set-transaction",
}


@pytest.mark.conformance("LOG-002", "LOG-007", "LOG-018", "META-005", "WRITER-005", "PROTO-006")
def test_the_reference_reads_and_goes_on_after_every_intent(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    path, source = tmp_path / "story", tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1000, 1001], "amount": pa.array([1, None], pa.int32())}), source)
    for statement in (_TABLE, _ROWS):
        reference_writer.sql(statement.format(path=path))
    table = explorer.open_table(path)
    versions: list[int | None] = []
    for number, (written, following) in enumerate(STORY):
        intent = {**written, "source": str(source)} if "source" in written else written
        intent = {**intent, "version": versions[RENAMED]} if intent.get("version") == "{renamed}" else intent
        plan = table.plan(intent, user="steward")
        assert plan.committable, (number, intent, plan.blocking)
        result = table.commit(plan, reason="story", user="steward")
        assert result.outcome == "committed", (number, intent, result)
        assert result.notes == (), (number, intent)
        versions.append(result.version)
        # The reference, which takes seconds, reads each time under `make prove`, else after its own statements, which
        # read what they change. Others read where something has changed that is read.
        if WHOLE_DOSE or intent["kind"] not in OF_THE_LOG:
            _same_rows(table, reference_writer if WHOLE_DOSE else None, path, f"{number}: {intent}")
        if following is not None and (WHOLE_DOSE or number in EVERY_RUN):
            reference_writer.sql(following.format(t=f"delta.`{path}`"))
            table.refresh()
            _same_rows(table, reference_writer, path, f"{number}: {following}")
    problems = list(table.verify().problems)
    assert problems == []
    kinds = {intent["kind"] for intent, _ in STORY}
    named = {entry["operation"] for entry in reference_writer.history(path)}
    assert {"ADD CONSTRAINT", "RENAME COLUMN", "DELETE", "WRITE", "RESTORE"} <= named
    assert len(kinds) >= 20


def _same_rows(table: explorer.Table, reference: ReferenceWriter | None, path: Path, where: str) -> None:
    ours = scan(table, table.snapshot()).to_arrow()
    if reference is not None:
        theirs = reference.rows(path)
        assert ours.column_names == theirs.column_names, where
        assert content_hash(ours) == content_hash(theirs), where
    assert_others_read(path, ours, where)
