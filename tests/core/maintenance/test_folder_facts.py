"""A folder held against its log, each fact of it, and maintenance where the log changes between plan and work."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.log.log_path import commit_name, compaction_name
from explorer.core.maintenance.folder_listing import leftovers
from explorer.core.maintenance.vacuum_effects import vacuum_effects, versions_in_words
from explorer.core.protocol.actions import AddCDCFile
from explorer.storage import open_store
from tests.core.maintenance.test_maintenance import CHECKPOINT, small_log
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, remove, write

LEFT = [f".{name}.parquet.0123456789abcdef.tmp" for name in "abc"]
FEED = {"delta.enableChangeDataFeed": "true"}


def test_a_temporary_file_that_goes_meanwhile_is_left_out_and_the_others_are_listed() -> None:
    inner = new_store()
    for key in LEFT:
        inner.put(key, b"12")
    store = FaultyStore(inner)
    store.between = lambda number: inner.delete(LEFT[0]) if number == 1 else None
    found = leftovers(store)
    assert found.column("path").to_pylist() == LEFT[1:]
    assert found.schema.field("modified").type == pa.timestamp("ms", "UTC")


def test_what_is_in_a_folder_is_told_with_the_time_until_which_it_was_needed(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    metadata = msgspec.structs.replace(
        METADATA, configuration=FEED | {"delta.universalFormat.enabledFormats": "iceberg"}
    )
    gone = msgspec.structs.replace(remove("b"), deletion_timestamp=5_000)
    change = AddCDCFile(path="_change_data/c", partition_values={}, size=1)
    write(store, {0: [PROTOCOL, metadata, add("a"), add("b"), add("lost")], 1: [gone, change]})
    names = ("a", "b", "orphan", ".a.crc", ".b.crc", ".orphan.crc", ".none.crc", "_change_data/c", "metadata/x.json")
    for place, key in enumerate(names):
        store.put(key, b"x" * (place + 1))
        os.utime(tmp_path / "table" / key, (place + 1, place + 1))
    write(open_store(tmp_path / "table" / "inner"), {0: [PROTOCOL, METADATA]})
    os.utime(tmp_path / "table" / commit_name(1), (40, 40))
    look = explorer.open_table(tmp_path / "table").folder()
    assert {row["path"]: (row["state"], row["needed_until"], row["modified"]) for row in look.files.to_pylist()} == {
        "a": ("live", None, 1_000),
        ".a.crc": ("live", None, 4_000),
        "b": ("removed", 5_000, 2_000),
        ".b.crc": ("removed", 5_000, 5_000),
        "orphan": ("orphan", None, 3_000),
        ".orphan.crc": ("orphan", 3_000, 6_000),
        "_change_data/c": ("changes", 40_000, 8_000),
    }
    assert [row["size"] for row in look.files.to_pylist() if row["path"] == "b"] == [2]
    assert (look.missing, look.changes, look.other_tables) == (frozenset({"lost"}), {1: 40_000}, ("inner",))


def test_a_range_that_was_compacted_meanwhile_is_left_and_no_file_is_told() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan({"kind": "compact-log", "from": 0, "to": 2})
    assert table.commit(plan).plan.files[0].path == compaction_name(0, 2)
    again = explorer.Table(store)
    result = again.commit(plan)
    assert (result.outcome, result.plan.files) == ("committed", ())


def test_what_may_not_be_done_any_more_is_told_with_the_guards_of_now() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    later = msgspec.structs.replace(PROTOCOL, min_writer_version=7, writer_features=("zeta",))
    write(store, {4: [later]})
    result = table.commit(plan)
    assert result.outcome == "rejected"
    assert [(guard.name, guard.status) for guard in result.plan.guards] == [("protocol-allows-writer", "fail")]
    assert result.plan.read_version == 4


def test_what_a_person_accepted_stays_accepted_when_it_is_done() -> None:
    store = small_log(new_store())
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("b"), add("c"), add("d")], "classic")
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT, accept=["something-to-do"])
    assert table.commit(plan).plan.accepted == plan.accepted == ("something-to-do",)


def test_changes_count_as_old_once_the_commit_and_one_of_its_files_are(tmp_path: Path) -> None:
    root = tmp_path / "table"
    store = open_store(root)
    changes = {name: AddCDCFile(path=f"_change_data/{name}", partition_values={}, size=1) for name in "abcd"}
    actions = {1: [changes["a"], changes["b"]], 2: [changes["c"]], 3: [changes["d"]]}
    write(store, {0: [PROTOCOL, msgspec.structs.replace(METADATA, configuration=FEED)], **actions})
    for name, time in {"a": 70, "b": 60, "c": 50}.items():
        store.put(f"_change_data/{name}", b"x")
        os.utime(root / "_change_data" / name, (time, time))
    for version, time in {1: 10, 2: 80, 3: 90}.items():
        os.utime(root / commit_name(version), (time, time))
    look = explorer.open_table(root).folder()
    assert look.changes == {1: 60_000, 2: 80_000}


def test_a_table_that_begins_later_loses_its_versions_by_their_numbers() -> None:
    store = new_store()
    first = [PROTOCOL, METADATA, add("a")]
    write(store, {5: first})
    write_checkpoint(store, 5, first, "classic")
    write(store, {6: [remove("a"), add("b")], 7: [add("c")]})
    table = explorer.Table(store)
    for root in (table.location, f"{table.location}/"):
        found = vacuum_effects(root, table.history_record(), (), ["a", "b", "c"], ["a"])
        assert (found.lost, found.reasons) == ((5,), ("not needed since version 6",))
    gone_before = vacuum_effects(table.location, table.history_record(), (), ["b", "c"], ["b"])
    assert gone_before.lost == (6, 7)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ([3], "Version 3"),
        ([3, 4], "Versions 3 to 4"),
        ([0, 1, 2, 5], "Versions 0 to 2 and 5"),
        ([0, 2, 3, 4, 7], "Versions 0, 2 to 4 and 7"),
        ([1, 3, 5, 7, 8], "Versions 1, 3, 5 and 7 to 8"),
    ],
)
def test_versions_are_said_by_their_ranges(versions: list[int], said: str) -> None:
    assert versions_in_words(versions) == said
