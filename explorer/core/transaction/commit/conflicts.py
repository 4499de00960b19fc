"""What keeps a plan from being committed: commits that came first, and the errors of such outcomes.

Protocol: Delta Log Entries leaves conflicts to writers; the rules are those of the reference writer, by the isolation
level of the commit. Invariants: a proposal goes on top of the newest version only after every commit since the version
that it read was judged (LOG-023); a file that another commit added is ignored only if its partition values or its
statistics prove that the proposal read nothing of it, and conflicts otherwise; the facts of an error are
those of the result.
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import CommitConflict, CommitError, CommitUnknown, GuardFailed
from explorer.core.log.commit import Commit
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.row_tracking import DOMAIN as ROW_TRACKING
from explorer.core.transaction.commit_info import isolation_level
from explorer.core.transaction.commit_plan import CommitResult, Conflict, JudgedPlan
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.reads import Reads, first_read
from explorer.core.versions.snapshot import Snapshot

_LONGEST_NAME: Final = 200


def holds_transaction(commit: Commit, txn_id: str) -> bool:
    """Return True if a commit has this identifier: it is ours, whatever the store answered."""
    info = commit.commit_info()
    return info is not None and info.txn_id == txn_id


def conflict_with(proposal: Proposal, winner: Commit, read: Snapshot | None = None) -> Conflict | None:
    """Judge a commit that took a version first.

    Args:
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
    """Find a file that both remove, or that this commit read; masking removes a file and adds it again."""
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
    """Return a file that this commit would have read, had it been there."""
    reads = _reads(proposal)
    if reads is None or not _matters(proposal, winner, isolation_level(proposal, read)):
        return None
    added = [line.add for line in winner.lines if line.add is not None]
    unseen = first_read(reads, added, read)
    if unseen is None:
        return None
    why = f"it added a file that this commit did not see, and would have read: {canonical_key(unseen.path)}"
    return _conflict(winner, "add", why)


def _reads(proposal: Proposal) -> Reads | None:
    """Return what a proposal read: all rows where rows are checked."""
    if proposal.row_checks:
        return Reads()
    return proposal.reads if proposal.reads_files else None


def _matters(proposal: Proposal, winner: Commit, level: str) -> bool:
    """Return whether the files that a commit added matter at an isolation level."""
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
    described = " ".join(word for word in words if word)
    return Conflict(
        winner.version, action, f"Version {winner.version}{f' ({described})' if described else ''} came first: {why}."
    )


def error_of(result: CommitResult) -> CommitError:
    """Return the error for a result that is no commit."""
    match result.outcome:
        case "rejected":
            return guard_failed(result.plan)
        case "conflicted":
            assert result.conflict is not None
            return CommitConflict(
                f"{result.conflict.why} Nothing was committed; make a new plan.",
                winner=result.conflict.version,
                version=result.plan.commit_version,
            )
        case _:
            return CommitUnknown(
                f"The store's answer was lost, and whether version {result.version} is this commit is not known yet. "
                f"Look for the transaction {result.plan.txn_id} in the history.",
                version=result.version,
                found=result.plan.txn_id,
            )


def guard_failed(plan: JudgedPlan) -> GuardFailed:
    """Return the error for a plan that guards block."""
    blocking = [
        {"name": guard.name, "status": guard.status, "evidence": guard.evidence, "remedy": guard.remedy}
        for guard in plan.blocking
    ]
    reasons = "; ".join(_reason(guard).removesuffix(".") for guard in plan.blocking)
    steps = " ".join(dict.fromkeys(guard.remedy for guard in plan.blocking if guard.remedy))
    return GuardFailed(f"This change must not be committed: {reasons}. {steps}".rstrip(), results=blocking)


def _reason(guard: GuardResult) -> str:
    name, detail = f"{guard.name} ({guard.status})", guard.evidence.get("detail")
    return f"{name}: {detail}" if detail else name
