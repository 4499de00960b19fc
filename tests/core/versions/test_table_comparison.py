"""Two tables side by side: a table is like itself, others differ as other readers see them, and steps align them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Metadata, Protocol
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, metadata, write_log
from tests.support.shared_tables import golden_root

PAIRS = (
    ("dat__cdf", "dat__with_checkpoint"),
    ("dat__with_checkpoint", "dat__with_schema_change"),
    ("dat__no_stats", "dat__stats_as_struct"),
    ("dat__nested_types", "dat__all_primitive_types"),
    ("dat__partitioned_with_null", "dat__no_replay"),
)
"""Golden tables that deltalake reads, two and two."""


@pytest.mark.golden
def test_every_golden_table_is_like_itself() -> None:
    compared = 0
    for folder in at_least_one(sorted({path.parent for path in (golden_root() / "tables").glob("*/_delta_log")})):
        try:
            table = explorer.open_table(folder)
            table.snapshot()
        except ExplorerError:
            continue
        found = table.compare(explorer.open_table(folder))
        assert (found.differences, found.differing_amounts, found.differing_bounds) == ((), (), ()), folder.name
        assert table.alignment(explorer.open_table(folder)) == (), folder.name
        compared += 1
    assert compared > 100


@pytest.mark.golden
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_columns_types_partitions_and_files_that_differ_are_those_that_deltalake_sees(pair: tuple[str, str]) -> None:
    folders = [golden_root() / "tables" / name for name in pair]
    ours = [explorer.open_table(folder) for folder in folders]
    theirs = [DeltaTable(folder) for folder in folders]
    found = ours[0].compare(ours[1])
    present = [each for each in found.differences if each.aspect == "column" and each.what == "presence"]
    columns = {each.name: (each.first is None, each.second is None) for each in present if "." not in each.name}
    names = [{field.name for field in table.schema().fields} for table in theirs]
    assert {name for name, sides in columns.items() if sides == (False, True)} == names[0] - names[1]
    assert {name for name, sides in columns.items() if sides == (True, False)} == names[1] - names[0]
    partitions = [table.metadata().partition_columns for table in theirs]
    assert ("partitioning" in {each.aspect for each in found.differences}) == (partitions[0] != partitions[1])
    files = next(pair for pair in found.amounts if pair.name == "files")
    assert [files.first, files.second] == [len(table.file_uris()) for table in theirs]


def _table(folder: Path, columns: dict[str, str], configuration: dict[str, str] | None = None, **more: Any) -> Path:
    protocol = Protocol(min_reader_version=1, min_writer_version=3)
    write_log(folder, [[protocol, metadata(columns, configuration=configuration, **more)]])
    return folder


def _aligned(model: Path, changed: Path) -> list[str]:
    """Commit every step on the changed table; returns why others are none."""
    one, two = explorer.open_table(model), explorer.open_table(changed)
    left = []
    for step in one.alignment(two):
        if step.intent is None:
            left.append(step.why_not)
            continue
        # The tables are empty, so that there is no row to check.
        plan = two.plan(step.intent, check_rows=False, accept=("existing-rows",))
        assert plan.committable, (step.intent, [guard for guard in plan.guards if guard.status != "pass"])
        assert two.commit(plan, reason="as the other table").outcome == "committed"
        two = explorer.open_table(changed)
    return left


def test_the_steps_make_a_table_that_deltalake_reads_like_the_other(tmp_path: Path) -> None:
    model = _table(
        tmp_path / "model",
        {"id": "long", "name": "string", "amount": "decimal(12,2)", "place": "string"},
        {"delta.constraints.positive": "amount > 0", "delta.appendOnly": "false", "team": "sales"},
        comment="what was sold",
    )
    changed = _table(
        tmp_path / "changed",
        {"place": "string", "id": "long", "name": "string"},
        {"delta.constraints.named": "name <> ''", "delta.logRetentionDuration": "interval 3 days"},
    )
    assert _aligned(model, changed) == []
    found = explorer.open_table(model).compare(explorer.open_table(changed))
    assert found.same_definition, found.differences
    one, two = DeltaTable(model), DeltaTable(changed)
    assert json.loads(one.schema().to_json()) == json.loads(two.schema().to_json())
    assert one.metadata().configuration == two.metadata().configuration
    assert one.metadata().description == two.metadata().description


def test_what_no_change_can_do_is_said_and_the_rest_is_planned(tmp_path: Path) -> None:
    model = _table(tmp_path / "model", {"id": "integer", "day": "date"}, partition_columns=("day",))
    changed = _table(tmp_path / "changed", {"id": "string", "day": "date"})
    left = _aligned(model, changed)
    assert len(left) == 2
    assert any("partitioned by day" in why for why in left)
    assert any("id cannot become integer from string" in why for why in left)
    assert {each.aspect for each in explorer.open_table(model).compare(explorer.open_table(changed)).differences} >= {
        "partitioning", "column",
    }  # fmt: skip


def test_tables_without_a_common_column_and_with_hostile_names_are_compared(tmp_path: Path) -> None:
    hostile = '<img src=x onerror="alert(1)">'
    one = _table(tmp_path / "one", {hostile: "string"})
    two = _table(tmp_path / "two", {"=cmd()": "long"})
    found = explorer.open_table(one).compare(explorer.open_table(two))
    assert found.columns_shared == 0
    assert {(each.name, each.first, each.second) for each in found.differences if each.aspect == "column"} == {
        (f"`{hostile}`", "string", None),
        ("`=cmd()`", None, "long"),
    }


def test_bounds_and_counts_that_differ_are_named(tmp_path: Path) -> None:
    for name, high, records in (("one", 9, 4), ("two", 12, 4)):
        file = add(f"{name}.parquet", records, bounds={"id": (1, high)}, size=100 + high)
        write_log(tmp_path / name, [[PROTOCOL, METADATA, file]])
    found = explorer.open_table(tmp_path / "one").compare(explorer.open_table(tmp_path / "two"))
    assert [pair.name for pair in found.differing_amounts] == ["bytes"]
    (bounds,) = found.differing_bounds
    assert bounds.first is not None
    assert bounds.second is not None
    assert (bounds.first.max, bounds.second.max) == (9, 12)


def test_a_column_that_a_copy_renamed_is_one_column(tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}

    def schema(name: str) -> str:
        marks = {
            "delta.columnMapping.id": 1,
            "delta.columnMapping.physicalName": "col-5f422f40-de70-45b2-88ab-1d5c90e9",
        }
        field = {"name": name, "type": "long", "nullable": True, "metadata": marks}
        return json.dumps({"type": "struct", "fields": [field]})

    for folder, name in (("one", "customer"), ("two", "client")):
        protocol = Protocol(min_reader_version=2, min_writer_version=5)
        action = Metadata(id=METADATA.id, schema_string=schema(name), configuration=mapped)
        write_log(tmp_path / folder, [[protocol, action]])
    found = explorer.open_table(tmp_path / "one").compare(explorer.open_table(tmp_path / "two"))
    assert [(each.what, each.first, each.second) for each in found.differences] == [("name", "customer", "client")]
    assert _aligned(tmp_path / "one", tmp_path / "two") == []
    assert explorer.open_table(tmp_path / "two").snapshot().schema.fields[0].name == "customer"
