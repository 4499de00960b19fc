"""A real JupyterLab, Notebook or Voila for browser tests: on the loopback, and none asks another machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.pages.ports import free_port, wait_for
from tests.support.shared_tables import REPOSITORY

TOKEN = "notebook-test"
_OPTIONS = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--port=0",
    f"--IdentityProvider.token={TOKEN}",
    "--LabApp.extension_manager=readonly",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
]
_APPS = ("LabApp", "JupyterNotebookApp")
DOCS = REPOSITORY / "docs"
"""What makes Voila's page ask no other machine and load what the widget needs is in its folder ``voila``."""


@contextmanager
def running_lab(
    folder: Path, runtime: Path, *, theme: str = "JupyterLab Light", program: str = "jupyterlab"
) -> Iterator[str]:
    """Serve a folder and yield the address; ``runtime`` is where Jupyter writes what it runs.

    JupyterLab serves Notebook's pages too, below ``notebooks``.
    """
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    kept = folder / "settings"
    places = [f"--ServerApp.root_dir={folder}", *(f"--{app}.user_settings_dir={kept}" for app in _APPS)]
    log = folder / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", program, *_OPTIONS, *places], stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield address_of(server, runtime, log)
        finally:
            server.terminate()
            server.wait(30)


@contextmanager
def running_voila(notebook: Path) -> Iterator[str]:
    """Serve one notebook as a page and yield its address."""
    port = free_port()
    options = ["--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1"]
    environment = os.environ | {"JUPYTER_PATH": str(DOCS), "JUPYTER_CONFIG_PATH": str(DOCS / "voila")}
    log = notebook.with_suffix(".log")
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "voila", *options, str(notebook)], stdout=out, stderr=subprocess.STDOUT,
            env=environment,
        )  # fmt: skip
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait(30)


def address_of(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Wait until a server answers, and return its address."""
    end = time.monotonic() + 180
    while time.monotonic() < end and server.poll() is None:
        for found in runtime.glob("jpserver-*.json"):
            text = found.read_text()
            if text.rstrip().endswith("}"):
                return str(json.loads(text)["url"])
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")
