"""The protocol raised and features dropped by us on a table that the reference reads and goes on writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import explorer
from explorer.core.protocol.table_features import supported_features
from explorer.spark.scan.scan import scan
from tests.support.clients.other_readers import assert_others_read
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.comparison.row_content import content_hash
from tests.support.dose import WHOLE_DOSE

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

_TABLE: Final = (
    "CREATE TABLE delta.`{path}` (id BIGINT) USING delta TBLPROPERTIES ('delta.minReaderVersion'='1', "
    "'delta.minWriterVersion'='1')"
)

# Each intent, and a statement by which the reference goes on.
STORY: Final[list[tuple[dict[str, Any], str | None]]] = [
    ({"kind": "upgrade-protocol", "minReaderVersion": 1, "minWriterVersion": 2}, None),
    ({"kind": "add-constraint", "name": "c", "expression": "id >= 0"}, "INSERT INTO {t} VALUES (20)"),
    ({"kind": "drop-constraint", "name": "c"}, None),
    ({"kind": "drop-feature", "feature": "checkConstraints"}, "INSERT INTO {t} VALUES (-1)"),
    ({"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "true"}}, None),
    ({"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "false"}}, None),
    ({"kind": "drop-feature", "feature": "inCommitTimestamp"}, "INSERT INTO {t} VALUES (21)"),
    ({"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}}, "DELETE FROM {t} WHERE id = 3"),
    ({"kind": "set-properties", "properties": {"delta.enableRowTracking": "false"}}, None),
    ({"kind": "drop-feature", "feature": "rowTracking"}, "INSERT INTO {t} VALUES (22)"),
    ({"kind": "drop-feature", "feature": "domainMetadata"}, None),
    ({"kind": "enable-feature", "feature": "vacuumProtocolCheck"}, "INSERT INTO {t} VALUES (23)"),
    ({"kind": "checkpoint"}, None),
    ({"kind": "drop-feature", "feature": "vacuumProtocolCheck"}, "DELETE FROM {t} WHERE id = 4"),
    ({"kind": "set-properties", "properties": {"delta.checkpointPolicy": "v2"}}, "INSERT INTO {t} VALUES (24)"),
    ({"kind": "set-properties", "properties": {"delta.checkpointPolicy": "classic"}}, None),
    ({"kind": "checkpoint"}, None),
    ({"kind": "drop-feature", "feature": "v2Checkpoint"}, "INSERT INTO {t} VALUES (25)"),
    ({"kind": "enable-feature", "feature": "rowTracking"}, "UPDATE {t} SET id = 40 WHERE id = 20"),
    ({"kind": "upgrade-protocol", "minReaderVersion": 3, "minWriterVersion": 7}, "INSERT INTO {t} VALUES (26)"),
]

# On every run the reference goes on after each feature that was dropped, and after the last raise of the protocol.
EVERY_RUN: Final = {3, 6, 9, 13, 17, 19}


@pytest.mark.whole("test_intents_side_by_side.py, and what test_client_verdicts.py writes")
@pytest.mark.conformance("FEAT-005", "FEAT-006", "FEAT-009", "PROTO-006", "ROWTRACK-002", "CKPTPROT-001")
def test_the_reference_goes_on_while_features_come_and_go(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    path = tmp_path / "features"
    reference_writer.sql(_TABLE.format(path=path))
    reference_writer.sql(f"INSERT INTO delta.`{path}` SELECT id FROM range(10)")
    table = explorer.open_table(path)
    for number, (intent, following) in enumerate(STORY):
        plan = table.plan(intent, user="steward")
        assert plan.committable, (number, intent, plan.blocking)
        result = table.commit(plan, user="steward")
        assert (result.outcome, result.notes) == ("committed", ()), (number, intent)
        goes_on = following is not None and (WHOLE_DOSE or number in EVERY_RUN)
        if following is not None and goes_on:
            reference_writer.sql(following.format(t=f"delta.`{path}`"))
            table.refresh()
        # It takes seconds: all read each time under `make prove`, else after a statement of the reference.
        if WHOLE_DOSE or goes_on:
            _same_rows(table, reference_writer, path)
    assert list(table.verify().problems) == []
    assert set(supported_features(table.snapshot().protocol)) == {
        *("appendOnly", "invariants", "domainMetadata", "rowTracking", "checkpointProtection")
    }


def _same_rows(table: explorer.Table, reference: ReferenceWriter, path: Path) -> None:
    """The same rows, and the same ids where rows have ids."""
    tracked = table.snapshot().row_tracking.enabled
    ours = scan(table, table.snapshot(), row_identity=tracked).to_arrow()
    theirs = reference.rows(path, hidden=("row_id", "row_commit_version") if tracked else ())
    names = {"_row_id": "row_id", "_row_commit_version": "row_commit_version"}
    named = ours.rename_columns([names.get(name, name) for name in ours.column_names])
    assert content_hash(named.select(theirs.column_names)) == content_hash(theirs), table.latest_version()
    assert_others_read(path, ours.select(["id"]), f"version {table.latest_version()}")
