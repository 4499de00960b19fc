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
            table = _open(location.removeprefix("file://"), json.loads(options))
            write_deltalake(table, data, mode="append", commit_properties=properties)
        except CommitFailedError as error:
            outcome, why = "conflicted", {"why": str(error)}
        told = {"what": "append", "id": mark, "outcome": outcome, "version": None, "rows": rows, **why}
        print(json.dumps(told), flush=True)


def _open(location: str, options: dict[str, str]) -> DeltaTable:
    """Open the table. Of a folder that others write to a listing can show a file and not the one before it: deltalake
    gives up on a gap between commits, and on a checksum without its commit."""
    while True:
        try:
            return DeltaTable(location, storage_options=options or None)
        except DeltaError as error:
            if "found gap" not in str(error) and "CRC file version" not in str(error):
                raise


if __name__ == "__main__":
    main()
