"""A racer of another make, deltalake: appends, and tells what it was told. Arguments and output as for `racer`."""

from __future__ import annotations

import json
import random
import sys

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError


def main() -> None:
    """Race."""
    location, name, commits, options = sys.argv[1:5]
    pick = random.Random(name)
    print(json.dumps({"ready": name}), flush=True)
    sys.stdin.readline()
    for number in range(int(commits)):
        rows, mark = 1 + pick.randrange(20), f"{name}-{number}"
        properties = CommitProperties(custom_metadata={"racer": mark}, max_commit_retries=200)
        outcome, why = "committed", {}
        try:
            data = pa.table({"id": pa.array(range(rows), pa.int64())})
            table = _open(location, options)
            write_deltalake(table, data, mode="append", commit_properties=properties)
        except DeltaError as error:
            if not isinstance(error, CommitFailedError) and not _is_gap(error):
                raise
            outcome = "committed" if _is_gap(error) and _committed(location, options, mark) else "conflicted"
            why = {} if outcome == "committed" else {"why": str(error)}
        told = {"what": "append", "id": mark, "outcome": outcome, "version": None, "rows": rows, **why}
        print(json.dumps(told), flush=True)


def _open(location: str, options: str) -> DeltaTable:
    """Open the table; again, where a listing shows a gap."""
    while True:
        try:
            return DeltaTable(location.removeprefix("file://"), storage_options=json.loads(options) or None)
        except DeltaError as error:
            if not _is_gap(error):
                raise


def _is_gap(error: DeltaError) -> bool:
    """Of a folder that others write to a listing can show a file and not the one before it: deltalake gives up on a gap
    between commits, and on a checksum without its commit, when it opens a table, and when it looks at one again."""
    return "found gap" in str(error) or "CRC file version" in str(error)


def _committed(location: str, options: str, mark: str) -> bool:
    """True if the log has the commit of a write that gave up on a gap."""
    return any(commit.get("racer") == mark for commit in _open(location, options).history())


if __name__ == "__main__":
    main()
