"""Whether a commit that took a version first conflicts with a proposal.

Protocol: Delta Log Entries leaves this to writers; the rules are those of the reference writer. Invariants: a proposal
goes on top of the newest version only after every commit since the version that it read was judged (LOG-023); in doubt
it is a conflict.
"""

from __future__ import annotations

from explorer.core.log.commit import Commit
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.row_tracking import DOMAIN as ROW_TRACKING
from explorer.core.transaction.commit_plan import Conflict
from explorer.core.transaction.proposal import Proposal

__all__ = ["conflict_with", "holds_transaction"]


def holds_transaction(commit: Commit, txn_id: str) -> bool:
    """True if a commit has this identifier: it is ours, whatever the store answered."""
    info = commit.commit_info()
    return info is not None and info.txn_id == txn_id


def conflict_with(proposal: Proposal, winner: Commit) -> Conflict | None:
    """Judge a commit that took a version first.

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
    return _file_conflict(proposal, winner)


def _file_conflict(proposal: Proposal, winner: Commit) -> Conflict | None:
    """What the other commit did to the files that this one removes or read.

    Added files do not conflict with a commit that leaves all rows unchanged (SnapshotIsolation).
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
