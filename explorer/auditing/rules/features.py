"""The protocol: unused table features and that keep clients out, and legacy versions that demand too much."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject, newest_verdicts
from explorer.auditing.words import named
from explorer.core.compatibility.access import ClientVerdict
from explorer.core.protocol.protocol_evolution import dependents
from explorer.core.protocol.schema.nested_types import holds
from explorer.core.protocol.table_features import FEATURES, supported_features
from explorer.core.transaction.intents.records import DropFeature
from explorer.core.transaction.proposals.features import DROPPABLE

_KNOWN_BY_ALL: Final = frozenset({"appendOnly", "invariants"})
# Features that leave a trace in metadata, schema or files; of others it cannot be said that nothing uses them.
_TRACED: Final = frozenset({"deletionVectors", "columnMapping", "checkConstraints"})
_SWITCHED: Final = frozenset({"changeDataFeed", "inCommitTimestamp"})
_MOST_LEGACY: Final = 7


def _unused(subject: Subject) -> tuple[Finding, ...]:
    """Unused features, where a client would gain access without them: else there is nothing to be won."""
    protocol = subject.protocol
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    unused = sorted(
        name
        for name in listed & (FEATURES.keys() - _KNOWN_BY_ALL)
        if _is_unused(subject, name) and not set(dependents(name, protocol)) & listed
    )
    if not unused:
        return ()
    readers = tuple(name for name in protocol.reader_features or () if name not in unused)
    writers = tuple(name for name in protocol.writer_features or () if name not in unused)
    versions = (protocol.min_reader_version if readers else 1, protocol.min_writer_version)
    required = subject.requirements
    without = newest_verdicts(
        versions,
        (readers or None, writers),
        required.unused,
        by_id=required.by_id,
        keeps_names=required.keeps_names,
        maps_partitions=required.maps_partitions,
        demands=required.demands,
    )
    gained = [after.client for before, after in zip(subject.clients, without, strict=True) if _gains(before, after)]
    if not gained:
        return ()
    one, droppable = len(unused) == 1, [name for name in unused if name in DROPPABLE]
    return (
        Finding(
            rule="unused-features",
            severity="info",
            label=f"{fmt.plural(len(unused), 'feature')} unused",
            title=f"The protocol requires {named(unused)}, which the table does not use",
            evidence=(
                Evidence(f"{named(sorted(listed))} are listed", Place("state")),
                Evidence(f"without {'it' if one else 'them'}: {named(gained)}"),
            ),
            effect=f"{fmt.plural(len(gained), 'client')} {'is' if len(gained) == 1 else 'are'} excluded without need.",
            remedy=Remedy(f"Drop {droppable[0]}\u2026", intent=DropFeature(feature=droppable[0]))
            if droppable
            else see(
                subject, "See the protocol, and drop the features with the client that added them", Place("state")
            ),
        ),
    )


def _is_unused(subject: Subject, name: str) -> bool:
    feature = FEATURES.get(name)
    if feature is None:
        # What it would be used for is not known.
        return False
    if any(feature.switched_on_by(key, value) for key, value in subject.metadata.configuration.items()):
        return False
    if feature.types:
        return not any(holds(field.type, *feature.types) for field in subject.snapshot.schema.fields)
    if feature.field_key is not None or name in _TRACED:
        return name in subject.requirements.unused
    return name in _SWITCHED


def _gains(before: ClientVerdict, after: ClientVerdict) -> bool:
    return (before.read != "yes" and after.read == "yes") or (before.write != "yes" and after.write == "yes")


def _legacy(subject: Subject) -> tuple[Finding, ...]:
    """Writer versions that imply features of which some are unused: a writer must know them all."""
    protocol = subject.protocol
    if protocol.min_writer_version >= _MOST_LEGACY:
        return ()
    implied = [name for name in supported_features(protocol) if name not in _KNOWN_BY_ALL]
    unused = [name for name in implied if _is_unused(subject, name)]
    if not unused:
        return ()
    used = [name for name in implied if name not in unused]
    return (
        Finding(
            rule="legacy-protocol",
            severity="info",
            label=f"writer version {protocol.min_writer_version}",
            title=f"Writer version {protocol.min_writer_version} requires {named(unused)}, which the table does not "
            "use",
            evidence=(Evidence(f"used of it: {named(used) if used else 'nothing'}", Place("state")),),
            effect="With a list of features (writer version 7), the protocol would require only what the table "
            "uses. Writers that do not support feature lists would lose access.",
            remedy=see(subject, "See which clients write it", Place("clients")),
        ),
    )


FEATURE_RULES: Final = (
    Rule(
        "unused-features",
        "info",
        "unused table features",
        "Each excludes the clients that do not support it.",
        _unused,
    ),
    Rule(
        "legacy-protocol",
        "info",
        "legacy versions that require unused features",
        "A list of features requires only what the table needs.",
        _legacy,
    ),
)
