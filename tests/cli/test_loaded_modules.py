"""What each command loads of others and of this program, beyond what every command that reads a log loads.

A command that begins to load more changes its line here, so that a reader of the change sees it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.shared_tables import REPOSITORY

WATCHED = [
    *("IPython", "anywidget", "argon2", "bokeh", "cryptography", "ipywidgets", "jinja2", "msgspec", "numpy", "obstore"),
    *(
        "pandas",
        "panel",
        "param",
        "plotly",
        "py4j",
        "pyarrow",
        "pydantic",
        "pyroaring",
        "pyspark",
        "rich",
        "tornado",
        "typer",
    ),
]
"""The packages of others that some part of this program imports."""
READING = {
    *("msgspec", "numpy", "pyarrow", "typer"),
    *("cli", "cli.commands", "core", "core.log", "core.protocol", "core.protocol.arrow"),
    *("core.protocol.table_properties", "storage", "storage.refusals"),
    *("configuration", "core.errors", "credentials", "debug", "formatting", "variables", "version"),
}
VERSIONS = {
    *("core.log.checkpoint", "core.protocol.schema", "core.protocol.sql", "core.protocol.statistics"),
    *("core.versions", "core.versions.open_log", "core.versions.retention", "table"),
}
HISTORY = {*VERSIONS, "core.versions.lifetimes"}
INTENT = '{"kind": "set-description", "description": "x"}'
CHANGING = {
    *("core.compatibility", "core.log.writing", "core.transaction", "core.transaction.guards"),
    *("core.transaction.intents", "core.transaction.new_files", "core.transaction.proposals", "system"),
}

LOADED: dict[str, tuple[list[str], set[str]]] = {
    "snapshot": ([], VERSIONS),
    "files": ([], VERSIONS),
    "statistics": ([], VERSIONS),
    "deletion-vectors": ([], VERSIONS),
    "columns": ([], HISTORY),
    "blame": ([], HISTORY),
    "history": ([], {*HISTORY, "core.versions.commits"}),
    "diff": (["0", "1"], {*HISTORY, "core.versions.commits"}),
    "retention": ([], {*HISTORY, "core.transaction", "core.versions.change_feed"}),
    "verify": ([], {"core.log.checkpoint", "core.log.verify", "core.protocol.schema", "core.protocol.statistics"}),
    "compatibility": ([], {*HISTORY, *CHANGING, "core.transaction.commit", "core.versions.change_feed"}),
    "audit": (
        [],
        {
            *(HISTORY | CHANGING),
            *("auditing", "auditing.rules", "core.log.verify", "core.maintenance", "core.versions.commits", "fleet"),
            "storage.table_search",
        },
    ),
    "plan": (
        [INTENT],
        {
            *(HISTORY | CHANGING),
            *("core.log.verify", "core.maintenance", "core.transaction.commit", "core.transaction.proposals.rows"),
            *("core.transaction.row_preparation", "core.versions.change_feed", "spark", "spark.engine"),
        },
    ),
}

REPORT = f"""
import json, sys
from explorer.cli.app import run
code = run(sys.argv[1:])
sys.stdout.flush()
own = [(name.removeprefix("explorer."), module) for name, module in sys.modules.items() if name[:9] == "explorer."]
parts = [name for name, module in own if hasattr(module, "__path__") or name.count(".") == (name[:5] == "core.")]
print(json.dumps([code, sorted(set({WATCHED!r}) & set(sys.modules)), sorted(parts)]), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    written = [commit_info("WRITE"), add("f.parquet", 10, bounds={"id": (1, 2)})]
    return write_log(tmp_path_factory.mktemp("loaded") / "orders", [created, written])


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("command", LOADED)
def test_a_command_loads_what_it_needs_and_nothing_else(table: Path, command: str) -> None:
    options, parts = LOADED[command]
    arguments = [sys.executable, "-c", REPORT, command, str(table), *options, "--json"]
    completed = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    code, others, own = json.loads(completed.stderr)
    assert code == 0
    assert {*others, *own} == READING | parts


def test_the_package_alone_loads_nothing_of_others() -> None:
    program = f"import explorer, json, sys; print(json.dumps(sorted(set({WATCHED!r}) & set(sys.modules))))"
    completed = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, check=True)
    assert json.loads(completed.stdout) == []


def test_no_command_is_loaded_before_it_is_used() -> None:
    """Errors of usage and the first word of a command come before NumPy, whose threads take time to start."""
    program = (
        "import sys; from explorer.cli import main; print('numpy' in sys.modules, 'explorer.table' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert completed.stdout == "False False\n"


@pytest.mark.parametrize("command", ["snapshot", "files"])
def test_a_log_whose_files_are_together_needs_none_of_arrows_functions(command: str, tmp_path: Path) -> None:
    adds = [add(f"{number}.parquet", 10, bounds={"id": (1, 2)}) for number in range(30)]
    log = write_log(tmp_path / "t", [[PROTOCOL, metadata({"id": "long"}), *adds], [add("30.parquet", 10)]])
    table = explorer.open_table(log, read_only=False)
    table.commit(table.plan({"kind": "checkpoint"}))
    write_log(tmp_path / "later", [[PROTOCOL], [PROTOCOL], [commit_info("WRITE"), add("31.parquet", 10)]])
    shutil.copy(next((tmp_path / "later").glob("_delta_log/*2.json")), log / "_delta_log")
    program = (
        "import sys; from explorer.cli.app import run; code = run(sys.argv[1:]); sys.stdout.flush(); "
        "print(code, 'pyarrow.parquet' in sys.modules, 'pyarrow.compute' in sys.modules, file=sys.stderr)"
    )
    arguments = [sys.executable, "-c", program, command, str(log), "--json"]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.stderr.split() == ["0", "True", "False"]
