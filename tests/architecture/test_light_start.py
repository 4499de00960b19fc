"""Importing the package and opening a table load neither Spark, nor pandas, nor any user interface."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = ["IPython", "anywidget", "bokeh", "ipywidgets", "pandas", "panel", "param", "plotly", "py4j", "pyspark"]

# Runs in a fresh interpreter and prints the modules that came with it, and its child processes.
REPORT = f"""
import json, os, sys
from pathlib import Path
loaded = sorted(set({HEAVY!r}) & set(sys.modules))
children = [
    Path("/proc", pid, "cmdline").read_text()
    for task in Path("/proc/self/task").glob("*/children")
    for pid in task.read_text().split()
]
print(json.dumps({{"loaded": loaded, "children": children, "version": globals().get("version")}}))
"""

ACTIONS = [
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {
        "metaData": {
            "id": "5d1c6a3e-8f43-4c69-8a53-1d7f0ab0c0de",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(
                {
                    "type": "struct",
                    "fields": [{"name": "amount", "type": "long", "nullable": True, "metadata": {}}],
                }
            ),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 1_700_000_000_000,
        }
    },
    {
        "add": {
            "path": "part-0.parquet",
            "partitionValues": {},
            "size": 1_000,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": '{"numRecords":3,"minValues":{"amount":1},"maxValues":{"amount":9},"nullCount":{"amount":0}}',
        }
    },
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    log = tmp_path / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in ACTIONS))
    return log.parent


def report_of(program: str, *arguments: str) -> dict[str, Any]:
    completed = subprocess.run(
        [sys.executable, "-c", program + REPORT, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert completed.returncode == 0, completed.stderr
    report: dict[str, Any] = json.loads(completed.stdout)
    return report


def test_import_is_light() -> None:
    assert report_of("import explorer") == {"loaded": [], "children": [], "version": None}


def test_first_snapshot_is_light_and_starts_no_java(table: Path) -> None:
    program = """
import sys
import explorer
snapshot = explorer.open_table(sys.argv[1]).snapshot()
snapshot.files(), snapshot.schema, snapshot.num_records
version = snapshot.version
"""
    assert report_of(program, str(table)) == {"loaded": [], "children": [], "version": 0}


def test_history_loads_no_spark_and_no_user_interface(table: Path) -> None:
    program = """
import sys
import explorer
table = explorer.open_table(sys.argv[1])
version = table.history().num_rows - 1
table.diff(0, version)
"""
    assert report_of(program, str(table)) == {"loaded": [], "children": [], "version": 0}


def test_command_line_help_is_light() -> None:
    program = """
import contextlib, io, sys
from explorer.cli import main
sys.argv = ["delta-explorer", "--help"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""
    assert report_of(program) == {"loaded": [], "children": [], "version": None}
