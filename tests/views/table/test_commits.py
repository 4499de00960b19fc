"""A commit in words: what it did to the rows, and what of the table's form it changed."""

from pathlib import Path

import pytest

import explorer
from explorer.views.table.commits import CommitRecord, Commits, commit_sentence
from tests.support.small_logs import PROTOCOL, add, commit_info, metadata, write_log


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
    assert commit_sentence(CommitRecord(3, None, "RESTORE", "", "", **changed)) == words
