"""``erasure``: the document by its contract, the statement beside it, and exit codes."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Call
from tests.support.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["ana", "\x1b[31mben", "ana"]})
    fields = [column("id", "long"), column("name", "string")]
    return write_table(tmp_path / "people", fields, [DataFile("a.parquet", rows, masked=[2])])


def test_each_predicate_is_a_line_with_its_digest(cli: Call, people: Path) -> None:
    lines = cli("erasure", people, "--where", "name = 'ana'", "--where", "id = 9", "--json").lines()
    assert [line["where"] for line in lines] == ["name = 'ana'", "id = 9"]
    assert [line["totals"] for line in lines] == [
        {"live": 1, "masked": 1, "history": 0, "feed": 0, "orphan": 0},
        {"live": 0, "masked": 0, "history": 0, "feed": 0, "orphan": 0},
    ]
    (live, masked) = lines[0]["places"]
    assert (live["path"], live["state"], live["rows"], live["fromVersion"]) == ("a.parquet", "live", 1, 0)
    assert (masked["state"], masked["goneFrom"]) == ("masked", live["goneFrom"])
    assert lines[0]["steps"][0]["intent"] == {"kind": "delete", "where": "name = 'ana'"}
    assert (lines[1]["mayClaimErased"], lines[1]["why"], lines[1]["steps"]) == (True, [], [])
    for line in lines:
        digest = line.pop("digest")
        plain = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(plain).hexdigest() == digest


def test_people_get_places_and_steps_and_a_statement(cli: Call, people: Path, tmp_path: Path) -> None:
    target = tmp_path / "statement.json"
    result = cli("erasure", people, "--where", "name LIKE '%ben'", "--statement", target)
    assert result.code == 0
    assert "a.parquet" in result.out
    assert "Nobody may say yet that they are erased" in result.err
    assert "\x1b" not in result.out + result.err
    statement = json.loads(target.read_text())
    assert (statement["erased"], statement["totals"]["live"]) == (False, 1)
    assert [(file["path"], file["rows"]) for file in statement["read"]["files"]] == [("a.parquet", 3)]


def test_faults_of_the_request_exit_with_2(cli: Call, people: Path, tmp_path: Path) -> None:
    assert cli("erasure", people, "--where", "nme = 'ana'", "--json").error()["nearest"] == ["name", "id"]
    both = cli("erasure", people, "--where", "id = 1", "--where", "id = 2", "--statement", tmp_path / "s.json")
    assert (both.code, cli("erasure", people).code) == (2, 2)
    assert cli("erasure", tmp_path, "--where", "id = 1").code == 3
