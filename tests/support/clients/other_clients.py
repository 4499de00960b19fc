"""Other clients at the releases that the verdicts are held against, each in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tests.support.clients import client_process

__all__ = ["INSTALLED", "OLDER", "ClientRefused", "OtherClient", "Way"]


class ClientRefused(Exception):
    """A client refused a table, or its process ended; the text says why."""


@dataclass(frozen=True)
class Way:
    """A way to read or write with a release.

    Attributes:
        client, release: As the facts call it, and its release.
        way: One of `client_process.WAYS`.
        writes: Whether it writes.
        reads: Whether this is how it reads.
        packages: What to install for it in an environment of its own; none for what is installed here.
    """

    client: str
    release: str
    way: str
    writes: bool = False
    packages: tuple[str, ...] = ()
    reads: bool = True

    def __str__(self) -> str:
        return f"{self.way} {self.release}"


_RS: Final = "delta-rs (python deltalake)"
_DATASET: Final = "delta-rs to_pyarrow_*/to_pandas path"

_SQL: Final = "delta-rs QueryBuilder (SQL)"

INSTALLED: Final = (
    Way(_RS, version("deltalake"), "deltalake", writes=True),
    Way(_DATASET, version("deltalake"), "deltalake to_pyarrow"),
    Way("DuckDB delta extension", "HEAD 2026-07", "duckdb", writes=True),
    # The library that the wrapper is built with.
    Way("delta-kernel-rs", "0.22.0", "kernel"),
)
"""What the development group installs."""

_OLD: Final = ("deltalake==0.18.2", "pyarrow==16.1.0", "numpy<2")
_MIDDLE: Final = ("deltalake==0.25.5", "pyarrow==19.0.1")
_NEWER: Final = ("deltalake==1.4.2", "pyarrow==21.0.0")

OLDER: Final = (
    Way(_RS, "0.18.2", "deltalake", True, _OLD),
    Way(_RS, "0.25.5", "deltalake to_pyarrow", True, _MIDDLE),
    Way(_SQL, "0.25.5", "deltalake", False, _MIDDLE),
    Way(_RS, "1.4.2", "deltalake", True, _NEWER, reads=False),
    Way(_DATASET, "1.4.2", "deltalake to_pyarrow", False, _NEWER),
    Way(_SQL, "1.4.2", "deltalake", False, _NEWER),
)
"""Older releases, each installed into an environment of its own that is kept."""


class OtherClient:
    """A client in a process of its own, which is started again if it ends.

    Args:
        way: The client.
        folder: A scratch folder.
    """

    def __init__(self, way: Way, folder: Path) -> None:
        self._way, self._folder = way, folder
        self._python = _environment(way.packages) if way.packages else sys.executable
        self._process: subprocess.Popen[str] | None = None

    def read(self, table: Path) -> pa.Table:
        """The rows of a table's newest version.

        Raises:
            ClientRefused: It did not read it.
        """
        answer = self._folder / "answer.arrow"
        self._ask(folder=str(table), rows="", answer=str(answer))
        with pa.OSFile(str(answer)) as source:
            return pa.ipc.open_stream(source).read_all()

    def append(self, table: Path, rows: pa.Table) -> None:
        """Append rows to a table.

        Raises:
            ClientRefused: It did not write them.
        """
        given = self._folder / "rows.arrow"
        with pa.OSFile(str(given), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        self._ask(folder=str(table), rows=str(given), answer="")

    def close(self) -> None:
        """End its process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, **asked: str) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, client_process.__file__, self._way.way],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                text=True,
                encoding="utf-8",
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self.close()
            raise ClientRefused(f"its process ended with code {code}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClientRefused(answer["error"])


def _environment(packages: tuple[str, ...]) -> str:
    """The Python of an environment that holds some packages; it is made once, and kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "delta-table-explorer-tests"
    folder = cache / packages[0].replace("==", "-")
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists() and done.read_text() == "\n".join(packages):
        return str(python)
    shutil.rmtree(folder, ignore_errors=True)
    if shutil.which("uv"):
        _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
        _run("uv", "pip", "install", "--quiet", "--python", str(python), *packages)
    else:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(python), "-m", "pip", "install", "--quiet", *packages)
    done.write_text("\n".join(packages))
    return str(python)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=600)
