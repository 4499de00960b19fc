"""Credentials in the paths of a log: none leaves in what commands print, in statements, reports, cases, or a widget."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.app import run
from explorer.debug import quiet_handlers
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, remove, write_log

CANARY = "CANARY4711"
PATHS = (
    f"s3://bucket/f.parquet?X-Amz-Signature={CANARY}",
    f"s3://user:{CANARY}@bucket/g.parquet",
    f"abfss://c@a.dfs.core.windows.net/h.parquet?sv=1&sig={CANARY}",
)
COMMANDS = (("files",), ("deletion-vectors",), ("statistics",), ("history",), ("diff", "0", "1"), ("snapshot",))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose log names files by addresses with credentials."""
    lines: list[list[Any]] = [
        [commit_info("CREATE TABLE"), PROTOCOL, METADATA],
        [commit_info("WRITE"), *(add(path) for path in PATHS)],
        [commit_info("DELETE"), remove(PATHS[0])],
    ]
    return write_log(tmp_path / "t", lines)


@pytest.mark.parametrize("options", [(), ("--json",), ("--debug",)])
def test_no_command_prints_or_logs_them(
    table: Path, options: tuple[str, ...], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "explorer")
    for command, *arguments in at_least_one(COMMANDS):
        run([*(option for option in options if option == "--debug"), command, str(table), *arguments,
             *(option for option in options if option != "--debug")])  # fmt: skip
    shown = capfd.readouterr()
    assert "f.parquet" in shown.out
    assert CANARY not in shown.out + shown.err + caplog.text


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_no_erasure_statement_holds_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # Without a store that another machine would have to answer.
    away = f"away.parquet?sig={CANARY}"
    write_log(tmp_path / "e", [[commit_info("CREATE TABLE"), PROTOCOL, METADATA], [commit_info("WRITE"), add(away)]])
    statement, page = tmp_path / "statement.json", tmp_path / "statement.html"
    written = ["--statement", str(statement), "--html", str(page), "--json"]
    run(["erasure", str(tmp_path / "e"), "--where", "id = 1", *written])
    shown = capfd.readouterr()
    assert "away.parquet" in statement.read_text()
    assert CANARY not in shown.out + shown.err + statement.read_text() + page.read_text()


def test_no_report_of_a_case_holds_them(table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case, page = tmp_path / "case.json", tmp_path / "report.html"
    pins = [{"kind": "file", "path": path, "version": 1} for path in PATHS]
    case.write_text(json.dumps({"title": "Case", "author": "", "notes": "", "pins": pins}))
    run(["audit", str(table), "--case", str(case), "--html", str(page)])
    shown = capfd.readouterr()
    assert "bucket/g.parquet" in page.read_text(), shown.err
    assert CANARY not in shown.out + shown.err + page.read_text()


@pytest.mark.parametrize("debug", ["0", "1"])
def test_no_log_line_holds_them_with_or_without_debugging(
    debug: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DELTA_EXPLORER_DEBUG", debug)
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler := logging.StreamHandler()])
    quiet_handlers()
    try:
        raise ValueError(f"fs.s3a.secret.key: {CANARY}")
    except ValueError:
        logging.getLogger("explorer").exception("%s does not answer", PATHS[1])
    handler.flush()
    shown = capfd.readouterr().err
    assert ("Traceback" in shown) is (debug == "1")
    assert "does not answer" in shown
    assert CANARY not in shown


def test_a_traceback_of_debugging_holds_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "broken" / "_delta_log" / f"{0:020}.json").write_text(f'{{"add": {{"path": "s3://u:{CANARY}@b/f"}}')
    assert run(["--debug", "snapshot", str(tmp_path / "broken")]) != 0
    shown = capfd.readouterr().err
    assert "Traceback" in shown
    assert CANARY not in shown


def test_no_saved_state_of_a_widget_holds_them(table: Path) -> None:
    pytest.importorskip("ipywidgets")
    import ipywidgets

    ipywidgets.Widget.close_all()
    widget = explorer.open_table(table).explore(version=1)
    for tab in ("overview", "files", "deletion-vectors", "statistics", "audit", "columns", "data"):
        widget.tab = tab
        saved = json.dumps(ipywidgets.Widget.get_manager_state(drop_defaults=True), default=str)
        assert CANARY not in saved, tab
    widget.close()
