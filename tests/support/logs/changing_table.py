"""A small table that changes: files added, one masked further, one rewritten, and one that a feed describes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.protocol.actions import (
    Action,
    Add,
    AddCDCFile,
    CommitInfo,
    DeletionVectorDescriptor,
    Metadata,
    Protocol,
    Remove,
)
from tests.support.logs.small_logs import write_log
from tests.support.logs.spark_tables import column, masking, struct

__all__ = ["FEED", "Changing", "written"]

FEED = {"delta.enableChangeDataFeed": "true"}
_TIME = 1_700_000_000_000


class Changing:
    """Commits under way.

    Args:
        root: The folder of the table.
        fields: Its columns.
        configuration: Its properties.
    """

    def __init__(
        self, root: Path, fields: Sequence[dict[str, Any]], configuration: Mapping[str, str] | None = None
    ) -> None:
        self.root = root
        self._sizes: dict[str, int] = {}
        features = ("columnMapping", "deletionVectors", "variantType", "typeWidening")
        more = (*features, "changeDataFeed", "rowTracking", "domainMetadata", "appendOnly", "invariants")
        protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=features, writer_features=more)
        self._configuration = dict(configuration or {})
        self.commits: list[list[Action]] = [[protocol, self.schema(fields)]]

    def schema(self, fields: Sequence[dict[str, Any]]) -> Metadata:
        """Return the metadata with these columns."""
        return Metadata(
            id="8d2f4f0e-2a53-4b55-9a4e-222222222222",
            schema_string=json.dumps(struct(*fields)),
            partition_columns=(),
            configuration=self._configuration,
            created_time=_TIME,
        )

    def commit(self, *actions: Action, operation: str = "WRITE", user: str = "ada", reason: str = "") -> None:
        """Add a version."""
        made = msgspec.convert(
            {
                "timestamp": _TIME + 60_000 * len(self.commits),
                "operation": operation,
                "userName": user,
                **({"userMetadata": reason} if reason else {}),
            },
            CommitInfo,
        )
        self.commits.append([made, *actions])

    def add(self, path: str, rows: pa.Table, masked: Sequence[int] = (), base_row_id: int | None = None) -> Add:
        """Write a data file, and return its action."""
        self.root.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, self.root / path)
        self._sizes[path] = (self.root / path).stat().st_size
        return self.live(path, rows.num_rows, masked, base_row_id)

    def live(self, path: str, rows: int, masked: Sequence[int] = (), base_row_id: int | None = None) -> Add:
        """Return the action that adds a file that is there."""
        return Add(
            path=path,
            partition_values={},
            size=self._sizes[path],
            modification_time=_TIME,
            stats=json.dumps({"numRecords": rows}),
            deletion_vector=_vector(masked),
            base_row_id=base_row_id,
            default_row_commit_version=None if base_row_id is None else len(self.commits),
        )

    def remove(self, path: str, masked: Sequence[int] = ()) -> Remove:
        """Return the action that removes a file."""
        return Remove(
            path=path,
            deletion_timestamp=_TIME,
            extended_file_metadata=True,
            partition_values={},
            size=self._sizes[path],
            deletion_vector=_vector(masked),
        )

    def feed(self, path: str, rows: pa.Table) -> AddCDCFile:
        """Write a file of recorded changes, and return its action."""
        pq.write_table(rows, self.root / path)
        return AddCDCFile(path=path, partition_values={}, size=(self.root / path).stat().st_size)

    def write(self) -> Path:
        """Write the log."""
        return write_log(self.root, self.commits)


def written(root: Path, configuration: Mapping[str, str] | None = None) -> Path:
    """Write a table: version 1 adds four rows, 2 masks one, 3 rewrites the file and updates a row, 4 adds one."""
    table = Changing(root, [column("id", "long"), column("name", "string")], configuration)

    def rows(*pairs: tuple[int, str]) -> pa.Table:
        return pa.table({"id": [id_ for id_, _ in pairs], "name": [name for _, name in pairs]})

    table.commit(table.add("a.parquet", rows((1, "one"), (2, "two"), (3, "three"), (4, "four"))))
    table.commit(table.remove("a.parquet"), table.live("a.parquet", 4, [1]), operation="DELETE", reason="asked to")
    table.commit(
        table.remove("a.parquet", [1]),
        table.add("b.parquet", rows((1, "one"), (3, "THREE"), (4, "four"))),
        operation="UPDATE",
        user="bob",
    )
    table.commit(table.add("c.parquet", rows((5, "five"))))
    return table.write()


def _vector(masked: Sequence[int]) -> DeletionVectorDescriptor | None:
    return masking(masked) if masked else None
