"""Rows updated and merged by intents: the rows, ids, feed and numbers of the reference after the same commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.spark.engine.session import engine
from explorer.spark.scan.scan import scan
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.golden_expectations import expected
from tests.support.reference_changes import changing_steps
from tests.support.reference_steps import Step, copy_before, reference_commit
from tests.support.row_content import content_hash, row_lines
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
OTHERWISE: Final = {
    "default-columns#17": "the reference fails on DEFAULT in a clause by a fault of its own; here it means the default",
    "schema-changes#38": "the session of the reference let the source add columns, which no clause here asks for",
}
STEPS = [pytest.param(step, query, id=step.name) for step, query in changing_steps(ROOT) if step.name not in OTHERWISE]
# Updates like others in what they meet.
ALIKE: Final = {"change-feed-partitioned#4", "checkpoint-default#7", "checkpoint-without-checksum#10"}
EVERY_RUN: Final = [step for step in some_of(STEPS, 18) if step.id not in ALIKE]
SAME: Final = ("numUpdatedRows", "numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated",
    "numTargetRowsDeleted", "numTargetRowsMatchedUpdated", "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceUpdated", "numTargetRowsNotMatchedBySourceDeleted", "numCopiedRows",
    "numTargetRowsCopied", "numOutputRows", "numDeletionVectorsAdded", "numDeletionVectorsRemoved",
    "numTargetDeletionVectorsAdded", "numRemovedFiles", "numTargetFilesRemoved")  # fmt: skip


@pytest.mark.parametrize(("step", "query"), STEPS if WHOLE_DOSE else EVERY_RUN)
def test_a_change_of_the_reference_leaves_the_same_rows(step: Step, query: str | None, tmp_path: Path) -> None:
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    rows = None if query is None else engine().session().sql(query)
    if step.version is None:
        _refused(table, step, rows)
        return
    result = table.commit(table.plan(step.intent, rows=rows, user="steward"))
    assert (result.outcome, result.version) == ("committed", step.version)
    wanted = next(record for record in expected(ROOT)[step.table]["versions"] if record["version"] == step.version)
    assert content_hash(scan(table, table.snapshot()).to_arrow(readable=True)) == wanted["content_hash"]
    same = explorer.open_table(ROOT / "tables" / step.table)
    if same.snapshot(step.version).row_tracking.enabled:
        mark = same.snapshot(step.before).row_tracking.high_water_mark
        assert _old_rows(table, step.version, mark) == _old_rows(same, step.version, mark)
    theirs, ours = reference_commit(ROOT, step), [dict(action) for action in result.plan.actions]
    _same_provenance(ours, theirs)
    assert any("cdc" in line for line in ours) == any("cdc" in line for line in theirs)
    assert _feed(table, step.version) == _feed(same, step.version)


def _old_rows(table: explorer.Table, version: int, mark: int | None) -> list[str]:
    """Rows with an id from before, their ids and commit versions; ids of new rows go by the layout of files."""
    found = table.rows(version, where=f"_row_id <= {mark}", row_identity=True).toArrow()
    assert found.num_rows
    return sorted(row_lines(found.drop_columns(["_file", "_row_index"])))


def _refused(table: explorer.Table, step: Step, rows: Any) -> None:
    """Refused with a typed error, or planned and not committable; either way nothing is committed."""
    try:
        plan = table.plan(step.intent, rows=rows)
    except ExplorerError:
        assert step.error is not None
    else:
        assert not plan.committable
        assert table.commit(plan).outcome == "rejected"
    assert table.latest_version() == step.before


def _same_provenance(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    infos = [lines[0]["commitInfo"] for lines in (ours, theirs)]
    for name in ("operation", "isolationLevel", "isBlindAppend", "tags"):
        assert infos[0].get(name) == infos[1].get(name), name
    assert infos[0]["operationParameters"].keys() == infos[1]["operationParameters"].keys()
    metrics = [info["operationMetrics"] for info in infos]
    compared = [name for name in SAME if name in metrics[1]]
    assert {name: metrics[0].get(name) for name in compared} == {name: metrics[1][name] for name in compared}


def _feed(table: explorer.Table, version: int) -> list[str] | None:
    """The changes of a version without the time of its commit; None where the feed is off."""
    try:
        found = table.changes(version, version).toArrow()
    except ExplorerError:
        return None
    kept: pa.Table = found.drop_columns(["_commit_timestamp"])
    return sorted(row_lines(kept))
