"""``erasure``: the document by its contract, the statement beside it, and exit codes."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import explorer
from tests.cli.conftest import Call
from tests.support.logs.spark_tables import DataFile, column, write_table

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


def test_where_values_match_by_more_than_comparisons_nobody_may_say_that_none_is_left(cli: Call, people: Path) -> None:
    """The log keeps the bounds of rows that are gone, and a condition that nobody can hold against them is open."""
    asked = ["name = 'zoe'", "name LIKE 'z%'", "lower(name) = 'zoe'", "id = 9", "id > 9", "id + 1 > 9"]
    lines = cli("erasure", people, *(part for where in asked for part in ("--where", where)), "--json").lines()
    assert [line["mayClaimErased"] for line in lines] == [True, True, False, True, True, False]
    assert [sum("no bounds" in text for text in line["notRead"]) for line in lines] == [0, 1, 1, 0, 1, 1]
    for line in (lines[2], lines[5]):
        assert [each["path"] for each in line["notAnswered"]] == ["_delta_log"]
        assert "without being equal to one" in line["notAnswered"][0]["reason"]


def test_people_get_places_and_steps_and_a_statement(cli: Call, people: Path, tmp_path: Path) -> None:
    target = tmp_path / "statement.json"
    result = cli("erasure", people, "--where", "name LIKE '%ben'", "--statement", target)
    assert result.code == 0
    assert "a.parquet" in result.out
    assert "Not erased yet" in result.err
    assert "\x1b" not in result.out + result.err
    statement = json.loads(target.read_text())
    assert (statement["erased"], statement["totals"]["live"]) == (False, 1)
    assert [(file["path"], file["rows"]) for file in statement["read"]["files"]] == [("a.parquet", 3)]
    assert "\x1b" not in cli("verify-report", target).err


def test_a_place_of_one_version_is_told_with_that_version_alone(cli: Call, people: Path) -> None:
    table = explorer.open_table(people)
    table.commit(table.plan({"kind": "delete", "where": "true"}))
    out = cli("erasure", people, "--where", "name = 'ana'").out
    assert "v0 to v0" not in out
    assert " v0 " in out


def test_a_signed_statement_is_verified_and_names_tables_beside_it(cli: Call, people: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "orders", [column("Name", "string")], [DataFile("o.parquet", pa.table({"Name": ["ana"]}))])
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    key, public = tmp_path / "key", tmp_path / "key.pub"
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public.write_bytes(private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" ana@example\n")
    html, line = tmp_path / "s.html", tmp_path / "s.json"
    stated = cli(
        "erasure", people, "--where", "name = 'ana'", "--beside", tmp_path, "--html", html, "--statement", line,
        "--sign", key, "--request", "2026-118", "--user", "ana", "--json",
    )  # fmt: skip
    assert stated.code == 0
    (document,) = map(json.loads, stated.out.splitlines())
    assert [(each["table"], each["columns"]) for each in document["elsewhere"]] == [
        (f"file://{tmp_path}/orders", ["Name"])
    ]
    for file in (html, line):
        verified = cli("verify-report", file, "--key", public, "--json").document()
        assert (verified["valid"], verified["signer"], verified["trusted"]) == (True, "ana@example", True)
    changed = html.read_text().replace("request 2026-118", "request 2026-119", 1)
    html.write_text(changed)
    refused = cli("verify-report", html, "--key", public, "--json")
    assert refused.code == 1
    assert {each["part"] for each in json.loads(refused.out)["differences"]} == {"text", "signature"}
    again = cli("erasure", people, "--where", "name = 'ana'", "--statement", tmp_path / "n.json", "--since", line)
    assert (again.code, json.loads((tmp_path / "n.json").read_text())["since"]["leftFiles"]) == (0, 1)
    assert cli("erasure", people, "--where", "id = 1", "--statement", line, "--since", line).code == 2


def test_faults_of_the_request_exit_with_2(cli: Call, people: Path, tmp_path: Path) -> None:
    assert cli("erasure", people, "--where", "nme = 'ana'", "--json").error()["nearest"] == ["name", "id"]
    both = cli("erasure", people, "--where", "id = 1", "--where", "id = 2", "--statement", tmp_path / "s.json")
    assert (both.code, cli("erasure", people).code) == (2, 2)
    assert cli("erasure", people, "--where", "id = 1", "--request", "a").code == 2
    assert cli("erasure", people, "--where", "id = 1", "--beside", tmp_path / "none").code == 3
    assert cli("erasure", tmp_path, "--where", "id = 1").code == 3
