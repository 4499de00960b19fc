"""What every installation must do, run by the Python of a clean environment: ``python smoke.py EXTRA,EXTRA``.

It imports nothing of the tests, and exits with the first thing that does not hold.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("delta-explorer"))
ROWS = {"fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}], "type": "struct"}
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {
    "metaData": {
        "id": "smoke",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(ROWS),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
}


def main() -> None:
    """Try what the base and each of the extras promise."""
    extras = set(filter(None, sys.argv[1].split(",")))
    table = _table(Path("lake", "small"))
    document = json.loads(_run("snapshot", table, "--json"))
    assert (document["version"], document["numRecords"]) == (0, 3), document
    import explorer

    assert importlib.metadata.version("delta-table-explorer") == explorer.__version__
    assert explorer.open_table(table).audit().findings is not None
    _serve("web" in extras)
    _widget(explorer.open_table(table), "jupyter" in extras)
    _sign(table, "sign" in extras)
    if {"spark", "java"} <= extras:
        rows = _run("rows", table, "--json")
        assert [json.loads(line)["id"] for line in rows.splitlines()] == [1, 2, 3], rows


def _table(folder: Path) -> str:
    """A table of one file and three rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = folder / "_delta_log"
    log.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int64())}), folder / "rows.parquet")
    add: dict[str, Any] = {"path": "rows.parquet", "partitionValues": {}, "modificationTime": 0, "dataChange": True}
    add |= {"size": (folder / "rows.parquet").stat().st_size, "stats": json.dumps({"numRecords": 3})}
    lines = [{"commitInfo": {"timestamp": 0, "operation": "WRITE"}}, PROTOCOL, METADATA, {"add": add}]
    (log / f"{0:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(folder)


def _run(*arguments: str, code: int = 0) -> str:
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout or done.stderr


def _serve(can: bool) -> None:
    """Serve for a second, or say which extra is missing."""
    if not can:
        assert "web" in _run("serve", "lake", code=6)
        return
    server = subprocess.Popen([COMMAND, "serve", "lake", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["url"]
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 (our own server)
            assert answer.status == 200
            assert "Delta" in answer.read().decode()
        time.sleep(1)
        assert server.poll() is None, "the server ended by itself"
    finally:
        server.terminate()
        server.wait(30)


def _widget(table: Any, can: bool) -> None:
    """Make the widget, or be refused with the extra that is missing."""
    from explorer import EngineUnavailable

    if can:
        assert table.explore().version == 0
        return
    try:
        table.explore()
    except EngineUnavailable as error:
        said = str(error)
    else:
        said = "It was made without its packages."
    assert "jupyter" in said, said


def _sign(table: str, can: bool) -> None:
    """Write a report, sign it, and verify it."""
    _run("audit", table, "--html", "report.html")
    _run("verify-report", "report.html")
    if can:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
        _run("audit", table, "--html", "signed.html", "--sign", "key")
        _run("verify-report", "signed.html", "--key", "key.pub")


if __name__ == "__main__":
    main()
