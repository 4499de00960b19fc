"""The lines of a commit, its provenance first.

Protocol sections: Requirements for Writers, Commit Provenance Information, In-Commit Timestamps. Invariants: commitInfo
is the first line (ICT-001) with the fields of WRITER-005; an in-commit timestamp is later than that of the version
before it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import CommitInfo, encode_line
from explorer.core.protocol.json_values import JsonObject, decode_json
from explorer.core.protocol.table_properties.registry import (
    ICT_ENABLEMENT_TIMESTAMP,
    ICT_ENABLEMENT_VERSION,
    IN_COMMIT_TIMESTAMPS,
    ISOLATION_LEVEL,
)
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.snapshot import Snapshot

ENGINE = OWN_ENGINE
"""The name under which this program writes, before its version in ``engineInfo``."""

IDENTITY_TAG = "delta.identity.schemaUpdate"
"""Tag of a commit that moves the high-water mark of an identity column."""

ROWS_KEPT_TAG = "delta.rowTracking.preserved"
"""Tag of a commit with whether rows kept their ids."""


def commit_info(
    proposal: Proposal,
    *,
    read_version: int,
    now: int,
    txn_id: str,
    engine: str,
    user: str | None = None,
    reason: str | None = None,
    timestamp: int | None = None,
    isolation: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> CommitInfo:
    """Return the provenance of a commit.

    Args:
        read_version: The version it builds on, -1 for a new table.
        now: The writer's clock in ms since the epoch.
        engine: ``engineInfo``.
        timestamp: The in-commit timestamp in ms, where the table has them.
        isolation: The level from `isolation_level`; None for that of the proposal.
        tags: Tags besides those of the proposal.
    """
    all_tags: JsonObject = {**proposal.tags, **(tags or {})}
    return CommitInfo(
        timestamp=now,
        in_commit_timestamp=timestamp,
        operation=proposal.operation,
        operation_parameters=proposal.parameters,
        operation_metrics=dict(proposal.metrics),
        user_name=user,
        user_metadata=reason,
        engine_info=engine,
        read_version=read_version if read_version >= 0 else None,
        is_blind_append=proposal.is_blind_append,
        isolation_level=isolation or proposal.isolation,
        txn_id=txn_id,
        unknown={"tags": all_tags} if all_tags else {},
    )


def isolation_level(proposal: Proposal, snapshot: Snapshot | None) -> str:
    """Return the isolation level of a commit against those that come first.

    A commit that changes no row has ``SnapshotIsolation``. Any other has the level of the table's property:
    ``WriteSerializable`` lets rows that were added blindly come after it; every other value counts as the strictest,
    ``Serializable``.
    """
    if snapshot is None or proposal.isolation != "Serializable":
        return proposal.isolation
    level = ISOLATION_LEVEL.of(snapshot.metadata.configuration)
    return "WriteSerializable" if level == "writeserializable" else "Serializable"


def in_commit_timestamp(now: int, previous: int | None) -> int:
    """Return the in-commit timestamp of an attempt (ICT-002): ms since the epoch, later than the one before."""
    return now if previous is None else max(now, previous + 1)


def has_timestamp(proposal: Proposal, snapshot: Snapshot | None) -> bool:
    """Return True if the commit must carry an in-commit timestamp: they are enabled after it (ICT-001)."""
    metadata = proposal.metadata or (snapshot.metadata if snapshot is not None else None)
    return metadata is not None and IN_COMMIT_TIMESTAMPS.of(metadata.configuration)


def with_timestamp(proposal: Proposal, snapshot: Snapshot | None, timestamp: int) -> Proposal:
    """Return the proposal as it is committed with this in-commit timestamp.

    A commit that enables in-commit timestamps on an existing table records from when (ICT-003); the time
    is known only when the commit is written.
    """
    metadata = proposal.metadata
    if metadata is None or snapshot is None or IN_COMMIT_TIMESTAMPS.of(snapshot.metadata.configuration):
        return proposal
    since = {ICT_ENABLEMENT_VERSION.key: str(snapshot.version + 1), ICT_ENABLEMENT_TIMESTAMP.key: str(timestamp)}
    marked = msgspec.structs.replace(metadata, configuration={**metadata.configuration, **since})
    return msgspec.structs.replace(proposal, metadata=marked)


def check_provenance(*, user: str | None = None, reason: str | None = None) -> None:
    """Check that user and reason can be written into a log, which is UTF-8; they are stored unchanged.

    Raises:
        RequestError: One is not a text, or contains an unpaired surrogate.
    """
    for field, text in (("user", user), ("reason", reason)):
        if text is None:
            continue
        if not isinstance(text, str):
            raise RequestError(f"The {field} of a commit must be text, not {type(text).__name__}.", field=field)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RequestError(
                f"The {field} contains an unpaired surrogate, so it cannot be written into a log.", field=field
            ) from error


def commit_lines(proposal: Proposal, info: CommitInfo) -> tuple[JsonObject, ...]:
    """Return the lines of a commit as JSON objects, for showing."""
    return shown_lines(commit_bytes(proposal, info))


def shown_lines(data: bytes) -> tuple[JsonObject, ...]:
    """Return the lines of the content of a commit file as JSON objects."""
    return tuple(decode_json(line) for line in data.splitlines())


def commit_bytes(proposal: Proposal, info: CommitInfo) -> bytes:
    """Return the content of the commit file, one action a line (LOG-007)."""
    return b"".join(encode_line(action) + b"\n" for action in (info, *proposal.actions()))
