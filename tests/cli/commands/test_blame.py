"""The blame command: since when, by whom and why; a line a change in JSON."""

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from tests.cli.conftest import Call
from tests.support.logs.small_logs import PROTOCOL, write_log
from tests.support.shared_tables import reference_root

FIELDS = [
    "version",
    "timestamp",
    "kind",
    "name",
    "before",
    "after",
    "userName",
    "operation",
    "reason",
    "engineInfo",
    "initial",
    "known",
    "current",
    "currentName",
]

pytestmark = pytest.mark.reference


def test_a_column_has_a_line_for_each_change_newest_first(cli: Call) -> None:
    lines = cli("blame", reference_root() / "tables" / "column-mapping", "s.alpha", "--json").lines()
    assert [list(line) for line in lines] == [FIELDS, FIELDS]
    assert [(line["version"], line["kind"], line["before"]) for line in lines] == [
        (5, "name", "s.a"),
        (0, "column", None),
    ]
    assert {line["currentName"] for line in lines} == {"s.alpha"}
    assert lines[0]["engineInfo"].startswith("Apache-Spark/")


def test_options_look_among_all_changes(cli: Call) -> None:
    root = reference_root() / "tables" / "column-mapping"
    lines = cli("blame", root, "--operation", "rename column", "--text", "TITLE", "--json").lines()
    assert [(line["version"], line["name"], line["current"]) for line in lines] == [(4, "title", None)]
    assert cli("blame", root, "--since", "2999-01-01", "--json").lines() == []
    assert "No change was found." in cli("blame", root, "--by", "nobody").out


def test_a_table_of_which_no_change_is_known_has_none(cli: Call, tmp_path: Path) -> None:
    write_log(tmp_path / "t", [[PROTOCOL]])
    for number in range(2):
        deltalake.write_deltalake(tmp_path / "d", pa.table({"x": [number]}), mode="append")
    deltalake.DeltaTable(tmp_path / "d").create_checkpoint()
    for commit in (tmp_path / "d" / "_delta_log").glob("*.json"):
        commit.unlink()
    assert cli("history", tmp_path / "d", "--by", "ana", "--json").lines() == []
    assert cli("history", tmp_path / "d", "--since", "2020-01-01", "--json").lines() == []
    assert cli("blame", tmp_path / "t", "--json").lines() == []


def test_an_unknown_start_is_said_and_nobody_is_named(cli: Call) -> None:
    assert "before v6: unknown" in cli("blame", reference_root() / "tables" / "log-cleanup").out


def test_an_unknown_name_is_refused_with_the_nearest(cli: Call) -> None:
    result = cli("blame", reference_root() / "tables" / "column-mapping", "titel", "--json")
    assert (result.code, result.error()["error"], result.error()["nearest"]) == (2, "RequestError", ["title"])


def test_what_is_no_date_is_refused(cli: Call) -> None:
    assert cli("blame", reference_root() / "tables" / "properties", "--since", "soon", "--json").code == 2
