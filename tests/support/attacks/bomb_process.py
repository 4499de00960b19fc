"""Reads a table in a process of its own, and prints what it took beyond the base, as JSON: seconds, bytes, error."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.storage import open_store


def _peak() -> int:
    """The most memory that this process had; the kernel's other count begins with that of the process before it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def read(location: str) -> None:
    """Read what the pages of a table and its commands read of its log."""
    table, store = explorer.open_table(location, cache=False), open_store(location)
    snapshot = table.snapshot()
    for vector in vector_descriptors(snapshot.logical_files):
        if vector is not None:
            read_rows(store, vector)
    assert snapshot.logical_files.num_rows >= 0
    assert len(snapshot.schema.fields) == 1
    snapshot.statistics()
    table.history()
    table.verify()


if __name__ == "__main__":
    honest, bomb = sys.argv[1:]
    read(honest)
    base, start, error = _peak(), time.perf_counter(), None
    try:
        read(bomb)
    except ExplorerError as refused:
        error = refused.facts()
    print(json.dumps({"seconds": time.perf_counter() - start, "bytes": _peak() - base, "error": error}))
