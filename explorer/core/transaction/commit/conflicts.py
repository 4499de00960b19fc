"""Whether a commit that took a version first conflicts with a proposal.

Protocol: Delta Log Entries leaves this to writers; the rules are those of the reference writer, by the isolation level
of the commit. Invariants: a proposal goes on top of the newest version only after every commit since the version that
it read was judged (LOG-023); a file that another commit added is left out of account only if its partition values or
its statistics prove that it holds nothing of what the proposal read; in doubt it is a conflict.
"""

from __future__ import annotations

from typing import Final

from explorer.core.log.commit import Commit
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.row_tracking import DOMAIN as ROW_TRACKING
from explorer.core.transaction.commit_info import isolation_level
from explorer.core.transaction.commit_plan import Conflict
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.reads import Reads, first_read
from explorer.core.versions.snapshot import Snapshot

__all__ = ["conflict_with", "holds_transaction"]

_LONGEST_NAME: Final = 200


def holds_transaction(commit: Commit, txn_id: str) -> bool:
    """True if a commit has this identifier: it is ours, whatever the store answered."""
    info = commit.commit_info()
    return info is not None and info.txn_id == txn_id


def conflict_with(proposal: Proposal, winner: Commit, read: Snapshot | None = None) -> Conflict | None:
    """Judge a commit that took a version first.

    Args:
        proposal: What is to be committed.
        winner: The commit.
        read: The version that the proposal was made for; None if there was no table.

    Returns:
        Why the two conflict, or None if the proposal may be made again on top of it.
    """
    if winner.protocol() is not None and proposal.protocol is not None:
        return _conflict(winner, "protocol", "both change the protocol")
    if winner.metadata() is not None:
        return _conflict(winner, "metaData", "it changed the metadata that this commit depends on")
    applications = {*proposal.read_applications, *(txn.app_id for txn in proposal.transactions)}
    for transaction in winner.transactions():
        if transaction.app_id in applications:
            return _conflict(winner, "txn", f"both write for the application {transaction.app_id!r}")
    domains = {domain.domain for domain in proposal.domains if domain.domain != ROW_TRACKING}
    for domain in winner.domains():
        if domain.domain in domains:
            return _conflict(winner, "domainMetadata", f"both set the domain {domain.domain!r}")
    return _removed_conflict(proposal, winner) or _added_conflict(proposal, winner, read)


def _removed_conflict(proposal: Proposal, winner: Commit) -> Conflict | None:
    """A file that both remove, or that this commit read; a masked file is removed and added with another vector."""
    removed = {canonical_key(action.path) for action in proposal.removes}
    reads = _reads(proposal)
    for line in winner.lines:
        if line.remove is None:
            continue
        key = canonical_key(line.remove.path)
        if key in removed:
            why = f"it removed a file, or rows of a file, that this commit removes too: {key}"
            return _conflict(winner, "remove", why)
        if reads is not None and (reads.files is None or key in reads.files):
            why = f"it removed a file, or rows of a file, that this commit read: {key}"
            return _conflict(winner, "remove", why)
    return None


def _added_conflict(proposal: Proposal, winner: Commit, read: Snapshot | None) -> Conflict | None:
    """A file that this commit would have read, had it been there."""
    reads = _reads(proposal)
    if reads is None or not _matters(proposal, winner, isolation_level(proposal, read)):
        return None
    added = [line.add for line in winner.lines if line.add is not None]
    found = first_read(reads, added, read)
    if found is None:
        return None
    why = f"it added a file that this commit did not see, and would have read: {canonical_key(found.path)}"
    return _conflict(winner, "add", why)


def _reads(proposal: Proposal) -> Reads | None:
    """What a proposal read; rows that are checked are all rows."""
    if proposal.row_checks:
        return Reads()
    return proposal.reads if proposal.reads_files else None


def _matters(proposal: Proposal, winner: Commit, level: str) -> bool:
    """Whether the files that a commit added matter at an isolation level."""
    match level:
        case "SnapshotIsolation":
            return False
        case "WriteSerializable":
            # What was added blindly may as well come after this commit, unless it has to obey its metadata.
            info = winner.commit_info()
            return proposal.metadata is not None or info is None or info.is_blind_append is not True
        case _:
            return True


def _conflict(winner: Commit, action: str, why: str) -> Conflict:
    info = winner.commit_info()
    words = (
        [] if info is None else [info.operation or "", f"by {info.user_name[:_LONGEST_NAME]}" if info.user_name else ""]
    )
    said = " ".join(word for word in words if word)
    return Conflict(
        winner.version, action, f"Version {winner.version}{f' ({said})' if said else ''} came first: {why}."
    )
