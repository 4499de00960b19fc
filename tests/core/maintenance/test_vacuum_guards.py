"""What a plan of a vacuum says: each guard with its whole evidence, the consequences, and which files stay whoever
needs them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import explorer
from explorer.core.maintenance.unused_files import exempt, shadowed
from explorer.core.protocol.actions import Remove
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.transaction.commit_plan import Consequences
from explorer.core.transaction.proposal import GuardResult
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

DAY = 86_400
REMEDY = (
    "First find out whether they exist under other names, or can be restored from a backup. The files listed as unused "
)
STAY = "Files that anything needed since the cut-off stay, and so do newer files."


def _table(folder: Path, files: str, *gone: str) -> explorer.Table:
    """Files that were added at version 0, some of them removed at version 1 thirty days ago; those named are there."""
    folder.mkdir()
    then = int(time.time() - 30 * DAY) * 1000
    removals = [Remove(path=name, deletion_timestamp=then) for name in gone]
    write(open_store(folder), {0: (PROTOCOL, METADATA, add("a"), add("b")), **({1: removals} if removals else {})})
    for name in files.split():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"PAR1")
        os.utime(file, (time.time() - 30 * DAY,) * 2)
    return explorer.open_table(folder)


def _guards(table: explorer.Table, **intent: str) -> tuple[dict[str, GuardResult], Consequences]:
    plan = table.plan({"kind": "vacuum", **intent})
    return {guard.name: guard for guard in plan.guards}, plan.consequences


def test_a_plan_that_takes_versions_says_which_and_what_stays(tmp_path: Path) -> None:
    guards, consequences = _guards(_table(tmp_path / "t", "a b", "b"))
    cutoff = guards["retention"].evidence["cutoff"]
    assert guards["retention"] == GuardResult(
        "retention",
        "pass",
        {"delta.deletedFileRetentionDuration": "interval 1 week", "cutoff": cutoff, "detail": STAY},
    )
    assert guards["live-files"] == GuardResult(
        "live-files", "pass", {"files": 1, "missing": [], "numMissing": 0, "detail": "The one live file exists."}
    )
    assert guards["time-travel"] == GuardResult(
        "time-travel",
        "warn",
        {"firstVersion": 0, "lastVersion": 0, "numVersions": 1, "detail": "Version 0 will be lost."},
        "Check who still reads these versions, or keep a copy.",
    )
    assert consequences == Consequences(
        time_travel="Version 0 can no longer be read.",
        change_feed="Nothing changes for readers of the change data feed.",
        undo="Only a backup can bring deleted files back.",
    )


def test_a_plan_that_takes_no_version_says_so(tmp_path: Path) -> None:
    guards, consequences = _guards(_table(tmp_path / "t", "a b never-committed"))
    assert guards["time-travel"] == GuardResult(
        "time-travel", "pass", {"detail": "Every version that can be read now can be read afterwards."}
    )
    assert guards["live-files"].evidence["detail"] == "All 2 live files exist."
    assert consequences.time_travel == "No version is lost."


def test_a_plan_with_nothing_to_delete_does_nothing(tmp_path: Path) -> None:
    guards, consequences = _guards(_table(tmp_path / "t", "a b"))
    assert guards["something-to-do"].status == "warn"
    assert guards["something-to-do"].evidence["detail"] == "No file older than the cut-off has been unused since then."
    assert consequences.undo == "Nothing is done."


def test_a_shorter_retention_than_the_table_states_is_refused_with_both_days(tmp_path: Path) -> None:
    table = _table(tmp_path / "t", "a b", "b")
    guards, _ = _guards(table, olderThan="2 days")
    found = guards["retention"]
    assert found.status == "fail"
    assert set(found.evidence) == {"delta.deletedFileRetentionDuration", "cutoff", "ownCutoff", "detail"}
    assert str(found.evidence["ownCutoff"]) < str(found.evidence["cutoff"])
    assert found.evidence["detail"] == "The table keeps removed files longer: interval 1 week."
    assert found.remedy == (
        "Set delta.deletedFileRetentionDuration to a shorter interval first, so that the history shows who decided it, "
        "and so that readers and writers know the limit."
    )


@pytest.mark.parametrize(
    ("there", "status", "missing", "remedy"),
    [
        ("a", "unknown", ["b"], f"{REMEDY}may be these files. If not, accept this guard by name."),
        ("x", "fail", ["a", "b"], f"{REMEDY}are most likely the table itself."),
    ],
)
def test_live_files_that_are_gone_stand_against_a_vacuum(
    tmp_path: Path, there: str, status: str, missing: list[str], remedy: str
) -> None:
    guards, _ = _guards(_table(tmp_path / "t", there))
    verb = "is" if len(missing) == 1 else "are"
    detail = f"{len(missing)} of 2 live files {verb} missing, such as {missing[0]}."
    assert guards["live-files"] == GuardResult(
        "live-files",
        status,  # type: ignore[arg-type]  # a parameter is any text
        {"files": 2, "missing": missing, "numMissing": len(missing), "detail": detail},
        remedy,
    )


@pytest.mark.parametrize(
    ("inner", "detail"),
    [
        (["inner"], "1 folder inside is a table of its own; its files stay."),
        (["inner", "other"], "2 folders inside are tables of their own; their files stay."),
    ],
)
def test_folders_that_are_tables_of_their_own_are_named(tmp_path: Path, inner: list[str], detail: str) -> None:
    logs = " ".join(f"{folder}/_delta_log/00000000000000000000.json {folder}/x" for folder in inner)
    guards, _ = _guards(_table(tmp_path / "t", f"a b {logs} unused"))
    assert guards["other-tables"] == GuardResult(
        "other-tables",
        "warn",
        {"folders": inner, "numFolders": len(inner), "detail": detail},
        "Clean up each of these tables separately.",
    )


def test_other_tables_and_the_metadata_of_iceberg_stay_beside_hidden_files() -> None:
    keys = ["a", "_hidden/b", "inner/c", "other/d", "metadata/e", "x/metadata/f", "metadata-of/g", "innermost/h"]
    stay = dict(zip(keys, exempt(strings(keys), ["inner", "other"], []).tolist(), strict=True))
    assert [key for key in keys if stay[key]] == ["_hidden/b", "inner/c", "other/d"]
    stay = dict(zip(keys, exempt(strings(keys), ["inner"], [], iceberg=True).tolist(), strict=True))
    assert [key for key in keys if stay[key]] == ["_hidden/b", "inner/c", "metadata/e", "x/metadata/f"]


def test_a_checksum_of_hadoop_belongs_to_the_file_beside_it() -> None:
    keys = ["a", ".a.crc", "p/b", "p/.b.crc", "q/.b.crc", ".c.crc", "b"]
    checksums, files = shadowed(strings(keys))
    assert [(keys[checksum], keys[file]) for checksum, file in zip(checksums, files, strict=True)] == [
        (".a.crc", "a"),
        ("p/.b.crc", "p/b"),
    ]
