"""The lines of a commit, and whether a commit that came first stands against it.

Protocol sections: Requirements for Writers, Commit Provenance Information, In-Commit Timestamps, and the conflict rules
of the reference writer. Invariants: commitInfo is the first line (ICT-001) with the fields of WRITER-005; a proposal is
committed on the newest version only after every commit since the one it read was judged (LOG-023).
"""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.core.errors import RequestError
from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import CommitInfo, encode_line
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.row_tracking import DOMAIN as ROW_TRACKING
from explorer.core.protocol.table_properties.values import flag
from explorer.core.transaction.commit_plan import Conflict
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.history import ENABLE_ICT, ICT_TIMESTAMP, ICT_VERSION
from explorer.core.versions.snapshot import Snapshot

__all__ = [
    "ENGINE",
    "check_provenance",
    "commit_bytes",
    "commit_info",
    "commit_lines",
    "conflict_with",
    "has_timestamp",
    "holds_transaction",
    "in_commit_timestamp",
    "shown_lines",
    "with_timestamp",
]

ENGINE = "Delta-Table-Explorer"
"""The name under which this program writes, before its version in ``engineInfo``."""


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
) -> CommitInfo:
    """Return the provenance of a commit.

    Args:
        proposal: What is committed.
        read_version: The version it rests on, -1 for a new table.
        now: The writer's clock in ms since the epoch.
        txn_id: The commit's own identifier.
        engine: ``engineInfo``.
        user: Who commits.
        reason: Why, in the person's words.
        timestamp: The in-commit timestamp in ms, where the table has them.
    """
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
        isolation_level=proposal.isolation,
        txn_id=txn_id,
        unknown={"tags": dict(proposal.tags)} if proposal.tags else {},
    )


def in_commit_timestamp(now: int, previous: int | None) -> int:
    """The in-commit timestamp of an attempt (ICT-002): ms since the epoch, later than the one before."""
    return now if previous is None else max(now, previous + 1)


def has_timestamp(proposal: Proposal, snapshot: Snapshot | None) -> bool:
    """True if the commit must carry an in-commit timestamp: they are enabled after it (ICT-001)."""
    metadata = proposal.metadata or (snapshot.metadata if snapshot is not None else None)
    return metadata is not None and flag(metadata.configuration, ENABLE_ICT)


def with_timestamp(proposal: Proposal, snapshot: Snapshot | None, timestamp: int) -> Proposal:
    """Return the proposal as it is committed with this in-commit timestamp.

    A commit that enables in-commit timestamps on a table that is there already says since when (ICT-003); the moment
    is known only when the commit is written.
    """
    metadata = proposal.metadata
    if metadata is None or snapshot is None or flag(snapshot.metadata.configuration, ENABLE_ICT):
        return proposal
    since = {ICT_VERSION: str(snapshot.version + 1), ICT_TIMESTAMP: str(timestamp)}
    marked = msgspec.structs.replace(metadata, configuration={**metadata.configuration, **since})
    return msgspec.structs.replace(proposal, metadata=marked)


def check_provenance(*, user: str | None = None, reason: str | None = None) -> None:
    """Check that what people say of a commit can be written into a log, which is UTF-8; it is kept as it is.

    Raises:
        RequestError: One is no text, or holds half a surrogate pair.
    """
    for field, text in (("user", user), ("reason", reason)):
        if text is None:
            continue
        if not isinstance(text, str):
            raise RequestError(f"The {field} of a commit is text, not {type(text).__name__}.", field=field)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RequestError(
                f"The {field} holds half a surrogate pair, so it cannot be written into a log.", field=field
            ) from error


def commit_lines(proposal: Proposal, info: CommitInfo) -> tuple[dict[str, Any], ...]:
    """Return the lines of a commit as JSON objects, for showing."""
    return shown_lines(commit_bytes(proposal, info))


def shown_lines(data: bytes) -> tuple[dict[str, Any], ...]:
    """Return the lines of the content of a commit file as JSON objects."""
    return tuple(msgspec.json.decode(line) for line in data.splitlines())


def commit_bytes(proposal: Proposal, info: CommitInfo) -> bytes:
    """Return the content of the commit file, one action a line (LOG-007)."""
    return b"".join(encode_line(action) + b"\n" for action in (info, *proposal.actions()))


def holds_transaction(commit: Commit, txn_id: str) -> bool:
    """True if a commit carries this identifier: it is ours, whatever the store answered."""
    info = commit.commit_info()
    return info is not None and info.txn_id == txn_id


def conflict_with(proposal: Proposal, winner: Commit) -> Conflict | None:
    """Judge a commit that took a version first.

    Returns:
        Why the two cannot both hold, or None if the proposal may be made anew on top of it.
    """
    if winner.protocol() is not None and proposal.protocol is not None:
        return _conflict(winner, "protocol", "both change the protocol")
    if winner.metadata() is not None:
        return _conflict(winner, "metaData", "it changed the metadata that this commit rests on")
    applications = {*proposal.read_applications, *(txn.app_id for txn in proposal.transactions)}
    for transaction in winner.transactions():
        if transaction.app_id in applications:
            return _conflict(winner, "txn", f"both write for the application {transaction.app_id!r}")
    domains = {domain.domain for domain in proposal.domains if domain.domain != ROW_TRACKING}
    for domain in winner.domains():
        if domain.domain in domains:
            return _conflict(winner, "domainMetadata", f"both set the domain {domain.domain!r}")
    return _file_conflict(proposal, winner)


def _file_conflict(proposal: Proposal, winner: Commit) -> Conflict | None:
    """What the other commit did to the files that this one removes or looked at.

    A commit that leaves all rows as they are (SnapshotIsolation) does not mind files that came.
    """
    removed = {canonical_key(action.path) for action in proposal.removes}
    reads = proposal.reads_files or bool(proposal.row_checks)
    for line in winner.lines:
        if line.remove is not None:
            if canonical_key(line.remove.path) in removed:
                why = f"it removed a file that this commit removes too: {line.remove.path}"
                return _conflict(winner, "remove", why)
            if reads:
                return _conflict(winner, "remove", f"it removed a file that this commit read: {line.remove.path}")
        if line.add is not None and reads and proposal.isolation != "SnapshotIsolation":
            return _conflict(winner, "add", f"it added a file that this commit did not see: {line.add.path}")
    return None


def _conflict(winner: Commit, action: str, why: str) -> Conflict:
    info = winner.commit_info()
    operation = f" ({info.operation})" if info is not None and info.operation else ""
    return Conflict(winner.version, action, f"Version {winner.version}{operation} came first: {why}.")
