"""One commit as it is shown: author, time, operation, reason, its effect on rows and files, and the totals after it.

Protocol section: Commit Provenance Information. Invariants: rows are those of `amounts`; a number that the log
lacks is None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from explorer.core.log.commit_infos import plain_reason
from explorer.core.protocol.arrow.arrays import Mask
from explorer.core.protocol.arrow.records import records
from explorer.core.versions.commits.amounts import row_amounts


@dataclass(frozen=True, slots=True)
class CommitSummary:
    """One commit. Counts are ``None`` where the log records none.

    Rows are those a reader sees, net of rewrites and of updates; ``num_rows`` is their number after the commit. Sizes
    are bytes. ``updated_masked`` are the updated rows whose earlier values a deletion vector hides. ``written`` is the
    time by the writer's clock, and ``redated`` is True if the commit is drawn at that time.
    """

    version: int
    timestamp: datetime | None
    operation: str
    user_name: str
    engine_info: str
    parameters: dict[str, str | None] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    files_added: int | None = None
    files_removed: int | None = None
    files_remasked: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    rows_masked: int | None = None
    rows_rewritten: int | None = None
    rows_updated: int = 0
    updated_masked: int = 0
    num_files: int | None = None
    num_bytes: int | None = None
    num_rows: int | None = None
    num_deleted_rows: int | None = None
    metadata_changed: bool = False
    protocol_changed: bool = False
    schema_changed: bool = False
    timestamp_basis: str = ""
    written: datetime | None = None
    redated: bool = False

    @property
    def drawn(self) -> datetime | None:
        """The time at which it is drawn; see `explorer.core.versions.commits.commits.Commits.redated`."""
        return self.written if self.redated else self.timestamp

    @property
    def predicate(self) -> str:
        """The predicate; writers record it as text, or as a list of texts in JSON."""
        recorded = self.parameters.get("predicate") or ""
        try:
            parts = json.loads(recorded)
        except (ValueError, RecursionError):
            return recorded
        return " AND ".join(map(str, parts)) if isinstance(parts, list) else recorded

    @property
    def shown_parameters(self) -> tuple[tuple[str, str], ...]:
        """The parameters of its operation with a value, by name, in readable form."""
        parameters = {**self.parameters, "predicate": self.predicate}
        return tuple((name, text) for name, text in sorted(parameters.items()) if text not in (None, "", "[]", "{}"))

    @property
    def form_changes(self) -> tuple[str, ...]:
        """Return which of schema, protocol and properties changed, by name; the first commit creates all of them."""
        if self.version == 0 and self.changes_form:
            return ("created",)
        properties = self.metadata_changed and not self.schema_changed
        named = {"schema": self.schema_changed, "protocol": self.protocol_changed, "properties": properties}
        return tuple(name for name, changed in named.items() if changed)

    @property
    def changes_form(self) -> bool:
        """Whether schema, protocol or properties changed (the diamond)."""
        return self.metadata_changed or self.protocol_changed or self.schema_changed


def summaries(history: pa.Table, redated: Mask) -> list[CommitSummary]:
    """Return the commits of a history in its order.

    Args:
        history: As `DeltaLog.history` returns it, or some rows of it.
        redated: Which of them are drawn at the time by their writers' clocks.
    """
    if not history.num_rows:
        return []
    amounts = row_amounts(history)
    rows_of = (amounts.added, amounts.removed, amounts.masked, amounts.rewritten, amounts.updated,
               amounts.updated_masked)  # fmt: skip
    return [
        CommitSummary(
            **_recorded_facts(row),
            rows_added=added,
            rows_removed=removed,
            rows_masked=masked,
            rows_rewritten=rewritten,
            rows_updated=updated,
            updated_masked=updated_masked,
            redated=is_redated,
        )
        for row, added, removed, masked, rewritten, updated, updated_masked, is_redated in zip(
            records(history), *rows_of, redated.tolist(), strict=True
        )
    ]


def _recorded_facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded facts of a commit as they are, by the names of a summary."""
    return {
        "version": row["version"],
        "timestamp": row["timestamp"],
        "operation": row["operation"] or "commit",
        "user_name": row["user_name"] or "",
        "engine_info": row["engine_info"] or "",
        "parameters": dict(row["parameters"] or ()),
        "metrics": dict(row["metrics"] or ()),
        "reason": plain_reason(row["reason"]),
        "files_added": row["num_files_added"],
        "files_removed": row["num_files_removed"],
        "files_remasked": row["num_files_remasked"],
        "bytes_added": row["bytes_added"],
        "bytes_removed": row["bytes_removed"],
        "num_files": row["num_files"],
        "num_bytes": row["num_bytes"],
        "num_rows": row["num_rows"],
        "num_deleted_rows": row["num_deleted_rows"],
        "metadata_changed": bool(row["metadata_changed"]),
        "protocol_changed": bool(row["protocol_changed"]),
        "schema_changed": bool(row["schema_changed"]),
        "timestamp_basis": row["timestamp_basis"],
        "written": row["commit_info_timestamp"],
    }
