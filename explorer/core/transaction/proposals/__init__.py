"""From an intent to its effect: one module for each family of intents, all pure.

In: an intent, the `Snapshot` that it changes, and `Circumstances`: the time and fresh identifiers.
Out: a `Proposal`: new metadata and protocol, files added and removed, domains, row checks, and what it relied on.
Always: a proposal starts from the records in force and changes what the intent names, so fields and keys that this
program does not know stay (META-009). What makes no sense on this table is `InvalidIntent`; what must not be done now
is a failed guard.

Protocol section: Requirements for Writers.
"""

from __future__ import annotations

from explorer.core.errors import InvalidIntent
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals import add_columns as additions
from explorer.core.transaction.proposals import check_constraints as constraints
from explorer.core.transaction.proposals import column_mapping as mapping
from explorer.core.transaction.proposals import comments as columns
from explorer.core.transaction.proposals import comments as descriptions
from explorer.core.transaction.proposals import domain_metadata as domains
from explorer.core.transaction.proposals import not_null as nullability
from explorer.core.transaction.proposals import rename_drop_columns as renames
from explorer.core.transaction.proposals import table_properties as properties
from explorer.core.transaction.proposals import upgrade_protocol as protocols
from explorer.core.transaction.proposals import widen_type as widening
from explorer.core.versions.snapshot import Snapshot

__all__ = ["propose"]


def propose(intent: Intent, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Make the proposal of an intent that needs nothing but the version it changes.

    Args:
        intent: What is asked for. Creation, restoring, row changes and maintenance have entrances of their own.
        snapshot: The version to change.
        circumstances: Time and fresh identifiers.

    Raises:
        InvalidIntent: The intent makes no sense on this version; ``field`` names what is wrong.
    """
    match intent:
        case intents.SetProperties():
            return properties.set_properties(intent, snapshot, circumstances)
        case intents.UnsetProperties():
            return properties.unset_properties(intent, snapshot)
        case intents.UpgradeProtocol():
            return protocols.upgrade_protocol(intent, snapshot, circumstances)
        case intents.EnableFeature():
            return protocols.enable_feature(intent, snapshot, circumstances)
        case intents.AddConstraint():
            return constraints.add_constraint(intent, snapshot)
        case intents.DropConstraint():
            return constraints.drop_constraint(intent, snapshot)
        case intents.SetDescription():
            return descriptions.set_description(intent, snapshot)
        case intents.SetDomain():
            return domains.set_domain(intent, snapshot)
        case intents.RemoveDomain():
            return domains.remove_domain(intent, snapshot)
        case intents.SetTransaction():
            return domains.set_transaction(intent, snapshot, circumstances)
        case _:
            return _of_columns(intent, snapshot, circumstances)


def _of_columns(intent: Intent, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    match intent:
        case intents.SetColumnComment():
            return columns.set_column_comment(intent, snapshot)
        case intents.MoveColumn():
            return columns.move_column(intent, snapshot)
        case intents.SetNotNull():
            return nullability.set_not_null(intent, snapshot)
        case intents.DropNotNull():
            return nullability.drop_not_null(intent, snapshot)
        case intents.AddColumns():
            return additions.add_columns(intent, snapshot, circumstances)
        case intents.RenameColumn():
            return renames.rename_column(intent, snapshot)
        case intents.DropColumns():
            return renames.drop_columns(intent, snapshot)
        case intents.WidenType():
            return widening.widen_type(intent, snapshot)
        case intents.SetColumnMapping():
            return mapping.set_column_mapping(intent, snapshot)
        case _:
            raise InvalidIntent(f"The intent {intent_kind(intent)} cannot be proposed from a version alone.")
