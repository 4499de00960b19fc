"""A real JupyterLab for browser tests: on the loopback, with nothing that would ask another machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
]


@contextmanager
def running_lab(folder: Path, runtime: Path, *, theme: str = "JupyterLab Light") -> Iterator[str]:
    """Serve a folder and yield the address; ``runtime`` is where Jupyter writes what it runs."""
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    places = [f"--ServerApp.root_dir={folder}", f"--LabApp.user_settings_dir={folder / 'settings'}"]
    log = folder / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *_OPTIONS, *places], stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield address_of(server, runtime, log)
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
