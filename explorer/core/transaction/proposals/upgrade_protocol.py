"""Raising the protocol: by versions, or by a feature with the property that switches it on.

Protocol sections: Protocol Evolution, Table Features. Invariants: versions and features only rise (PROTO-006); a
feature comes with what it needs (FEAT-009).
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_features import FEATURES
from explorer.core.protocol.table_properties.registry import FEATURE_PREFIX, MIN_READER_VERSION, MIN_WRITER_VERSION
from explorer.core.transaction.intents.property_settings import feature_name
from explorer.core.transaction.intents.records import EnableFeature, SetProperties, UpgradeProtocol
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals.entry import proposes
from explorer.core.transaction.proposals.table_properties import set_properties
from explorer.core.versions.snapshot import Snapshot

__all__ = ["PROPOSALS", "enable_feature", "upgrade_protocol"]


def upgrade_protocol(intent: UpgradeProtocol, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Raise the protocol's versions.

    Raises:
        InvalidIntent: There are no such versions.
    """
    wanted = {
        MIN_READER_VERSION.key: str(intent.min_reader_version),
        MIN_WRITER_VERSION.key: str(intent.min_writer_version),
    }
    return set_properties(SetProperties(properties=wanted), snapshot, circumstances)


def enable_feature(intent: EnableFeature, snapshot: Snapshot, circumstances: Circumstances) -> Proposal:
    """Add a feature, and set the property that switches it on where there is one that does not do so already.

    Raises:
        InvalidIntent: There is no such feature, or it cannot be added to a table that exists.
    """
    name = feature_name(intent.feature, "feature")
    feature = FEATURES[name]
    if feature.why_fixed is not None:
        raise InvalidIntent(f"The feature {name} cannot be added: {feature.why_fixed}.", field="feature")
    wanted = {f"{FEATURE_PREFIX}{name}": "supported"}
    switch = feature.switch
    set_to = "" if switch is None else snapshot.metadata.configuration.get(switch.key, "")
    if switch is not None and not feature.switched_on_by(switch.key, set_to):
        wanted[switch.key] = feature.on[0]
    return set_properties(SetProperties(properties=wanted), snapshot, circumstances, named=wanted)


PROPOSALS: Final = (
    proposes(UpgradeProtocol, upgrade_protocol),
    proposes(EnableFeature, enable_feature),
)
"""What the intents of this module propose."""
