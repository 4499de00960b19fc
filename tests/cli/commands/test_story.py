"""The story command: what each version did to a row, without Spark where the table is small."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from tests.cli.conftest import Call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    deltalake.write_deltalake(root, pa.table({"id": [1, 2], "name": ["a", "b"], "at": [1.5, None]}))
    written = deltalake.DeltaTable(root)
    written.update(predicate="id = 2", updates={"name": "'B'"})
    written.delete("id = 2")
    return root


def test_a_row_has_a_line_for_each_version_that_changed_it(cli: Call, table: Path) -> None:
    lines = cli("story", table, "--key", "id=2", "--json").lines()
    assert [(line["version"], line["kind"], line["changed"]) for line in lines] == [
        (0, "insert", []),
        (1, "update", ["name"]),
        (2, "delete", []),
    ]
    assert [[row["values"] for row in line["rows"]] for line in lines] == [
        [{"id": 2, "name": "b", "at": None}],
        [{"id": 2, "name": "B", "at": None}],
        [],
    ]
    assert [line["operation"] for line in lines] == ["WRITE", "UPDATE", "DELETE"]
    assert lines[0]["rows"][0]["path"].endswith(".parquet")
    assert lines[0]["rows"][0]["row"] == 1


def test_people_read_the_same(cli: Call, table: Path) -> None:
    shown = cli("story", table, "--key", "id=2", "--key", "at=", "--to", "1")
    assert shown.code != 0
    shown = cli("story", table, "--key", "id=2", "--to", "1").out
    assert "update" in shown
    assert "delete" not in shown
    assert "No row of versions 0 to 2 has this key." in cli("story", table, "--key", "id=9").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "either --key COLUMN=VALUE, or --row-id ID"),
        (("--key", "id=1", "--row-id", "0"), "either --key COLUMN=VALUE, or --row-id ID"),
        (("--key", "id"), "must be COLUMN=VALUE"),
        (("--key", "id=1", "--key", "id=2"), "each column once"),
        (("--key", "nope=1"), "There is no column 'nope'"),
        (("--key", "id=x"), "'x' is not a value of the column 'id'"),
        (("--row-id", "0"), "row tracking is off"),
        (("--key", "id=1", "--from", "2", "--to", "1"), "is reversed"),
    ],
)
def test_what_names_no_row_is_refused_in_words(cli: Call, table: Path, options: tuple[str, ...], words: str) -> None:
    refused = cli("story", table, *options)
    assert refused.code != 0
    assert words in refused.err


def test_a_dropped_column_is_named_once_however_many_versions_had_it(cli: Call, tmp_path: Path) -> None:
    root = tmp_path / "t"
    deltalake.write_deltalake(root, pa.table({"id": [1], "note": ["x"]}))
    for name in ("a", "b"):
        rows = pa.table({"id": [1], name: [1.0]})
        deltalake.write_deltalake(root, rows, mode="overwrite", schema_mode="overwrite")
    notes = cli("story", root, "--key", "id=1").err.splitlines()
    assert [each for each in notes if "note" in each] == ["The column note is not shown: version 2 has no such column."]
