"""Small tables written by hand: logs that hold what nobody should trust, and logs that are broken."""

import json
from pathlib import Path
from typing import Any

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{7*7}}\'"`${1}\u202e'


def write_table(folder: Path, commits: list[list[dict[str, Any]]]) -> Path:
    """Write a table whose commits are lists of actions."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(commits):
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)) + "\n")
    return folder


def commit_info(operation: str, **more: Any) -> dict[str, Any]:
    """Return a commitInfo action."""
    return {"commitInfo": {"timestamp": 1_772_460_311_000, "operation": operation, "operationParameters": {}, **more}}


def protocol() -> dict[str, Any]:
    """Return the simplest protocol action."""
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def metadata(columns: dict[str, str], partition: tuple[str, ...] = (), **configuration: str) -> dict[str, Any]:
    """Return a metaData action with columns of simple types."""
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {"comment": HOSTILE}} for n, t in columns.items()]
    return {
        "metaData": {
            "id": "11111111-2222-3333-4444-555555555555",
            "description": HOSTILE,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": list(partition),
            "configuration": configuration,
            "createdTime": 1_772_460_311_000,
        }
    }


def add(path: str, rows: int, partition: dict[str, str] | None = None, **bounds: tuple[Any, Any]) -> dict[str, Any]:
    """Return an add action with statistics."""
    stats = {
        "numRecords": rows,
        "minValues": {name: low for name, (low, _) in bounds.items()},
        "maxValues": {name: high for name, (_, high) in bounds.items()},
        "nullCount": dict.fromkeys(bounds, 0),
    }
    return {
        "add": {
            "path": path,
            "partitionValues": partition or {},
            "size": 1000 + rows,
            "modificationTime": 1_772_460_311_000,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
    }


def hostile_table(folder: Path) -> Path:
    """Write a table in which every string that a page could show is hostile."""
    name = "c" + HOSTILE.replace("\u202e", "")
    long = "x" * 300
    return write_table(
        folder,
        [
            [
                commit_info(HOSTILE, userName=HOSTILE, engineInfo=HOSTILE),
                protocol(),
                metadata({name: "string", long: "long"}, (), **{HOSTILE: HOSTILE}),
            ],
            [
                commit_info("WRITE", userName=HOSTILE, userMetadata=HOSTILE, operationParameters={HOSTILE: HOSTILE}),
                add(
                    "%3Cimg%20src=x%20onerror=window.hacked=1%3E.parquet",
                    3,
                    None,
                    **{name: (HOSTILE, HOSTILE + "z"), long: (1, 2)},
                ),
                add("long-" + "y" * 300 + ".parquet", 5, None, **{name: ("a", "b"), long: (1, 9)}),
            ],
        ],
    )


def broken_table(folder: Path) -> Path:
    """Write a table whose third commit breaks off in the middle of a line."""
    table = write_table(
        folder,
        [
            [commit_info("CREATE TABLE"), protocol(), metadata({"id": "long"})],
            [commit_info("WRITE"), add("a.parquet", 3, None, id=(1, 3))],
            [commit_info("WRITE"), add("b.parquet", 4, None, id=(4, 7))],
        ],
    )
    last = table / "_delta_log" / f"{2:020}.json"
    last.write_bytes(last.read_bytes()[:-30])
    return table


def gap_table(folder: Path) -> Path:
    """Write a table that lacks a commit in the middle."""
    commits = [[commit_info("WRITE"), add(f"{n}.parquet", n, None, id=(n, n))] for n in range(1, 5)]
    table = write_table(folder, [[commit_info("CREATE TABLE"), protocol(), metadata({"id": "long"})], *commits])
    (table / "_delta_log" / f"{2:020}.json").unlink()
    return table


def future_table(folder: Path) -> Path:
    """Write a table that demands a reader feature nobody knows."""
    demands = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timeMachine"],
            "writerFeatures": ["timeMachine"],
        }
    }
    return write_table(folder, [[commit_info("CREATE TABLE"), demands, metadata({"id": "long"})]])


def empty_table(folder: Path) -> Path:
    """Write a table that was created and never written to."""
    return write_table(folder, [[commit_info("CREATE TABLE"), protocol(), metadata({"id": "long"})]])
