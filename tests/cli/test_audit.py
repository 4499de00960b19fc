"""``audit``: a line a table, a broken one beside the others, and exit codes that a scheduled job can act on."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import explorer
from explorer.auditing.rules import RULES
from tests.cli.conftest import Call
from tests.support.hostile_tables import empty_table
from tests.support.shared_tables import REPOSITORY


def test_each_table_below_a_root_is_a_line_and_a_broken_one_stops_no_other(cli: Call, demo_warehouse: Path) -> None:
    result = cli("audit", demo_warehouse, "--json")
    lines = [json.loads(line) for line in result.out.splitlines()]
    names = [line["table"].rpartition("/")[2] for line in lines]
    assert (result.code, names) == (0, ["sensors-damaged", "customers", "ledger", "orders", "events"])
    (damaged,) = lines[0]["findings"]
    assert (damaged["id"], damaged["severity"], damaged["versions"]) == ("unreadable-log", "error", [[4, 4]])
    assert "00000000000000000004.json" in damaged["evidence"][0]["text"]
    orders = next(line for line in lines if line["table"].endswith("orders"))
    assert orders["basis"] == "log"
    lost = next(finding for finding in orders["findings"] if finding["id"] == "bulk-loss")
    assert "40,398 rows" in lost["title"]
    assert {evidence["version"] for evidence in lost["evidence"]} >= {30, 31}
    assert orders["verdict"].startswith("6 notes; the worst: ")
    asked = {finding["id"] for finding in orders["findings"]} | {each["id"] for each in orders["notAnswered"]}
    assert asked | set(orders["foundNothing"]) == {rule.id for rule in RULES}


def test_the_digest_is_that_of_the_rest(cli: Call, demo_warehouse: Path) -> None:
    document = json.loads(cli("audit", demo_warehouse / "crm" / "customers", "--json").out)
    digest = document.pop("digest")
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert hashlib.sha256(plain).hexdigest() == digest


def test_a_remedy_is_an_intent_that_plan_reads(cli: Call, demo_warehouse: Path) -> None:
    table = demo_warehouse / "sales" / "orders"
    findings = json.loads(cli("audit", table, "--json").out)["findings"]
    intents = [each["remedy"]["intent"] for each in findings if each["remedy"] and each["remedy"]["intent"]]
    assert intents
    for intent in intents:
        assert explorer.open_table(table).plan(intent, check_rows=False).guards, intent


def test_fail_on_a_severity(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    customers = demo_warehouse / "crm" / "customers"
    assert [cli("audit", customers, *wanted).code for wanted in ([], ["--fail-on", "warning"])] == [0, 1]
    assert cli("audit", customers, "--fail-on", "error").code == 0
    assert cli("audit", empty_table(tmp_path / "empty"), "--fail-on", "info").code == 0


def test_a_place_without_a_table_is_said(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    result = cli("audit", tmp_path / "nothing", empty_table(tmp_path / "empty"), "--json")
    assert (result.code, json.loads(result.err)["error"]) == (3, "TableNotFound")
    assert json.loads(result.out)["verdict"] == f"Nothing found by {len(RULES) - 8} rules. 8 rules have no answer."


def test_nothing_of_the_pages_is_needed(tmp_path: Path) -> None:
    program = "import sys; sys.modules['panel'] = None\nfrom explorer.cli import main\nmain()"
    arguments = [sys.executable, "-c", program, "audit", str(empty_table(tmp_path / "empty")), "--json"]
    completed = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert json.loads(completed.stdout)["version"] == 0
