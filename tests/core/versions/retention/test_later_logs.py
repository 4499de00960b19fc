"""A log that begins later says of its versions what the whole log says of them; and facts that only such logs show."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import AddCDCFile, DomainMetadata, Protocol
from explorer.core.versions.open_log.log_state import _same_files
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.retention.horizon import horizon
from explorer.core.versions.retention.missing_files import absent
from explorer.core.versions.retention.version_states import VersionRisks
from explorer.storage import open_store
from tests.core.versions.retention.test_horizon_facts import FEED, _replaced
from tests.support.comparison.audited_tables import DAY, NOW, ago, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

RULES = Protocol(min_reader_version=1, min_writer_version=4)
ON = {"delta.deletedFileRetentionDuration": "interval 5 days", **FEED}


def _whole() -> explorer.Table:
    """Versions 0 to 6; the feed is on from 3, and one of its versions records its changes in a file of its own."""
    change = [small_logs.commit_info("UPDATE"), AddCDCFile(path="_change_data/c", size=1), small_logs.add("5.parquet")]
    merge = small_logs.commit_info(
        "MERGE",
        operation_metrics={f"numTargetRows{kind}": "0" for kind in ("Inserted", "Updated", "Deleted")},
    )
    nothing = [merge, small_logs.remove("3.parquet", deletion_timestamp=ago(DAY)), small_logs.add("4.parquet")]
    first = loaded("0.parquet"), _replaced(0, 20 * DAY), _replaced(1, 10 * DAY, **ON), _replaced(2, 2 * DAY)
    return written(*first, nothing, change, protocol=RULES)


def _later(table: explorer.Table, first_commit: int) -> explorer.Table:
    """The table, of which a checkpoint of version 2 and the commits from one on are left."""
    state = table.snapshot(2)
    live = [small_logs.add(path, size=size) for path, size in small_files(state)]
    write_checkpoint(table.store, 2, [state.protocol, state.metadata, *live], "classic")
    for version in range(first_commit):
        table.store.delete(commit_name(version))
    return explorer.Table(table.store)


def small_files(state: explorer.Snapshot) -> list[tuple[str, int]]:
    return [(row["path"], row["size"]) for row in state.files(["path", "size"]).to_pylist()]


def _dates(table: explorer.Table) -> dict[int, tuple[datetime | bool | None, ...]]:
    history = table.history_record()
    rows = horizon(history, VersionRisks(history, table.listing), NOW).what_if().dates.to_pylist()
    return {row["version"]: (row["lost_from"], row["gone"], row["feed_lost_from"], row["feed_gone"]) for row in rows}


@pytest.mark.parametrize("first_commit", [2, 3])
def test_dates_of_versions_and_changes_are_those_of_the_whole_log(first_commit: int) -> None:
    table = _whole()
    whole = _dates(table)
    later = _dates(_later(table, first_commit))
    assert list(later) == [2, 3, 4, 5, 6]
    assert {version: whole[version] for version in later} == later
    assert {version for version, row in later.items() if row[3] is not None} == {3, 4, 5, 6}
    assert later[5][2:] == (None, False), "no row was changed, so nothing holds its changes"


@pytest.mark.parametrize("first_commit", [2, 3])
def test_what_can_be_read_is_that_of_the_whole_log(first_commit: int) -> None:
    table = _whole()
    whole = table.retention(NOW).to_pylist()
    later = _later(table, first_commit).retention(NOW).to_pylist()
    assert [row["version"] for row in later] == [row["version"] for row in whole] == list(range(7))
    assert later[2:] == whole[2:]
    assert [row["status"] for row in later[:2]] == ["log gone", "log gone"]


def test_where_nothing_is_in_force_no_changes_are_recorded() -> None:
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=FEED)
    info = small_logs.table({0: [RULES, metadata]}).history_record().commits[0]
    for gone in ({"metadata": None}, {"protocol": None}):
        record = Provenance([msgspec.structs.replace(info, **gone)], None, first_readable=0, latest=0)
        assert record.records_changes(0) is False
    assert Provenance([info], None, first_readable=0, latest=0).records_changes(0) is True


@pytest.mark.parametrize(
    ("last", "rest"),
    [
        (2, ""),
        (3, " The changes of version 3 can still be read."),
        (4, " The changes of versions 3 to 4 can still be read."),
    ],
)
def test_changes_after_those_that_are_gone_are_said(last: int, rest: str) -> None:
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=FEED)
    commits = {0: [RULES, metadata], **{version: [small_logs.add(f"{version}")] for version in range(1, 5)}}
    table = small_logs.table(commits)
    for version in (3, 4):
        table.store.put(f"{version}", b"x")
    with pytest.raises(ChangeFeedGap) as caught:
        table.change_sources(1, last)
    error = caught.value
    assert (error.version, error.versions, error.path, error.missing) == (1, [1, 2], "1", 2)
    assert str(error).endswith(f"2 files are missing, of 2 versions.{rest}")


def test_a_location_is_looked_for_where_it_says_and_never_above(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    store.put("a", b"x")
    store.put("deep..er/b", b"x")
    (tmp_path / "c").write_bytes(b"x")
    whole = f"{store.root}/"
    assert absent(store, ["a", "z", f"{whole}a", f"{whole}z", f"{whole}deep..er/b"]) == {"z", f"{whole}z"}


def _clustered(columns: list[list[str]] | None, mode: str) -> dict[str, Any]:
    field = {"name": "shown", "type": "long", "nullable": True}
    names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    schema = {"type": "struct", "fields": [{**field, "metadata": names if mode == "name" else {}}]}
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"} if mode == "name" else {}
    metadata = msgspec.structs.replace(small_logs.METADATA, schema_string=json.dumps(schema), configuration=properties)
    features = ("clustering", "columnMapping", "domainMetadata")
    rules = Protocol(min_reader_version=2, min_writer_version=7, writer_features=features)
    first: list[Any] = [rules, metadata]
    if columns is not None:
        text = json.dumps({"clusteringColumns": columns})
        first.append(DomainMetadata(domain="delta.clustering", configuration=text, removed=False))
    changes = small_logs.table({0: [rules, metadata], 1: first[2:] or [small_logs.add("a")]}).settings_history()
    return {row["kind"]: row["after"] for row in changes.to_pylist() if row["version"] == 1}


@pytest.mark.parametrize(
    ("columns", "mode", "said"),
    [
        ([["col-1"]], "name", "shown"),
        ([["shown"]], "none", "shown"),
        ([["gone"]], "none", '{"clusteringColumns": [["gone"]]}'),
    ],
)
def test_clustering_columns_are_said_by_their_names_or_as_they_were_recorded(
    columns: list[list[str]], mode: str, said: str
) -> None:
    assert _clustered(columns, mode).get("clustering") == said


def test_a_table_that_is_clustered_by_nothing_has_no_clustering() -> None:
    assert _clustered([], "none").get("clustering") is None
    assert _clustered(None, "none") == {}


def test_logs_of_which_one_lost_old_commits_and_got_new_ones_are_the_same_log() -> None:
    known = small_logs.listed({}, dict.fromkeys(range(4), 1))
    assert _same_files(known, small_logs.listed({}, dict.fromkeys(range(2, 6), 1)))
    assert _same_files(small_logs.listed({}, dict.fromkeys(range(3, 5), 1)), known)
    assert _same_files(known, small_logs.listed({}, {7: 1}))
    assert not _same_files(known, small_logs.listed({}, {3: 2, 4: 1}))
    assert not _same_files(small_logs.listed({}, {2: 1, 3: 2}), known)
