"""From an intent to its effect: one module for each family of intents, all pure.

In: an intent, the `Snapshot` that it changes, and `Circumstances`: the time and fresh identifiers.
Out: a `Proposal`: new metadata and protocol, files added and removed, domains, row checks, and what it relied on.
Always: a proposal starts from the records in force and changes what the intent names, so fields and keys that this
program does not know are kept (META-009). What makes no sense on this table is `InvalidIntent`; what must not be done
now is a failed guard.

Protocol section: Requirements for Writers.
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals import (
    add_columns,
    column_changes,
    column_mapping,
    constraints,
    domain_metadata,
    features,
    rename_drop_columns,
    table_properties,
)
from explorer.core.transaction.proposals.entry import ProposalEntry
from explorer.core.versions.snapshot import Snapshot

_ENTRIES: Final[dict[type[msgspec.Struct], ProposalEntry]] = {
    entry.intent: entry
    for module in (
        add_columns,
        constraints,
        column_mapping,
        column_changes,
        domain_metadata,
        rename_drop_columns,
        table_properties,
        features,
    )
    for entry in module.PROPOSALS
}


def propose(intent: Intent, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Make the proposal of an intent that needs only the version it changes.

    Raises:
        InvalidIntent: The intent makes no sense on this version; ``field`` names what is wrong.
    """
    entry = _ENTRIES.get(type(intent))
    if entry is None:
        raise InvalidIntent(f"The intent {intent_kind(intent)} cannot be proposed from a version alone.")
    return entry.propose(intent, snapshot, circumstances)
