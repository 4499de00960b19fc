"""Tables for the tests of catalogs, made by the contract's own calls: on the tests' server, or on a real one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.catalogs.client import CatalogClient

BASE = "/delta/v1/catalogs/main/schemas/shop"
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "name", "type": "string", "nullable": True, "metadata": {}},
    ],
}


def folder_of(location: str) -> Path:
    """Return the folder of a ``file:`` URL."""
    return Path(unquote(urlsplit(location).path))


def create_managed(client: CatalogClient, name: str, properties: dict[str, str], *, columns: int = 2) -> Path:
    """Create a table whose commits the catalog manages: the staging table, version 0 in its log, the table.

    Args:
        columns: How many of the columns of `SCHEMA` it has.
    """
    schema = {**SCHEMA, "fields": SCHEMA["fields"][:columns]}
    staged: dict[str, Any] = msgspec.json.decode(client._http.post(f"{BASE}/staging-tables", {"name": name}))
    required = staged["required-protocol"]
    configuration = {**staged["required-properties"], **properties}
    now = time.time_ns() // 1_000_000
    protocol = {
        "minReaderVersion": required["min-reader-version"],
        "minWriterVersion": required["min-writer-version"],
        "readerFeatures": required["reader-features"],
        "writerFeatures": required["writer-features"],
    }
    info = {
        "inCommitTimestamp": now, "timestamp": now, "operation": "CREATE TABLE", "operationParameters": {},
        "engineInfo": "tests", "txnId": str(uuid4()),
    }  # fmt: skip
    metadata = {
        "id": str(uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema),
        "partitionColumns": [], "configuration": configuration, "createdTime": now,
    }  # fmt: skip
    log = folder_of(staged["location"]) / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    lines = ({"commitInfo": info}, {"protocol": protocol}, {"metaData": metadata})
    (log / f"{0:020d}.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    client._http.post(
        f"{BASE}/tables",
        {
            "name": name, "location": staged["location"], "table-type": "MANAGED", "columns": schema,
            "protocol": required, "properties": configuration, "last-commit-timestamp-ms": now,
        },
    )  # fmt: skip
    return folder_of(staged["location"])


def stage_rows(client: CatalogClient, name: str, ids: list[int], version: int) -> str:
    """Commit rows as another writer does: a data file, a staged commit, and the catalog's consent; not published.

    Returns:
        The name of the staged commit.
    """
    path = f"{BASE}/tables/{name}"
    loaded: dict[str, Any] = msgspec.json.decode(client._http.get(path))
    folder = folder_of(loaded["metadata"]["location"])
    file = f"part-{uuid4()}.parquet"
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{number}" for number in ids]}), folder / file)
    now = max(time.time_ns() // 1_000_000, loaded["metadata"]["updated-time"] + 1) + version
    stats = json.dumps({"numRecords": len(ids), "minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}})
    add = {
        "path": file, "partitionValues": {}, "size": (folder / file).stat().st_size, "modificationTime": now,
        "dataChange": True, "stats": stats,
    }  # fmt: skip
    info = {
        "inCommitTimestamp": now, "timestamp": now, "operation": "WRITE", "operationParameters": {"mode": "Append"},
        "isBlindAppend": True, "engineInfo": "another writer", "txnId": str(uuid4()),
    }  # fmt: skip
    content = "".join(f"{json.dumps(line)}\n" for line in ({"commitInfo": info}, {"add": add}))
    staged = f"{version:020d}.{uuid4()}.json"
    target = folder / "_delta_log" / "_staged_commits" / staged
    target.write_text(content, "utf-8")
    client._http.post(
        path,
        {
            "requirements": [{"type": "assert-table-uuid", "uuid": loaded["metadata"]["table-uuid"]}],
            "updates": [
                {
                    "action": "add-commit",
                    "commit": {
                        "version": version, "timestamp": now, "file-name": staged,
                        "file-size": len(content), "file-modification-timestamp": now,
                    },
                }
            ],
        },
    )  # fmt: skip
    return staged
