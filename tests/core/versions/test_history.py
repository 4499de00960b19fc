"""What the history says a commit changed: values count, not the actions that a writer repeats."""

from pathlib import Path

import explorer
from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.intents.records import Restore
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log

COLUMNS = {"id": "long"}


def _changed(table: explorer.Table) -> dict[int, tuple[bool, bool, bool]]:
    rows = table.history().to_pylist()
    return {row["version"]: (row["protocol_changed"], row["metadata_changed"], row["schema_changed"]) for row in rows}


def test_an_action_that_repeats_what_is_in_force_changes_nothing(tmp_path: Path) -> None:
    commits = [
        [commit_info("CREATE TABLE"), PROTOCOL, metadata(COLUMNS)],
        [commit_info("CREATE OR REPLACE TABLE"), PROTOCOL, metadata(COLUMNS)],
        [Protocol(min_reader_version=1, min_writer_version=3)],
        [metadata(COLUMNS, configuration={"team": "bob"})],
        [metadata({**COLUMNS, "more": "string"}, configuration={"team": "bob"})],
    ]
    assert _changed(explorer.open_table(write_log(tmp_path / "t", commits))) == {
        0: (True, True, False),
        1: (False, False, False),
        2: (True, False, False),
        3: (False, True, False),
        4: (False, True, True),
    }


def test_a_restore_to_the_same_form_changes_rows_alone(tmp_path: Path) -> None:
    commits = [[commit_info("CREATE TABLE"), PROTOCOL, metadata(COLUMNS)], [add("a.parquet")]]
    table = explorer.open_table(write_log(tmp_path / "t", commits))
    table.commit(table.plan(Restore(version=0)), reason="start over")
    assert _changed(table)[2] == (False, False, False)
