"""How a commit can be undone, in words: what its intent says, and what of the protocol and the properties stays.

Protocol sections: Protocol Evolution, Table Features, Checkpoint Protection. Invariants: versions never fall and
features stay unless they are dropped by name, so a raised protocol is told whatever raised it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.protocol_evolution import with_closure
from explorer.core.protocol.table_features import FEATURES, supported_features
from explorer.core.protocol.table_properties.registry import APPEND_ONLY
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.drop_feature import DROPPABLE
from explorer.core.versions.snapshot import Snapshot

__all__ = ["undo_effect"]

_PROTECTION: Final = "checkpointProtection"


def undo_effect(snapshot: Snapshot | None, proposal: Proposal) -> str:
    """Say how a commit can be undone."""
    if snapshot is None:
        return proposal.undo
    stays = () if proposal.protocol is None else _what_stays(snapshot.protocol, proposal.protocol)
    return " ".join(filter(None, [proposal.undo, *_what_is_first(snapshot, proposal), *stays])) or "Nothing changes."


def _what_is_first(snapshot: Snapshot, proposal: Proposal) -> Iterator[str]:
    """What has to be done before rows can be taken away again."""
    protocol, metadata = proposal.protocol or snapshot.protocol, proposal.metadata or snapshot.metadata
    adds_rows = proposal.writing is not None or any(add.data_change for add in proposal.adds)
    if not adds_rows or not proposal.undo.startswith("Restore") or "appendOnly" not in supported_features(protocol):
        return
    try:
        refuses = APPEND_ONLY.of(metadata.configuration)
    except CorruptTable:
        return  # judged where rows are removed
    if refuses:
        yield f"Set {APPEND_ONLY} to 'false' first, as a restore takes the new rows away."


def _what_stays(before: Protocol, after: Protocol) -> Iterator[str]:
    """What an undo leaves of a protocol that was raised."""
    have = supported_features(before)
    added = [name for name in supported_features(after) if name not in have]
    # A dropped feature that binds readers is traded for the protection of the versions that use it.
    kept = [name for name in have if name not in supported_features(after)]
    if _PROTECTION in added and kept:
        yield f"{_PROTECTION} stays until {_leaving([_PROTECTION])}."
        return
    stuck = [name for name in added if name not in DROPPABLE]
    going = [name for name in added if name in DROPPABLE]
    if not added:
        versions = before.min_reader_version, before.min_writer_version
        if versions < (after.min_reader_version, after.min_writer_version):
            yield "The protocol stays raised for good."
        return
    if stuck:
        verb = "is a feature" if len(stuck) == 1 else "are features"
        yield f"The protocol stays raised for good: {_joined(stuck)} {verb} that this program cannot drop."
    if going:
        yield f"{'' if stuck else 'The protocol stays raised until '}{_leaving(going, sentence=bool(stuck))}."
    readers = [name for name in going if FEATURES[name].reader]
    if readers and _PROTECTION not in have:
        yield (f"Dropping {_joined(readers)} adds {_PROTECTION}, which stays until {_leaving([_PROTECTION])}.")


def _leaving(names: list[str], *, sentence: bool = False) -> str:
    """What takes features away, those that others need last."""
    if names == [_PROTECTION]:
        return "the protected versions are cleaned up (clean-log) and it is dropped too"
    order = sorted(names, key=lambda name: (-len(with_closure([name])), name))
    verb = "is" if len(order) == 1 else "are"
    return f"{_joined(order)} can be dropped" if sentence else f"{_joined(order)} {verb} dropped"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
