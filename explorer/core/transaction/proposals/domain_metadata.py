"""Domain metadata and transaction identifiers: what other programs keep in the log.

Protocol sections: Domain Metadata, Transaction Identifiers. Invariants: system domains (``delta.*``) cannot be
edited by hand (DOMAIN-003); a transaction version only rises (TXN-003).
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DomainMetadata, TransactionAction
from explorer.core.protocol.table_features import active_features
from explorer.core.transaction.intents.records import RemoveDomain, SetDomain, SetTransaction, check_batch
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.entry import proposes, proposes_alone
from explorer.core.versions.snapshot import Snapshot


def set_domain(intent: SetDomain, snapshot: Snapshot) -> Proposal:
    """Set a domain's configuration.

    Raises:
        InvalidIntent: The name is empty or belongs to the system.
    """
    _check_name(intent.domain)
    before = snapshot.domain_metadata.get(intent.domain)
    undo = f"Remove the domain {intent.domain!r}." if before is None else f"Set it to {before!r} again."
    return Proposal(
        operation="SET DOMAIN METADATA",
        parameters={"domain": intent.domain},
        domains=(DomainMetadata(domain=intent.domain, configuration=intent.configuration),),
        guards=(_supported(snapshot),),
        undo=undo,
    )


def remove_domain(intent: RemoveDomain, snapshot: Snapshot) -> Proposal:
    """Remove a domain; its last configuration stays in the tombstone (DOMAIN-002).

    Raises:
        InvalidIntent: There is no such domain, or it belongs to the system.
    """
    _check_name(intent.domain)
    before = snapshot.domain_metadata.get(intent.domain)
    if before is None:
        known = sorted(name for name in snapshot.domain_metadata if not name.startswith("delta."))
        raise InvalidIntent(
            f"There is no domain {intent.domain!r}. Domains: {', '.join(known) or 'none'}.",
            field="domain",
            allowed=known,
        )
    return Proposal(
        operation="REMOVE DOMAIN METADATA",
        parameters={"domain": intent.domain},
        domains=(DomainMetadata(domain=intent.domain, configuration=before, removed=True),),
        guards=(_supported(snapshot),),
        undo=f"Set the domain {intent.domain!r} to {before!r} again.",
    )


def set_transaction(intent: SetTransaction, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Record how far an application has written.

    Raises:
        InvalidIntent: The application's name is empty, or the version does not fit into 64 bits.
    """
    check_batch(intent.app_id, intent.version, "appId", "version")
    before = snapshot.transactions.get(intent.app_id)
    evidence = {"appId": intent.app_id, "before": before, "after": intent.version}
    risen = before is None or intent.version > before
    guard = GuardResult(
        "transaction-rises",
        "pass" if risen else "fail",
        evidence | {"detail": "The version rises." if risen else f"The application is already at {before}."},
        None if risen else f"Give a version above {before}, or do nothing: the application would skip this batch.",
    )
    return Proposal(
        operation="SET TRANSACTION",
        parameters={"appId": intent.app_id, "version": str(intent.version)},
        transactions=(TransactionAction(app_id=intent.app_id, version=intent.version, last_updated=circumstances.now),),
        read_applications=(intent.app_id,),
        guards=(guard,),
        undo="A transaction version cannot be taken back; restoring an earlier version of the table does not lower it.",
    )


def _check_name(domain: str) -> None:
    if not domain or domain.lower().startswith("delta."):
        raise InvalidIntent(
            f"The domain {domain!r} cannot be set by hand: names that start with delta. belong to Delta itself.",
            field="domain",
        )


def _supported(snapshot: Snapshot) -> GuardResult:
    if "domainMetadata" in active_features(snapshot.protocol):
        detail = "The protocol has the feature domainMetadata."
        return GuardResult("feature-supported", "pass", {"feature": "domainMetadata", "detail": detail})
    return GuardResult(
        "feature-supported",
        "fail",
        {"feature": "domainMetadata", "detail": "The protocol lacks the feature domainMetadata."},
        "Enable the feature domainMetadata first.",
    )


PROPOSALS: Final = (
    proposes_alone(SetDomain, set_domain),
    proposes_alone(RemoveDomain, remove_domain),
    proposes(SetTransaction, set_transaction),
)
"""What the intents of this module propose."""
