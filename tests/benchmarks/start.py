"""How long the two commands of the README take on a fresh clone: ``python -m tests.benchmarks.start [demo] [test]``.

The clone is of the last commit, the home is empty, nothing is cached, and a uv of the machine is left aside. It writes
start.json beside it, and the sentence of the guide out of it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.benchmarks.sets import REPOSITORY

__all__ = ["SPEED", "load_record", "sentence"]

RECORD: Final = Path(__file__).parent / "start.json"
SPEED: Final = REPOSITORY / "docs" / "guide" / "speed.md"
COMMANDS: Final = ("demo", "test")

_PATIENCE = 7_200


def main() -> None:
    """Measure the commands asked for, and write the record and the sentence."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.start", description=__doc__)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}; else both")
    chosen = parser.parse_args().commands or list(COMMANDS)
    if unknown := set(chosen) - set(COMMANDS):
        parser.error(f"there is no command {min(unknown)!r}: {', '.join(COMMANDS)}")
    before = load_record()
    record = {**before, "processors": os.cpu_count(), **{name: _measured(name) for name in chosen}}
    text = SPEED.read_text("utf-8")
    if before and sentence(before) not in text:
        sys.exit(f"{SPEED.name} does not hold the sentence of the last record:\n{sentence(before)}")
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    SPEED.write_text(text.replace(sentence(before), sentence(record)) if before else text, "utf-8")


def load_record() -> dict[str, Any]:
    """The last record; empty without one."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    return found


def sentence(record: dict[str, Any]) -> str:
    """What the guide says of a record."""
    demo, test = record["demo"]["seconds"], record["test"]["seconds"]
    return (
        f"On {record['processors']} cores, from a fresh clone with pip and an empty cache, `make demo` is ready in "
        f"{demo:.0f} seconds,\nand `make test` takes {test / 60:.0f} minutes, including building the environment."
    )


def _measured(command: str) -> dict[str, Any]:
    """The seconds from the command to its end, or to the first answer of the address that it serves."""
    with TemporaryDirectory(prefix="delta-table-explorer-start-") as folder:
        Path(folder).chmod(0o755)  # as a clone is: tests act as another user too
        clone, home = Path(folder, "clone"), Path(folder, "home")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VIRTUAL_ENV"))}
        environment = {**kept, "HOME": str(home), "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", "PYTHONPATH": ""}
        begun = time.monotonic()
        if command == "demo":
            _wait_for_the_page(clone, environment)
        else:
            subprocess.run(["make", "UV=", command], cwd=clone, env=environment, check=True)
        return {"seconds": round(time.monotonic() - begun, 1), "at": datetime.now(UTC).date().isoformat()}


def _wait_for_the_page(clone: Path, environment: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["make", "UV=", "demo", f"PORT={port}"]
    with subprocess.Popen(command, cwd=clone, env=environment, start_new_session=True) as process:
        try:
            for _ in range(_PATIENCE):
                if process.poll() is not None:
                    raise SystemExit(f"make demo ended with {process.returncode}")
                if _answers(port):
                    return
                time.sleep(1)
            raise SystemExit(f"make demo gave no page in {_PATIENCE} s")
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _answers(port: int) -> bool:
    """True once the page is served; before that nobody listens there."""
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        return connection.getresponse().status < 400
    except (OSError, HTTPException):
        return False


if __name__ == "__main__":
    main()
