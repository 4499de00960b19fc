"""``compare``: the document, the steps and their plans, and what is refused."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

import explorer
from tests.cli.conftest import Call
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log


def _tables(root: Path) -> tuple[Path, Path]:
    first = [PROTOCOL, metadata({"id": "long", "name": "string"}, configuration={"team": "sales"})]
    second = [PROTOCOL, metadata({"id": "long", "day": "date"}, partition_columns=("day",))]
    write_log(root / "first", [[*first, add("a.parquet", 3, bounds={"id": (1, 3)})]])
    write_log(root / "second", [second])
    return root / "first", root / "second"


def test_two_tables_are_one_document_with_differences_amounts_and_planned_steps(cli: Call, tmp_path: Path) -> None:
    first, second = _tables(tmp_path)
    document = cli("compare", first, second, "--intents", "--json").document()
    assert document["sameDefinition"] is False
    assert {(each["aspect"], each["name"]) for each in document["differences"]} == {
        ("column", "name"), ("column", "day"), ("property", "team"), ("partitioning", "columns"),
    }  # fmt: skip
    amounts = {each["name"]: (each["first"], each["second"]) for each in document["amounts"]}
    assert amounts["live rows"] == (3, 0)
    assert amounts["files"] == (1, 0)
    plans = {step["intent"]["kind"] if step["intent"] else "none": step["plan"] for step in document["steps"]}
    assert plans == {
        "drop-columns": "guards", "set-properties": "committable", "add-columns": "committable", "none": None,
    }  # fmt: skip
    assert document["rows"] is None
    # Nothing was written.
    assert [path.name for path in (second / "_delta_log").iterdir()] == ["00000000000000000000.json"]


def test_a_table_and_itself_have_the_same_definition_for_people(cli: Call, tmp_path: Path) -> None:
    first, _ = _tables(tmp_path)
    result = cli("compare", first, first)
    assert result.code == 0
    assert "The two tables have the same definition." in result.out


def test_keys_without_rows_and_a_table_that_is_not_there_are_refused(cli: Call, tmp_path: Path) -> None:
    first, second = _tables(tmp_path)
    assert "Add --rows" in cli("compare", first, second, "--key", "id", "--json").error()["message"]
    error = cli("compare", first, tmp_path / "absent", "--json").error()
    assert error["error"] == "TableNotFound"
    assert "absent" in error["message"]


def _daily(folder: Path) -> datetime:
    """Write a table with a commit a day, and return the time of its version 1."""
    start = [PROTOCOL, metadata({"id": "long"})]
    write_log(folder, [start, [add("a", 3)], [add("b", 4)]])
    begun = datetime(2026, 3, 2, tzinfo=UTC)
    for version in range(3):
        moment = (begun + timedelta(days=version)).timestamp()
        os.utime(folder / "_delta_log" / f"{version:020}.json", (moment, moment))
    return begun + timedelta(days=1)


def test_versions_to_compare_are_named_by_times_too(cli: Call, tmp_path: Path) -> None:
    moment = _daily(tmp_path / "t")
    ends = ("--version", f"{moment:%Y-%m-%dT%H:%M:%SZ}", "--other-version", "v0")
    document = cli("compare", tmp_path / "t", tmp_path / "t", *ends, "--json").document()
    assert (document["version"], document["otherVersion"]) == (1, 0)
    refused = cli("compare", tmp_path / "t", tmp_path / "t", "--other-version", "soonish")
    assert refused.code == 2
    assert "neither a version" in refused.err


def test_a_commit_to_undo_is_named_by_a_time_too(cli: Call, tmp_path: Path) -> None:
    moment = _daily(tmp_path / "t")
    result = cli("undo", tmp_path / "t", f"{moment:%Y-%m-%dT%H:%M:%SZ}", "--no-check-rows")
    assert "Undo version 1" in result.out


def test_python_compares_two_tables_as_the_command_does(cli: Call, tmp_path: Path) -> None:
    first, second = _tables(tmp_path)
    document = cli("compare", first, second, "--json").document()
    for found in (
        explorer.compare(first, str(second)),
        explorer.compare(explorer.open_table(first), explorer.open_table(second), version=0, second_version=0),
    ):
        assert found.same_definition is document["sameDefinition"]
        assert json.loads(msgspec.json.encode(found.differences)) == document["differences"]
        amounts = [{"name": pair.name, "first": pair.first, "second": pair.second} for pair in found.amounts]
        assert amounts == document["amounts"]
    with pytest.raises(explorer.RequestError) as caught:
        explorer.compare(first, second, second_version=7)
    assert str(caught.value.table).endswith("second")
