"""``audit``: a line a table, a broken one beside the others, and exit codes that a scheduled job can act on."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, PublicFormat

import explorer
from explorer.auditing.rules import RULES
from tests.cli.conftest import Call
from tests.support.logs.hostile_tables import empty_table
from tests.support.shared_tables import REPOSITORY


def test_each_table_below_a_root_is_a_line_and_a_broken_one_stops_no_other(cli: Call, demo_warehouse: Path) -> None:
    result = cli("audit", demo_warehouse, "--json")
    lines = [json.loads(line) for line in result.out.splitlines()]
    names = [line["table"].rpartition("/")[2] for line in lines]
    assert (result.code, names) == (0, ["sensors-damaged", "customers", "invoices", "ledger", "orders", "events"])
    (damaged,) = lines[0]["findings"]
    assert (damaged["id"], damaged["severity"], damaged["versions"]) == ("unreadable-log", "error", [[4, 4]])
    assert "00000000000000000004.json" in damaged["evidence"][0]["text"]
    orders = next(line for line in lines if line["table"].endswith("orders"))
    assert orders["basis"] == "log"
    lost = next(finding for finding in orders["findings"] if finding["id"] == "bulk-loss")
    assert "40,398 rows" in lost["title"]
    assert {evidence["version"] for evidence in lost["evidence"]} >= {30, 31}
    assert orders["verdict"].startswith("6 notes; most severe: ")
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
    assert json.loads(result.out)["verdict"] == f"{len(RULES) - 10} rules passed. 10 rules were not checked."


def test_nothing_of_the_pages_is_needed(tmp_path: Path) -> None:
    program = "import sys; sys.modules['panel'] = None\nfrom explorer.cli import main\nmain()"
    report = tmp_path / "report.html"
    table = str(empty_table(tmp_path / "empty"))
    arguments = [sys.executable, "-c", program, "audit", table, "--json", "--html", str(report)]
    completed = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    document = json.loads(completed.stdout)
    assert (document["version"], document["digest"] in report.read_text()) == (0, True)


def _keys(folder: Path) -> tuple[Path, Path]:
    """A key with a passphrase, and its public half with a comment."""
    private = Ed25519PrivateKey.generate()
    locked = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (folder / "key").write_bytes(locked)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (folder / "key.pub").write_bytes(public + b" ana@example\n")
    return folder / "key", folder / "key.pub"


def test_a_report_is_written_signed_and_verified(
    cli: Call, demo_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, public = _keys(tmp_path)
    html = tmp_path / "orders.html"
    asked = ["audit", demo_warehouse / "sales" / "orders", "--html", html, "--sign", key, "--user", "ana", "--json"]
    refused = cli(*asked)
    assert (refused.code, json.loads(refused.err)["field"], html.exists()) == (2, "passphrase", False)
    monkeypatch.setenv("DELTA_EXPLORER_KEY_PASSPHRASE", "secret")
    made = cli(*asked)
    assert made.code == 0
    assert "secret" not in made.out + made.err
    document = json.loads(made.out)
    assert (document["by"], document["signer"]["comment"]) == ("ana", "ana@example")
    assert document["digest"] in html.read_text()
    found = cli("verify-report", html, "--key", public, "--json").document()
    assert found["digest"] == document["digest"]
    assert (found["valid"], found["signer"], found["trusted"]) == (True, "ana@example", True)
    html.write_text(html.read_text().replace("40,398", "40,399", 1))
    changed = cli("verify-report", html, "--key", public, "--json")
    assert changed.code == 1
    assert [each["part"] for each in json.loads(changed.out)["differences"]] == ["text", "signature"]
    assert cli("verify-report", html).code == 1


def test_the_report_of_a_warehouse_ranks_its_tables(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    made = cli("audit", demo_warehouse, "--html", first, "--json")
    assert made.code == 0
    assert [json.loads(line)["kind"] for line in made.out.splitlines()] == ["table"] * 6
    assert cli("verify-report", first, "--json").document()["valid"]
    (tmp_path / "lines.json").write_text(made.out)
    assert cli("verify-report", tmp_path / "lines.json", "--json").document()["valid"]
    for earlier in (first, tmp_path / "lines.json"):
        again = cli("audit", demo_warehouse, "--since", earlier, "--html", second, "--json")
        for line in again.out.splitlines():
            since = json.loads(line)["since"]
            assert (since["new"], since["gone"], since["versions"]) == ([], [], 0)
    ranked = second.read_text().split("</article>")[0]
    assert ranked.index("sensors-damaged") < ranked.index("customers") < ranked.index("orders")


def test_evidence_is_pinned_and_put_into_a_report(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    orders, case = demo_warehouse / "sales" / "orders", tmp_path / "case.json"
    cli("pin", case, orders, "--commit", 30, "--note", "the load", "--title", "Lost rows", "--author", "ana")
    made = cli("pin", case, orders, "--diff", 29, 30, "--json").document()
    assert (made["title"], [pin["kind"] for pin in made["pins"]]) == ("Lost rows", ["commit", "diff"])
    commit = (orders / "_delta_log" / f"{30:020}.json").read_bytes()
    assert made["pins"][0]["digest"] == hashlib.sha256(commit).hexdigest()
    for wrong in (["--commit", 99], [], ["--commit", 30, "--finding", "bulk-loss"]):
        assert cli("pin", case, orders, *wrong, "--json").error()["error"] == "RequestError"
    found = cli("audit", orders, "--case", case, "--json").document()["case"]
    assert [(pin["what"], pin["holds"]) for pin in found["pins"]] == [("v30", True), ("v29 to v30", True)]
    copy = shutil.copytree(orders, tmp_path / "orders")
    log = copy / "_delta_log" / f"{30:020}.json"
    log.write_bytes(log.read_bytes() + b"\n")
    pins = json.loads(case.read_text())
    for pin in pins["pins"]:
        del pin["table"]
    case.write_text(json.dumps(pins))
    tampered = cli("audit", copy, "--case", case, "--json").document()["case"]
    assert [pin["holds"] for pin in tampered["pins"]] == [False, True]


def test_bad_requests_of_reports_write_nothing(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    orders, customers = demo_warehouse / "sales" / "orders", demo_warehouse / "crm" / "customers"
    html = tmp_path / "report.html"
    assert cli("audit", orders, "--html", html).code == 0
    before = html.read_bytes()
    for wrong in (
        ["--sign", tmp_path / "none"],
        ["--html", html, "--sign", tmp_path / "none"],
        ["--html", html, "--since", tmp_path / "none"],
        ["--html", html, "--since", html],
        ["--html", html, "--case", html],
    ):
        assert cli("audit", customers, *wrong, "--json").error()["error"] == "RequestError", wrong
    assert html.read_bytes() == before
    assert cli("audit", orders, "--html", tmp_path / "none" / "x.html", "--json").code == 2
    assert cli("verify-report", tmp_path / "none", "--json").error()["error"] == "RequestError"


def test_the_report_of_a_lake_names_its_folder_whole(
    cli: Call, demo_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_warehouse / "finance")
    cli("audit", ".", "--html", tmp_path / "lake.html")
    assert f"<h1>{demo_warehouse.resolve() / 'finance'}</h1>" in (tmp_path / "lake.html").read_text()


def test_text_that_is_no_chain_head_is_a_bad_request_and_no_sign_of_tampering(cli: Call, demo_warehouse: Path) -> None:
    table = demo_warehouse / "finance/ledger"
    head = cli("verify", table, "--json").document()["chainHead"]
    assert "tampered-log" in cli("audit", table, "--chain-head", head, "--json").document()["foundNothing"]
    result = cli("audit", table, "--chain-head", head[:-1], "--json")
    assert result.code == 2
    assert result.error()["message"] == (
        f"'{head[:-1]}' is not a chain head, which has 64 hexadecimal digits. Use one printed by verify."
    )
