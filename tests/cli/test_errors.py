"""Every expected error is a message and an exit code, as JSON one object on stderr, never a traceback."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import explorer
from explorer.cli.errors import exit_code
from explorer.core import errors
from tests.cli.conftest import Call
from tests.support.logs.small_logs import METADATA, PROTOCOL, write_log
from tests.support.shared_tables import REPOSITORY

COMMAND = [sys.executable, "-m", "explorer.cli"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.VersionNotFound, 2),
        (errors.TimestampOutOfRange, 2),
        (errors.InvalidIntent, 2),
        (errors.NotAllowed, 2),
        (errors.TableNotFound, 3),
        (errors.MalformedAction, 3),
        (errors.CorruptDeletionVector, 3),
        (errors.StorageError, 3),
        (errors.UnsupportedFeature, 4),
        (errors.GuardFailed, 5),
        (errors.CommitConflict, 5),
        (errors.EngineUnavailable, 6),
        (errors.Cancelled, 130),
        (ValueError, 1),
    ],
)
def test_each_error_has_its_exit_code(kind: type[Exception], code: int) -> None:
    assert exit_code(kind("why")) == code


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__ if name != "ExplorerError"])
def test_no_typed_error_counts_as_a_fault_of_the_program(kind: type[Exception]) -> None:
    assert exit_code(kind("why")) != 1


def test_path_that_is_no_table(cli: Call, tmp_path: Path) -> None:
    for command in ("snapshot", "files", "history", "columns", "statistics", "deletion-vectors", "rows"):
        result = cli(command, tmp_path, "--json")
        assert result.code == 3
        assert result.error()["error"] == "TableNotFound"


def test_version_that_does_not_exist_tells_the_nearest(cli: Call, demo_warehouse: Path) -> None:
    result = cli("snapshot", demo_warehouse / "sales/orders", "--version", 99, "--json")
    assert result.code == 2
    assert result.error()["error"] == "VersionNotFound"
    assert (result.error()["version"], result.error()["nearest"]) == (99, 38)
    cleaned = cli("files", demo_warehouse / "finance/ledger", "--version", 2, "--json")
    assert (cleaned.code, cleaned.error()["nearest"]) == (2, 10)


def test_time_out_of_range_or_not_a_time(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    early = cli("snapshot", orders, "--timestamp", "1999-01-01T00:00:00Z", "--json")
    assert (early.code, early.error()["error"]) == (2, "TimestampOutOfRange")
    wrong = cli("snapshot", orders, "--timestamp", "soon", "--json")
    assert (wrong.code, wrong.error()["reason"]) == (2, "no time")
    assert "yesterday 18:00" in wrong.error()["message"]
    assert "yesterday 18:00" in cli("files", orders, "--version", "soon", "--json").error()["message"]
    assert cli("diff", orders, 0, "3/4/2026", "--json").error()["allowed"] == ["2026-03-04", "2026-04-03"]
    assert cli("history", orders, "--since", "last week", "--json").error()["reason"] == "ambiguous"
    assert cli("snapshot", orders, "--timestamp", "tomorrow", "--json").error()["error"] == "TimestampOutOfRange"
    assert cli("snapshot", orders, "--timestamp", "2026-03-05T00:00:00Z", "--version", "3").code == 2


def test_a_time_in_words_or_without_a_zone_is_read_in_utc_and_that_is_said(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    newest = cli("snapshot", orders, "--timestamp", "now", "--json")
    assert json.loads(newest.out)["version"] == 38
    assert newest.err.rstrip().endswith("UTC is v38, unchanged since.")
    committed = cli("snapshot", orders, "--version", "v7", "--json").document()["timestamp"].removesuffix("Z")
    for command in ("snapshot", "files"):
        found = cli(command, orders, "--version", committed, "--json")
        assert " UTC is v7." in found.err
    by_zone = cli("snapshot", orders, "--timestamp", f"{committed}Z", "--json")
    assert (by_zone.document()["version"], by_zone.err) == (7, "")


def test_truncated_line_is_named(cli: Call, demo_warehouse: Path) -> None:
    damaged = demo_warehouse / "archive/sensors-damaged"
    result = cli("snapshot", damaged, "--json")
    assert result.code == 3
    found = result.error()
    assert found["error"] == "MalformedAction"
    assert (found["version"], found["line"]) == (4, 2)
    assert found["path"].endswith("00000000000000000004.json")
    assert cli("snapshot", damaged, "--version", 3, "--json").document()["numFiles"] == 3


def test_missing_commit_in_the_middle(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(demo_warehouse / "crm/customers", tmp_path / "gap")
    (copy / "_delta_log" / f"{4:020}.json").unlink()
    result = cli("snapshot", copy, "--json")
    assert (result.code, result.error()["error"]) == (3, "VersionGap")


def test_checkpoint_that_cannot_be_read(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(demo_warehouse / "finance/ledger", tmp_path / "ledger")
    for checkpoint in (copy / "_delta_log").glob("*.checkpoint.parquet"):
        checkpoint.write_bytes(b"PAR1 nothing PAR1")
    result = cli("snapshot", copy, "--json")
    assert (result.code, result.error()["error"]) == (3, "IncompleteCheckpoint")


def test_reader_feature_that_is_not_known(cli: Call, tmp_path: Path) -> None:
    log = tmp_path / "future" / "_delta_log"
    log.mkdir(parents=True)
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["zeta"], "writerFeatures": ["zeta"]}
    schema = '{"type":"struct","fields":[]}'
    metadata = {"id": "x", "format": {"provider": "parquet"}, "schemaString": schema, "partitionColumns": []}
    lines = [{"protocol": protocol}, {"metaData": {**metadata, "configuration": {}}}]
    (log / f"{0:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = cli("snapshot", log.parent, "--json")
    assert (result.code, result.error()["error"], result.error()["features"]) == (4, "UnsupportedFeature", ["zeta"])


def test_column_that_does_not_exist_writes_no_line(cli: Call, demo_warehouse: Path) -> None:
    result = cli("statistics", demo_warehouse / "sales/orders", "--column", "amount", "--column", "nope", "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")


@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot",),
        ("snapshot", "a", "b"),
        ("snapshot", "a", "--version", "seven"),
        ("snapshot", "a", "--version", "-1"),
        ("history", "a", "--limit", "0"),
        ("diff", "a", "1"),
        ("diff", "a", "one", "2"),
        ("rows", "a", "--limit", "-1"),
        ("serve", "a", "--port", "99999"),
        ("frobnicate",),
        ("snapshot", "a", "--colour"),
    ],
)
def test_wrong_usage_is_a_bad_request(arguments: tuple[str, ...], cli: Call) -> None:
    result = cli(*arguments, "--json")
    assert result.code == 2
    assert result.error()["error"] == "UsageError"
    assert cli(*arguments).err.startswith("Error: ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("audit", "TABLE", "--html"), ()),
        (("audit", "TABLE", "--resume"), ()),
        (("erasure", "TABLE", "--where", "true", "--html"), ()),
        (("erasure", "TABLE", "--where", "true", "--statement"), ()),
        (("pin",), ("TABLE", "--commit", "1")),
        (("tripwires", "TABLE", "--rules", "RULES", "--state"), ()),
        (("rows", "TABLE", "--output"), ()),
        (("changes", "TABLE", "--from", "0", "--output"), ()),
    ],
    ids=["html", "resume", "erasure-html", "statement", "pin", "state", "rows", "changes"],
)
def test_a_file_that_can_be_in_no_such_place_is_a_bad_request(
    before: tuple[str, ...], after: tuple[str, ...], cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.toml").write_text("")
    (tmp_path / "folder.csv").mkdir()
    named = {"TABLE": demo_warehouse / "crm/customers", "RULES": tmp_path / "rules.toml"}
    for place, said in (
        ("absent/r.csv", f"there is no folder {tmp_path / 'absent'}"),
        ("folder.csv", "it is a folder"),
    ):
        asked = [named.get(each, each) for each in (*before, tmp_path / place, *after)]
        result = cli(*asked, "--json")
        assert (result.code, result.error()["error"], result.error()["path"]) == (
            2,
            "RequestError",
            str(asked[len(before)]),
        )
        assert result.error()["message"].startswith(f"{asked[len(before)]} cannot be written: {said}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder.csv", "rules.toml"]


def test_a_signature_that_can_be_in_no_such_place_is_a_bad_request(
    cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "r.html.sig").mkdir()
    asked = ["audit", demo_warehouse / "crm/customers", "--html", tmp_path / "r.html", "--sign", tmp_path / "key"]
    result = cli(*asked, "--json")
    assert (result.code, result.error()["path"]) == (2, str(tmp_path / "r.html.sig"))


def test_without_a_command_the_help_is_shown(cli: Call) -> None:
    result = cli()
    assert (result.code, result.err) == (2, "")
    assert "deletion-vectors" in result.out


def test_error_for_people_is_one_line_without_traceback(cli: Call, tmp_path: Path) -> None:
    result = cli("snapshot", tmp_path)
    assert result.err.startswith("Error: There is no Delta table at ")
    assert result.err.count("\n") == 1


def test_fault_of_the_program_is_told_short_and_shown_whole_on_request(
    cli: Call, demo_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(explorer, "open_table", fail)
    result = cli("snapshot", demo_warehouse / "sales/orders", "--json")
    assert result.code == 1
    assert result.error()["error"] == "ZeroDivisionError"
    debugged = cli("--debug", "snapshot", demo_warehouse / "sales/orders")
    assert debugged.code == 1
    assert "Traceback (most recent call last)" in debugged.err
    assert "ZeroDivisionError: division by zero" in debugged.err


def test_reader_that_has_enough_ends_the_command_quietly(demo_warehouse: Path) -> None:
    many = [*COMMAND, "statistics", str(demo_warehouse / "web/events"), "--json"]
    with subprocess.Popen(many, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["column"] == "event_id"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.sampled(cases=4)
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", [["snapshot"], ["audit"], ["files", "--json"], ["audit", "--json"], ["--help"]], ids=" ".join
)
def test_output_to_a_full_disk_is_no_fault_of_the_program(
    command: list[str], unbuffered: str, demo_warehouse: Path
) -> None:
    """The system's own file that is always full."""
    asked = [*COMMAND, *command, *([] if command == ["--help"] else [str(demo_warehouse / "crm/customers")])]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            asked,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    (line,) = done.stderr.splitlines()
    told = "Standard output cannot be written: No space left on device. Make room there, or redirect it."
    if "--json" in command:
        assert json.loads(line) == {"error": "StorageError", "message": told}
    else:
        assert line == f"Error: {told}"
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("closed", "code", "told"),
    [("stdout", 3, "Standard output cannot be written: Bad file descriptor."), ("stderr", 2, "")],
)
def test_a_closed_output_is_no_fault_of_the_program(closed: str, code: int, told: str, demo_warehouse: Path) -> None:
    # A person's shell closes them: `>&-`, `2>&-`.
    redirected = {"stdout": ">&-", "stderr": "2>&-"}[closed]
    asked = [*COMMAND, "snapshot", str(demo_warehouse / "crm/customers"), *(["99"] if closed == "stderr" else [])]
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *asked],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"Error: {told}" if told else "")
    assert done.stderr.count("\n") == bool(told)


