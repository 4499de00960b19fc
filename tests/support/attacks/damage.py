"""Damaged copies of small tables, and what may be read of them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.file_paths import canonical_key, decode_path
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import new_store

_ADD = ("path", "partitionValues", "size", "modificationTime", "deletionVector")
_ANSWERED = [
    *("protocol", "metaData", "txn", "domainMetadata", "sidecar", "remove.path", "remove.deletionVector"),
    *(f"add.{name}" for name in _ADD),
]
Files = dict[str, bytes]
Answer = dict[str, Any]


class Damage(msgspec.Struct, frozen=True):
    """One file cut short, overwritten at some places, or given a bit flip."""

    file: str
    kind: str
    place: int
    content: bytes = b""

    def applied(self, files: Files) -> Files:
        """The files with the damage."""
        data = files[self.file]
        place = self.place % (len(data) + 1)
        match self.kind:
            case "truncate":
                changed = data[:place]
            case "overwrite":
                changed = data[:place] + self.content + data[place + len(self.content) :]
            case "insert":
                changed = data[:place] + self.content + data[place:]
            case "replace":
                changed = self.content
            case _:
                place = min(place, max(len(data) - 1, 0))
                bit = 1 << (self.content[0] % 8) if self.content else 1
                changed = data[:place] + bytes([data[place] ^ bit] if data else []) + data[place + 1 :]
        return {**files, self.file: changed}


def stored(files: Files) -> LogStore:
    """A store in memory with these files."""
    store = new_store()
    for name, data in files.items():
        store.put_if_absent(name, data)
    return store


def answers(files: Files) -> dict[int, Answer | None]:
    """What the explorer reads at every version; None where it refuses. Anything but a typed error passes through."""
    found: dict[int, Answer | None] = {}
    store = stored(files)
    table = _typed(lambda: explorer.Table(store))
    if table is None:
        return found
    for version in range(table.latest_version() + 1):
        snapshot = _typed(lambda: table.snapshot(version))  # noqa: B023 - called at once
        found[version] = None if snapshot is None else _typed(lambda: answer(snapshot))  # noqa: B023 - called at once
    for action in (table.history, table.column_lineage, table.verify, table.version_range):
        _typed(action)
    return found


def _typed(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except ExplorerError as error:
        # An error is a record for programs too, whatever bytes it speaks of.
        json.dumps(error.facts())
        return None


def answer(snapshot: explorer.Snapshot) -> Answer:
    """A version as plain values; whatever else a snapshot offers is called too."""
    columns = ["raw_path", "dv_unique_id", "size", "modification_time", "partition_values", "dv_cardinality"]
    files = snapshot.files(columns)
    rows = zip(*(column.to_pylist(maps_as_pydicts="strict") for column in files.columns), strict=True)
    masked = {}
    for path, vector in zip(files.column(0).to_pylist(), files.column(1).to_pylist(), strict=True):
        if vector is not None:
            rows_of = _typed(lambda: snapshot.deletion_vector_rows(path).tolist())  # noqa: B023 - called at once
            masked[path, vector] = rows_of
    for action in (snapshot.statistics, snapshot.statistics_coverage, snapshot.statistics_problems):
        _typed(action)
    return {
        "protocol": (snapshot.protocol.min_reader_version, snapshot.protocol.min_writer_version),
        "metadata": (snapshot.metadata.id, snapshot.metadata.schema_string, dict(snapshot.metadata.configuration)),
        "transactions": snapshot.transactions,
        "domains": snapshot.domain_metadata,
        "files": sorted(((*row[:4], sorted(row[4].items()), row[5]) for row in rows), key=repr),
        "masked": masked,
    }


def plain_answer(files: Files, version: int) -> Answer | None:
    """The same by a reader without any cleverness: every action as a dict; None where it cannot be done."""
    try:
        segment = list_log(stored(files)).segment(version)
        actions: list[list[dict[str, Any]]] = []
        if segment.checkpoint is not None:
            parts = [action for part in segment.checkpoint.parts for action in _actions(files, part.path)]
            names = [decode_path(action["sidecar"]["path"]) for action in parts if action.get("sidecar")]
            for name in names:
                parts += _actions(files, name if "/" in name else f"_delta_log/_sidecars/{name}")
            actions.append([action for action in parts if not action.get("remove")])
        actions += [_actions(files, path.path) for path in segment.commits]
        return _replayed(actions)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, pa.ArrowException, ExplorerError):
        return None


def _actions(files: Files, path: str) -> list[dict[str, Any]]:
    if path.endswith(".parquet"):
        # Pages of columns that no answer holds may be broken without making it wrong.
        table = pq.ParquetFile(io.BytesIO(files[path])).read(columns=_ANSWERED)
        rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
        return rows
    return [msgspec.json.decode(line) for line in files[path].split(b"\n") if line.strip()]


def _replayed(commits: list[list[dict[str, Any]]]) -> Answer:
    protocol: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    transactions: dict[str, int] = {}
    domains: dict[str, str] = {}
    live: dict[str, dict[str, Any]] = {}
    for actions in commits:
        for action in actions:
            protocol = action.get("protocol") or protocol
            metadata = action.get("metaData") or metadata
            if txn := action.get("txn"):
                transactions[txn["appId"]] = txn["version"]
            if domain := action.get("domainMetadata"):
                domains.pop(domain["domain"], None)
                if not domain.get("removed"):
                    domains[domain["domain"]] = domain.get("configuration") or ""
            if add := action.get("add"):
                live[canonical_key(add["path"])] = add
            elif remove := action.get("remove"):
                key = canonical_key(remove["path"])
                if key in live and _vector(live[key]) == _vector(remove):
                    del live[key]
    rows = [
        (
            add["path"],
            _vector(add),
            add.get("size"),
            add.get("modificationTime"),
            sorted((add.get("partitionValues") or {}).items()),
            (add.get("deletionVector") or {}).get("cardinality"),
        )
        for add in live.values()
    ]
    return {
        "protocol": (protocol["minReaderVersion"], protocol["minWriterVersion"]),
        "metadata": (metadata["id"], metadata.get("schemaString"), metadata.get("configuration") or {}),
        "transactions": transactions,
        "domains": domains,
        "files": sorted(rows, key=repr),
    }


def _vector(action: dict[str, Any]) -> str | None:
    vector = action.get("deletionVector")
    if not vector:
        return None
    name = f"{vector['storageType']}{vector['pathOrInlineDv']}"
    return name if vector.get("offset") is None else f"{name}@{vector['offset']}"
