"""``compare``: the document, the steps and their plans, and what is refused."""

from __future__ import annotations

from pathlib import Path

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
