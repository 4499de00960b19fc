"""What the commands print is what their records say: read by them and written again, it is the same."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.cli.app import command_group
from explorer.cli.output import encode
from explorer.report.case_file import CaseFile
from explorer.report.decoding import decode_report
from tests.cli.conftest import Call
from tests.cli.schemas import DOCUMENTS, FOLDER, schemas
from tests.support.at_least_one import at_least_one

RECORDS = {each.name: each.record for all_of in DOCUMENTS.values() for each in all_of}
RULES = """
[[tripwire]]
name = "a stranger wrote"
when = "new-author"
"""
INTENT = '{"kind": "set-description", "description": "x"}'


def test_the_schemas_are_those_of_the_records() -> None:
    assert {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")} == schemas(), (
        "run python -m tests.cli.schemas"
    )


def test_every_command_says_what_it_prints() -> None:
    assert list(DOCUMENTS) == list(command_group().commands)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("snapshot", ("snapshot", "sales/orders")),
        ("columns", ("columns", "crm/customers")),
        ("files", ("files", "sales/orders", "--limit", 30)),
        ("deletion-vectors", ("deletion-vectors", "sales/orders")),
        ("statistics", ("statistics", "sales/orders", "--limit", 9)),
        ("statistics-summary", ("statistics", "sales/orders", "--summary")),
        ("history", ("history", "sales/orders")),
        ("history", ("history", "sales/orders", "--no-totals")),
        ("diff", ("diff", "sales/orders", 14, 21)),
        ("retention", ("retention", "web/events")),
        ("retention-what-if", ("retention", "web/events", "--what-if", "0 days")),
        ("compatibility", ("compatibility", "sales/orders")),
        ("verify", ("verify", "sales/orders")),
        ("audit", ("audit", "sales/orders")),
        ("audit-report", ("audit", "sales/orders", "--details")),
        ("blame", ("blame", "sales/orders", "--all")),
        ("blame", ("blame", "sales/orders")),
        ("plan", ("plan", "sales/orders", INTENT)),
        ("plan", ("plan", "sales/orders", '{"kind": "checkpoint"}')),
        ("tripwires-try", ("tripwires", "sales/orders", "--try", "9000 days")),
    ],
)
def test_what_is_printed_is_read_by_its_record_and_written_again(
    name: str, arguments: tuple[Any, ...], cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    more = ["--rules", tmp_path / "rules.toml"] if arguments[0] == "tripwires" else []
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    result = cli(arguments[0], demo_warehouse / arguments[1], *arguments[2:], *more, "--json")
    assert result.out
    for line in at_least_one(result.out.splitlines()):
        assert ordered(encode(msgspec.json.decode(line, type=RECORDS[name]))) == ordered(line)


def test_the_clients_that_you_use_are_fields_of_the_record(
    cli: Call, demo_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELTA_EXPLORER_CLIENTS", "")
    (tmp_path / "clients.toml").write_text('[[client]]\nname = "delta-rs"\nversion = "0.18"\n', encoding="utf-8")
    result = cli("compatibility", demo_warehouse / "sales/orders", "--clients", tmp_path / "clients.toml", "--json")
    for line in at_least_one(result.out.splitlines()):
        assert "owner" in json.loads(line)
        assert ordered(encode(msgspec.json.decode(line, type=RECORDS["compatibility"]))) == ordered(line)


def test_pins_and_reports_that_were_written_are_read_again(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    table, case = demo_warehouse / "sales/orders", tmp_path / "case.json"
    (tmp_path / "plan.json").write_text(cli("plan", table, INTENT, "--json").out, encoding="utf-8")
    printed = cli("pin", case, table, "--plan", tmp_path / "plan.json", "--json")
    assert printed.err == ""
    assert ordered(encode(msgspec.json.decode(case.read_bytes(), type=CaseFile))) == ordered(printed.out)
    report = cli("audit", table, "--case", case, "--json").out
    assert ordered(encode(decode_report(report))) == ordered(report)
    (plan,) = json.loads(report)["case"]["pins"]
    assert (plan["kind"], plan["holds"]) == ("plan", True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{}", "required field `table`"),
        (b"[]", "expected `object`, got `array`"),
        (b'{"table": "', "truncated"),
        (b"\xff", "malformed"),
        (b'{"table": 5}', "Expected `str`, got `int` - at `$.table`"),
    ],
)
def test_a_plan_that_is_not_one_is_refused_with_its_file_and_its_field(
    content: bytes, reason: str, cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(content)
    error = cli("pin", tmp_path / "case.json", demo_warehouse / "sales/orders", "--plan", plan, "--json").error()
    assert (error["error"], error["path"]) == ("RequestError", str(plan))
    assert reason.lower() in error["reason"].lower()
    assert error["message"].endswith("Write it again with plan --json.")
    assert not (tmp_path / "case.json").exists()


def test_a_plan_with_a_wrong_guard_or_an_unknown_field_is_refused(
    cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    table, file = demo_warehouse / "sales/orders", tmp_path / "plan.json"
    plan = cli("plan", table, INTENT, "--json").document()
    for wrong in at_least_one(changed(plan)):
        file.write_text(json.dumps(wrong), encoding="utf-8")
        error = cli("pin", tmp_path / "case.json", table, "--plan", file, "--json").error()
        assert (error["error"], error["path"]) == ("RequestError", str(file))


def changed(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan | {"guards": [{"name": "a", "status": "perhaps", "evidence": {}, "remedy": None}]}
    yield plan | {"more": 1}
    yield plan | {"readVersion": "3"}
    yield {name: value for name, value in plan.items() if name != "planDigest"}


def test_a_record_of_audits_with_a_document_of_another_form_is_refused_with_its_line(
    cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    file = tmp_path / "audits.jsonl"
    table = demo_warehouse / "sales/orders"
    assert cli("audit", table, "--resume", file, "--processes", 1, "--json").code == 0
    line = json.loads(file.read_text(encoding="utf-8"))
    for field, value in (("findings", "none"), ("time", "yesterday"), ("version", None)):
        wrong = line | {"document": line["document"] | {field: value}}
        file.write_text(json.dumps(line) + "\n" + json.dumps(wrong) + "\n", encoding="utf-8")
        error = cli("audit", table, "--resume", file, "--processes", 1, "--json").error()
        assert (error["error"], error["path"], error["position"]) == ("RequestError", str(file), 2)


def ordered(text: bytes | str) -> Any:
    """JSON with the order of its fields, in which decimals are equal to the numbers that they are."""
    return json.loads(text, object_pairs_hook=list, parse_float=Decimal)