def test_an_error_goes_out_whole_beside_an_output_that_cannot_be_written(demo_warehouse: Path, tmp_path: Path) -> None:
    asked = [*COMMAND, "audit", str(demo_warehouse / "crm/customers"), str(tmp_path / "none"), "--json"]
    with Path("/dev/full").open("wb") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": ""}
        done = subprocess.run(
            asked, cwd=REPOSITORY, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert [json.loads(line)["error"] for line in done.stderr.splitlines()] == ["TableNotFound", "StorageError"]
    assert done.returncode == 3


def test_interrupt_is_told_and_ends_with_130(demo_warehouse: Path) -> None:
    """Nobody reads the output, so the command waits in writing it."""
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from explorer.cli import main\nmain()"
    arguments = [sys.executable, "-c", program, "statistics", str(demo_warehouse / "web/events"), "--json"]
    with subprocess.Popen(arguments, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
    assert (process.returncode, json.loads(error)["error"]) == (130, "Cancelled")


def _audit_of_many(root: Path) -> subprocess.Popen[str]:
    """An audit in two processes, in a group of its own: a terminal sends Ctrl-C to all of a group."""
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from explorer.cli import main\nmain()"
    asked = [sys.executable, "-c", program, "audit", str(root), "--processes", "2"]
    output = subprocess.PIPE
    return subprocess.Popen(asked, cwd=REPOSITORY, stdout=output, stderr=output, text=True, start_new_session=True)


def _started(process: subprocess.Popen[str], count: int) -> None:
    """Wait until a process has started so many others."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and len(children.read_text().split()) < count:
        time.sleep(0.001)


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(("others", "seconds"), [(2, 0.0), (3, 0.0), (3, 0.05), (3, 0.3), (3, 1.0)])
def test_interrupt_of_an_audit_of_many_tables_is_told_in_one_line(tmp_path: Path, others: int, seconds: float) -> None:
    """One process is that of Python which cleans up; the two that read are started after it."""
    for number in range(300):
        write_log(tmp_path / f"t{number}", [[PROTOCOL, METADATA]])
    with _audit_of_many(tmp_path) as process:
        _started(process, others)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "Error: Cancelled.\n")


def test_start_is_quick_and_light(demo_warehouse: Path) -> None:
    program = """
import sys
from explorer.cli.app import run
told = ("snapshot", "files", "history", "columns", "deletion-vectors", "statistics")
told += ("retention", "blame", "compatibility", "audit")
for command in told:
    assert run([command, sys.argv[1], "--json"]) == 0
heavy = {"pandas", "pyspark", "panel", "plotly", "param", "duckdb", "deltalake", "rich", "explorer.demo"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    for table in ("crm/customers", "sales/orders"):
        arguments = [sys.executable, "-c", program, str(demo_warehouse / table)]
        completed = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        assert completed.stderr == "[]\n"


def test_a_mistyped_command_is_a_question_with_one_mark(cli: Call) -> None:
    message = str(cli("snapshto", "--json").error()["message"])
    assert "Did you mean 'snapshot'" in message
    assert "?." not in message


def test_serving_without_a_root_is_a_bad_request_that_names_the_configuration(cli: Call) -> None:
    result = cli("serve", "--json")
    assert (result.code, result.error()["error"]) == (2, "UsageError")
    assert "[[roots]]" in str(result.error()["message"])
