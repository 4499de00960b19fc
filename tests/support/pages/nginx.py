"""nginx of this machine, with a configuration of a test."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.pages.ports import listens

__all__ = ["running_nginx"]


@contextmanager
def running_nginx(folder: Path, port: int) -> Iterator[None]:
    """Run nginx with ``nginx.conf`` of a folder, in which it logs errors to ``error.log``, once it listens."""
    with subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 60
            while not listens(port):
                assert process.poll() is None, (folder / "error.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
