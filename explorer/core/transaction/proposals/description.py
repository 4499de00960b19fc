"""The table's description: text for people, in the metadata.

Protocol section: Change Metadata.
"""

from __future__ import annotations

import msgspec

from explorer.core.transaction.intents.records import SetDescription
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["set_description"]


def set_description(intent: SetDescription, snapshot: Snapshot) -> Proposal:
    """Set or remove the description; the reference writes it as a property named ``comment``."""
    before = snapshot.metadata.description
    text = intent.description or ""
    return Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": msgspec.json.encode({"comment": text}).decode()},
        metadata=msgspec.structs.replace(snapshot.metadata, description=intent.description),
        undo=f"Set the description to {before!r} again." if before else "Remove the description again.",
    )
