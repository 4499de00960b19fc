"""The reference reads what our log maintenance leaves, with nothing else to go by, and goes on writing."""

from __future__ import annotations

import os
import shutil
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pytest

import explorer
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.log.writing.checksum import version_checksum, write_checksum
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.maintenance.log_cleanup import clean_log, plan_cleanup
from explorer.core.protocol.actions import CommitInfo
from explorer.storage import open_store
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.comparison.row_content import row_lines
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import write

pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.whole(
        "test_intents_side_by_side.py, where the reference goes on after a checkpoint, and "
        "tests/golden/test_checkpoint_readers.py, where others read ours"
    ),
]

LAYOUTS: Final = {
    "v1": CheckpointLayout("v1"),
    "v1-as-struct": CheckpointLayout("v1"),
    "v2-inline": CheckpointLayout("v2"),
    "v2-sidecars": CheckpointLayout("v2", most_inline=0, sidecar_rows=3),
    "v2-json": CheckpointLayout("v2", top_level="json", sidecar_rows=3),
    "v2-classic-name": CheckpointLayout("v2", most_inline=0, classic_name=True),
}
_STORY: Final = """
CREATE TABLE {table} (id BIGINT, name STRING, at TIMESTAMP, price DECIMAL(10,2), s STRUCT<x: INT>, p STRING)
USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode'='name', 'delta.enableDeletionVectors'='true',
'delta.enableRowTracking'='true', 'delta.feature.v2Checkpoint'='supported', 'delta.checkpointInterval'='1000',
'delta.deletedFileRetentionDuration'='interval 1 day', 'delta.logRetentionDuration'='interval 1 day');
INSERT INTO {table} SELECT id, concat('v', id), timestamp_seconds(id), id / 4, named_struct('x', int(id)),
if(id % 3 = 0, NULL, concat('p ', id % 3)) FROM range(40);
UPDATE {table} SET name = 'new' WHERE id % 7 = 0
"""
_IDS: Final = ("row_id", "row_commit_version")

Story = tuple[Path, list[str]]


@pytest.fixture(scope="module")
def story(reference_writer: ReferenceWriter, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A table by the reference, not to be changed, and its rows with their ids."""
    path = tmp_path_factory.mktemp("story") / "orders"
    for command in _STORY.format(table=f"delta.`{path}`").split(";"):
        reference_writer.sql(command)
    return path, sorted(row_lines(reference_writer.rows(path, None, _IDS)))


def _goes_on(writer: ReferenceWriter, path: Path, rows: list[str]) -> None:
    """The reference deletes a row by what we left, and we read what it wrote."""
    latest = explorer.open_table(path).latest_version()
    writer.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
    found = explorer.open_table(path)
    assert found.latest_version() == latest + 1
    snapshot = found.snapshot()
    assert snapshot.num_records is not None
    assert snapshot.num_records - snapshot.num_deleted_records == len(rows) - 1
    assert found.verify().problems == ()
    # Of what was there the reference kept every row and its id.
    assert set(row_lines(writer.rows(path, None, _IDS))) < set(rows)


@pytest.mark.parametrize("layout", LAYOUTS if WHOLE_DOSE else ["v1-as-struct", "v2-sidecars"])
def test_the_reference_reads_and_writes_a_table_that_rests_on_our_checkpoint(
    reference_writer: ReferenceWriter, story: Story, tmp_path: Path, layout: str
) -> None:
    path = shutil.copytree(story[0], tmp_path / "orders")
    store = open_store(path)
    if layout == "v1-as-struct":
        metadata = explorer.Table(store).snapshot().metadata
        keys = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}
        changed = msgspec.structs.replace(metadata, configuration=metadata.configuration | keys)
        write(store, {list_log(store).latest + 1: (CommitInfo(operation="SET TBLPROPERTIES"), changed)})
    listing = list_log(store)
    written = write_checkpoint(store, listing, now=datetime.now(UTC), new_uuid=uuid.uuid4, layout=LAYOUTS[layout])
    assert written.hint is not None
    gone = [listing.commits[version] for version in range(listing.latest)] + list(listing.checksums.values())
    for file in gone:
        store.delete(file.path)
    _goes_on(reference_writer, path, story[1])


def test_the_reference_goes_on_with_our_checksums_compactions_and_clean_up(
    reference_writer: ReferenceWriter, story: Story, tmp_path: Path
) -> None:
    path = shutil.copytree(story[0], tmp_path / "orders")
    store = open_store(path)
    listing = list_log(store)
    segment = listing.segment()
    commits = list(read_commits(store, segment.commits))
    base = checkpoint_reader(store, segment)
    state = replay_state(base, commits, segment.version)
    checksum = version_checksum(state, replay_files(base, commits), commits[-1].commit_info())
    assert checksum is not None
    store.delete(listing.checksums[listing.latest].path)
    assert write_checksum(store, listing.latest, checksum)
    assert write_compaction(store, listing, 1, listing.latest) is not None
    written = write_checkpoint(store, listing, now=datetime.now(UTC), new_uuid=uuid.uuid4)
    assert written.hint is not None
    for file in (path / "_delta_log").glob("[0-9]*"):
        os.utime(file, ((datetime.now(UTC) - timedelta(days=9)).timestamp() + int(file.name[:20]),) * 2)
    plan = plan_cleanup(store, state, datetime.now(UTC))
    assert plan.first_version == listing.latest
    assert clean_log(store, plan) == len(plan.files) > 0
    _goes_on(reference_writer, path, story[1])
