"""A commit in words: what it did to the rows, and what of the table's form it changed."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.table.commits import commit_sentence
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.shared_tables import reference_root


def test_the_first_commit_creates_the_table_and_changes_nothing_of_it(tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    table = explorer.open_table(write_log(tmp_path / "t", [created, [PROTOCOL, add("a.parquet", 3)]]))
    commits = Commits(table.history())
    assert [commit_sentence(commits.record(version)) for version in (0, 1)] == ["table created", "+3 rows"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"schema_changed": True, "metadata_changed": True, "protocol_changed": True}, "schema and protocol changed"),
        ({"metadata_changed": True}, "properties changed"),
        ({"metadata_changed": True, "protocol_changed": True}, "protocol and properties changed"),
        ({}, "no change to the data"),
    ],
)
def test_what_of_the_form_changed_is_named(changed: dict[str, bool], words: str) -> None:
    assert commit_sentence(CommitSummary(3, None, "RESTORE", "", "", **changed)) == words


@pytest.mark.parametrize(
    ("added", "removed", "masked", "words"),
    [
        (40, 30, 0, "+10 rows net"),
        (30, 40, 0, "\u221210 rows net"),
        (30, 30, 0, "as many rows as before"),
        (30, 28, 1, "+1 row net"),
        (10, 0, 0, "+10 rows"),
        (0, 7, 0, "\u22127 rows"),
    ],
)
def test_a_restore_between_files_that_were_written_again_says_what_is_left_of_it(
    added: int, removed: int, masked: int, words: str
) -> None:
    rows = {"rows_added": added, "rows_removed": removed, "rows_masked": masked}
    assert commit_sentence(CommitSummary(3, None, "RESTORE", "", "", **rows)) == words


def test_rows_that_came_and_went_share_their_unit() -> None:
    rows = {"rows_added": 892, "rows_removed": 41_290, "rows_masked": 0}
    assert commit_sentence(CommitSummary(3, None, "WRITE", "", "", **rows)) == "+892, \u221241,290 rows"


@pytest.mark.reference
@pytest.mark.parametrize("name", ["change-feed", "change-feed-partitioned"])
def test_updated_rows_are_those_of_the_recorded_feed(name: str) -> None:
    place = reference_root() / "tables" / name
    table = explorer.open_table(str(place))
    commits = Commits(table.history())
    sources = table.change_sources(0, table.version_range()[1], skip=True).files.to_pylist()
    recorded = {row["version"] for row in sources if row["kind"] == "cdc"}
    updates = [
        record for record in commits.newest_first() if record.operation == "UPDATE" and record.version in recorded
    ]
    assert len(updates) == 2
    for record in updates:
        files = [row["path"] for row in sources if row["version"] == record.version and row["kind"] == "cdc"]
        kinds = [kind for file in files for kind in pq.read_table(place / file).column("_change_type").to_pylist()]
        assert record.rows_updated == kinds.count("update_postimage") > 0
        assert commit_sentence(record).startswith(f"\u0394{record.rows_updated} row")
        assert (record.rows_added, record.rows_removed) == (0, 0)


def test_a_predicate_reads_the_same_however_its_writer_recorded_it() -> None:
    for recorded, read in (('["(a#12 = 1)","b"]', "(a#12 = 1) AND b"), ("a = 1", "a = 1"), ("[]", ""), ("{}", "{}")):
        commit = CommitSummary(3, None, "DELETE", "", "", parameters={"predicate": recorded, "x": "[]", "y": None})
        assert commit.predicate == read
        assert dict(commit.shown_parameters) == ({"predicate": read} if read not in ("", "{}") else {})
