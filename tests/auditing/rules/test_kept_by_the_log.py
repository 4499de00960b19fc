"""What a vacuum takes, and what only a cleanup of the log takes: the audit does not mix the two."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import explorer
from explorer.auditing import Subject, audit
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import DAY, HOUR, NOW, ago
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

LOG, FILES = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"


def old_log(folder: Path, removed_before: int | None) -> explorer.Table:
    """Two versions load a file each, the third removes the first one some ms before the present and is a checkpoint;
    all log files are 60 days old."""
    described = small_logs.metadata({"id": "long"}, (), {LOG: "interval 30 days", FILES: "interval 7 days"})
    one, two = small_logs.add("1.parquet"), small_logs.add("2.parquet")
    gone = [] if removed_before is None else [small_logs.remove("1.parquet", deletion_timestamp=ago(removed_before))]
    log = [[small_logs.PROTOCOL, described], [one], [two], gone]
    small_logs.write_log(folder, log)
    live = [two] if gone else [one, two]
    write_checkpoint(open_store(folder), 3, [small_logs.PROTOCOL, described, *live, *gone], "classic")
    for name in ("1.parquet", "2.parquet"):
        (folder / name).write_bytes(b"rows")
    for file in at_least_one(sorted((folder / "_delta_log").iterdir())):
        os.utime(file, (ago(60 * DAY) / 1_000,) * 2)
    return explorer.open_table(folder)


@pytest.mark.parametrize(
    ("removed_before", "vacuumed", "by"),
    [
        # nothing was removed: a vacuum takes nothing, and a cleanup of the log takes what is before the checkpoint
        (None, None, [LOG, LOG, LOG]),
        # removed, and kept for days yet
        (HOUR, None, [LOG, LOG, LOG]),
        # the time of the files comes after that of the log
        (4 * DAY, None, [LOG, LOG, LOG]),
        # the same, and within two days
        (6 * DAY, ((1, 2),), [LOG, LOG, LOG]),
        # removed long ago: a vacuum takes what the two versions that had the file need
        (45 * DAY, ((1, 2),), [LOG, FILES, FILES]),
    ],
    ids=["nothing removed", "an hour ago", "four days ago", "six days ago", "45 days ago"],
)
def test_a_vacuum_is_said_to_take_the_versions_whose_files_it_may_delete_and_no_others(
    tmp_path: Path, removed_before: int | None, vacuumed: tuple[tuple[int, int], ...] | None, by: list[str]
) -> None:
    table = old_log(tmp_path / "t", removed_before)
    rows = table.retention(NOW).to_pylist()
    assert [(row["status"], row["by"]) for row in rows[:3]] == [("at risk", each) for each in by]
    findings = [each for each in audit(Subject(table, NOW)).findings if each.rule == "versions-at-risk"]
    assert [each.versions for each in findings] == ([] if vacuumed is None else [vacuumed])
    if removed_before == 6 * DAY:
        assert findings[0].title.startswith("2 versions can be vacuumed from ")
    elif vacuumed is not None:
        assert findings[0].title == "A vacuum would now delete the data of 2 versions"
        assert (findings[0].files, findings[0].size) == (1, 100)
