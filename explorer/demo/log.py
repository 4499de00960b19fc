"""The transaction log of a demo table: actions -> commits, a classic checkpoint, clean-up of old commits.

Protocol sections: Delta Log Entries, Action Reconciliation, Checkpoints (V1 Spec), Last Checkpoint File. Invariants:
a commit's file is created, never replaced; its modification time is the commit's time; the newest protocol, metaData,
transactions, domains and file actions are kept for checkpoints.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.actions import (
    Action,
    Add,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    SetTransaction,
    encode_line,
)
from explorer.core.last_checkpoint import digests
from explorer.core.paths import LAST_CHECKPOINT, checkpoint_name, commit_name
from explorer.demo.provenance import Provenance, milliseconds

__all__ = ["LogWriter"]

ENABLE_ICT: Final = "delta.enableInCommitTimestamps"
_TEXTS: Final = pa.map_(pa.string(), pa.string())
_VECTOR: Final = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_CHECKPOINT: Final = pa.schema(
    {
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": _TEXTS,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "tags": _TEXTS,
                "deletionVector": _VECTOR,
                "stats": pa.string(),
            }
        ),
        "remove": pa.struct(
            {
                "path": pa.string(),
                "deletionTimestamp": pa.int64(),
                "dataChange": pa.bool_(),
                "extendedFileMetadata": pa.bool_(),
                "partitionValues": _TEXTS,
                "size": pa.int64(),
                "deletionVector": _VECTOR,
            }
        ),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "name": pa.string(),
                "description": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": _TEXTS,
                "createdTime": pa.int64(),
            }
        ),
        "protocol": pa.struct(
            {
                "minReaderVersion": pa.int32(),
                "minWriterVersion": pa.int32(),
                "readerFeatures": pa.list_(pa.string()),
                "writerFeatures": pa.list_(pa.string()),
            }
        ),
        "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
    }
)


class LogWriter:
    """Writes the log of one table, and knows the state it adds up to.

    Attributes:
        version: The last committed version, -1 before the first.
    """

    def __init__(self, folder: Path, identities: np.random.Generator) -> None:
        self.folder = folder
        self.version = -1
        self._identities = identities
        self._clock = 0
        self._single: dict[str, Action] = {}
        self._adds: dict[str, Add] = {}
        self._removes: dict[tuple[str, str], Remove] = {}
        (folder / "_delta_log").mkdir(parents=True)

    @property
    def protocol(self) -> Protocol:
        """The protocol in force."""
        found = self._single["protocol"]
        assert isinstance(found, Protocol)
        return found

    @property
    def metadata(self) -> Metadata:
        """The metadata in force."""
        found = self._single["metaData"]
        assert isinstance(found, Metadata)
        return found

    def identity(self) -> uuid.UUID:
        """A new identity: the same in every build with the same seed."""
        return uuid.UUID(bytes=self._identities.bytes(16), version=4)

    def tombstones(self) -> list[Remove]:
        """The files that left the table, with their deletion vectors, in the order they went."""
        return list(self._removes.values())

    def commit(
        self,
        by: Provenance,
        operation: str,
        parameters: Mapping[str, Any],
        actions: Iterable[Action] = (),
        *,
        metrics: Mapping[str, int] | None = None,
        blind: bool = False,
        isolation: str = "Serializable",
    ) -> None:
        """Write the next version: provenance first, then the actions in the order given."""
        actions = list(actions)
        for action in actions:
            self._reconcile(action)
        self.version += 1
        time = milliseconds(by.at)
        assert time > self._clock, f"{self.folder.name} goes back in time at version {self.version}"
        self._clock = time
        in_commit = self.metadata.configuration.get(ENABLE_ICT) == "true"
        info = CommitInfo(
            timestamp=time,
            in_commit_timestamp=time if in_commit else None,
            operation=operation,
            operation_parameters=dict(parameters),
            operation_metrics={name: str(value) for name, value in (metrics or {}).items()},
            user_name=by.user,
            user_metadata=by.reason,
            engine_info=by.engine,
            read_version=self.version - 1 if self.version else None,
            is_blind_append=blind,
            isolation_level=isolation,
            txn_id=str(self.identity()),
        )
        lines = [encode_line(action) for action in (info, *actions)]
        path = self.folder / commit_name(self.version)
        with path.open("xb") as file:
            file.write(b"".join(line + b"\n" for line in lines))
        os.utime(path, (time / 1000, time / 1000))

    def checkpoint(self, by: Provenance) -> None:
        """Write a classic checkpoint of the last version, and the hint that names it."""
        rows = [{action.wire_name: action.to_wire()} for action in self._live_actions()]
        path, time = self.folder / checkpoint_name(self.version), milliseconds(by.at) + 400
        pq.write_table(pa.Table.from_pylist(rows, _CHECKPOINT), path, compression="snappy", store_schema=False)
        hint: dict[str, Any] = {
            "version": self.version,
            "size": len(rows),
            "sizeInBytes": path.stat().st_size,
            "numOfAddFiles": len(self._adds),
        }
        hint["checksum"] = digests(hint)[0]
        last = self.folder / LAST_CHECKPOINT
        last.write_text(json.dumps(hint, separators=(",", ":")))
        for file in (path, last):
            os.utime(file, (time / 1000, time / 1000))

    def clean(self, before: int) -> None:
        """Delete the commits and checkpoints before a version, as the clean-up of expired log files does."""
        for version in range(before):
            for name in (commit_name(version), checkpoint_name(version)):
                (self.folder / name).unlink(missing_ok=True)

    def _reconcile(self, action: Action) -> None:
        match action:
            case Add():
                self._adds[action.path] = action
                self._removes.pop(_key(action), None)
            case Remove():
                current = self._adds.get(action.path)
                if current is not None and _key(current) == _key(action):
                    del self._adds[action.path]
                self._removes[_key(action)] = action
            case SetTransaction():
                self._single[f"txn {action.app_id}"] = action
            case DomainMetadata():
                self._single[f"domain {action.domain}"] = action
            case Protocol() | Metadata():
                self._single[action.wire_name] = action
            case _:
                raise TypeError(f"the demo writes no {action.wire_name}")

    def _live_actions(self) -> list[Action]:
        return [*self._single.values(), *self._adds.values(), *self._removes.values()]


def _key(action: Add | Remove) -> tuple[str, str]:
    vector = action.deletion_vector
    return action.path, "" if vector is None else vector.unique_id
