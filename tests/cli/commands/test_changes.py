"""``changes``: the recorded feed in every format, what is refused, what was inferred or left out is said."""

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.row_content import content_hash
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

FEED = "change-feed"
TIME = "_commit_timestamp"


def _table(name: str = FEED) -> Path:
    return (reference_root() / "tables" / name).resolve()


@pytest.mark.spark
def test_parquet_output_is_the_feed_of_the_reference(cli: Call, tmp_path: Path) -> None:
    meant = next(c for c in expected(reference_root())[FEED]["changes"] if (c["from"], c["to"]) == (2, 10))
    output = tmp_path / "out.parquet"
    told = cli("changes", _table(), "--from", 2, "--to", 10, "--output", output, "--json").document()
    assert told == {
        "output": str(output),
        "rows": 24,
        "table": _table().as_uri(),
        "fromVersion": 2,
        "toVersion": 10,
        "inferredVersions": [],
        "skipped": [],
    }
    found = pq.read_table(output)
    assert found.schema.field("_commit_timestamp").type == pa.timestamp("us", "UTC")
    assert content_hash(found.drop_columns(["_commit_timestamp"])) == meant["content_hash"]


@pytest.mark.spark
def test_json_lines_hold_the_columns_in_order(cli: Call) -> None:
    lines = cli("changes", _table(), "--from", 4, "--to", 6, "--json").lines()
    assert len(lines) == 8
    columns = ["id", "v", "p", "_change_type", "_commit_version", "_commit_timestamp"]
    assert all(list(line) == columns for line in lines)
    assert {line["_commit_version"] for line in lines} == {4, 5, 6}
    assert len(cli("changes", _table(), "--from", 4, "--to", 6, "--limit", 3, "--json").lines()) == 3


@pytest.mark.spark
@pytest.mark.parametrize("inferred", [False, True])
def test_dots_and_backticks_are_part_of_the_name_of_a_column(cli: Call, tmp_path: Path, inferred: bool) -> None:
    table, output = tmp_path / "table", tmp_path / "out.parquet"
    feed = {"delta.enableChangeDataFeed": "true"}
    deltalake.write_deltalake(table, pa.table({"a.b": [1, 2], "c`d": ["x", "y"]}), configuration=feed)
    deltalake.DeltaTable(table).delete('"a.b" = 2')
    recorded = pa.table(deltalake.DeltaTable(table).load_cdf(starting_version=0).read_all()).drop_columns(TIME)
    meant = sorted(recorded.to_pylist(), key=str)
    options = ("--from", 0, *(["--inferred", "--key", "a.b"] if inferred else []))
    lines = cli("changes", table, *options, "--json").lines()
    assert sorted(({name: line[name] for name in recorded.column_names} for line in lines), key=str) == meant
    assert cli("changes", table, *options, "--output", output).code == 0
    assert sorted(pq.read_table(output).drop_columns(TIME).to_pylist(), key=str) == meant


@pytest.mark.spark
def test_what_was_inferred_or_left_out_is_said_beside_the_rows(cli: Call) -> None:
    result = cli("changes", _table(), "--from", 2, "--skip-holes", "--json")
    assert result.code == 0
    doubts = json.loads(result.err)
    assert [(hole["kind"], hole["fromVersion"]) for hole in doubts["skipped"]] == [("off", 11), ("schema", 15)]
    shown = cli("changes", _table("copy-on-write"), "--from", 1, "--to", 2, "--inferred", "--limit", 2)
    assert shown.code == 0
    assert "Inferred from files, not recorded: versions" in shown.err
    assert "_change_type" in shown.out


@pytest.mark.spark
def test_a_range_before_a_change_of_the_schema_is_read_with_its_own(cli: Call, tmp_path: Path) -> None:
    """The rows are those that the reference's own commands wrote and deleted in versions 16 and 17."""
    asked = ("changes", _table(), "--from", 15, "--to", 17)
    refused = cli(*asked, "--json").error()
    assert refused["error"] == "ChangeFeedGap"
    assert "--schema-version" in refused["message"]
    lines = cli(*asked, "--schema-version", 17, "--json").lines()
    assert [(line["id"], line["v"]) for line in lines if line["_change_type"] == "insert"] == [(3, "w")]
    assert sorted((line["_change_type"], line["_commit_version"]) for line in lines) == [("delete", 17)] * 3 + [
        ("insert", 16)
    ]
    shown = cli(*asked, "--schema-version", 17)
    assert "All 4 changes of versions 15 to 17." in shown.err
    output = tmp_path / "out.parquet"
    assert cli(*asked, "--schema-version", 17, "--output", output, "--json").document()["rows"] == 4
    assert cli(*asked, "--schema-version", 99, "--json").error()["error"] == "VersionNotFound"


@pytest.mark.whole("tests/spark/changes/test_inferred_changes.py")
@pytest.mark.spark
def test_inferred_updates_are_paired_by_key_in_every_format(cli: Call, tmp_path: Path) -> None:
    asked = ("changes", _table(), "--from", 12, "--to", 12, "--inferred")
    apart = [json.loads(line) for line in cli(*asked, "--json").out.splitlines()]
    assert {line["_change_type"] for line in apart} == {"delete", "insert"}
    paired = [json.loads(line) for line in cli(*asked, "--key", "id", "--json").out.splitlines()]
    assert [line["_change_type"] for line in paired] == ["update_preimage", "update_postimage"] * (len(apart) // 2)
    assert [line["id"] for line in paired[::2]] == [line["id"] for line in paired[1::2]]
    assert cli(*asked, "--key", "id", "--output", tmp_path / "out.parquet", "--json").document()["rows"] == len(paired)
    assert pq.read_table(tmp_path / "out.parquet").column("_change_type").to_pylist() == [
        line["_change_type"] for line in paired
    ]
    shown = cli(*asked, "--key", "id")
    assert "only rewritten: in another file now, with the same values" in shown.err
    assert cli(*asked, "--key", "nope", "--json").error()["error"] == "RequestError"


def test_holes_and_bad_requests_end_before_spark_starts(cli: Call, tmp_path: Path) -> None:
    hole = cli("changes", _table(), "--from", 2, "--json")
    assert (hole.code, hole.error()["error"]) == (2, "ChangeFeedGap")
    assert hole.error()["version"] == 11
    assert cli("changes", _table(), "--from", 9, "--to", 3, "--json").error()["error"] == "RequestError"
    assert cli("changes", _table(), "--from", 99, "--json").error()["error"] in ("VersionNotFound", "RequestError")
    assert cli("changes", _table(), "--json").code == 2
    assert cli("changes", _table(), "--from", 2, "--output", tmp_path / "out.xlsx", "--json").code == 2


def test_a_condition_leaves_the_changes_that_meet_it(cli: Call) -> None:
    everything = cli("changes", _table(), "--from", 2, "--to", 10, "--json").lines()
    some = cli("changes", _table(), "--from", 2, "--to", 10, "--where", "id > 3", "--json").lines()
    wanted = [row for row in everything if row["id"] is not None and row["id"] > 3]
    assert some == wanted
    assert 0 < len(some) < len(everything)


def test_a_rename_ends_a_range_unless_it_is_to_be_read_across(cli: Call) -> None:
    range_ = (
        "changes",
        _table("column-mapping"),
        "--from",
        1,
        "--to",
        9,
        "--schema-version",
        9,
        "--inferred",
        "--json",
    )
    assert cli(*range_).error()["error"] == "ChangeFeedGap"
    result = cli(*range_, "--across-renames")
    assert result.code == 0
    assert result.out
