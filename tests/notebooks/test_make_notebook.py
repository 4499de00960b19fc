"""``make notebook``: the demo tables, then JupyterLab on the notebooks."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from explorer.demo import is_warehouse
from tests.notebooks.lab import TOKEN, address_of
from tests.notebooks.stories import names
from tests.support.shared_tables import REPOSITORY

pytestmark = pytest.mark.notebook


def _recipe(*arguments: str) -> list[list[str]]:
    """The two commands that follow the making of the environment, in the environment that runs the tests."""
    make = ["make", "--no-print-directory", "--dry-run", "notebook", *arguments]
    said = subprocess.run(make, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    tables, lab = (shlex.split(line) for line in said[-2:])
    assert (tables[0], lab[0]) == (".venv/bin/python", ".venv/bin/jupyter")
    return [[sys.executable, *tables[1:]], [sys.executable, "-m", "jupyter", *lab[1:]]]


@pytest.mark.whole("tests/demo/test_warehouse.py")
def test_demo_tables_are_built_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tables"
    monkeypatch.setenv("DELTA_DEMO", str(folder))
    said = subprocess.run(_recipe()[0], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert said.stdout == f"The demo tables are in {folder}\n"
    assert is_warehouse(folder)


@pytest.mark.whole("test_widget_in_lab.py, which starts JupyterLab")
def test_lab_starts_on_the_port_asked_for_and_lists_the_notebooks(jupyter_home: Path) -> None:
    command = [*_recipe("PORT=0")[1], "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    assert command[command.index("--port") + 1] == "0"
    log = jupyter_home / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [*command, f"--IdentityProvider.token={TOKEN}"], cwd=REPOSITORY, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            address = address_of(server, jupyter_home / "runtime", log)
            with urlopen(f"{address}api/contents?token={TOKEN}") as answer:  # noqa: S310  # on the loopback
                listed = [entry["name"] for entry in json.load(answer)["content"]]
        finally:
            server.terminate()
            server.wait(30)
    assert sorted(listed) == [f"{name}.ipynb" for name in names()]
