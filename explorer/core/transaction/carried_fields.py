"""What files and the log record beyond what this program knows, so that it is written again.

Protocol section: Requirements for Writers. Invariants: it is read from the log of the version that a proposal is for.
"""

from __future__ import annotations

from explorer.core.log.writing.writer_state import CarriedActions, FileKey, carry_actions
from explorer.core.protocol.json_values import JsonObject
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

__all__ = ["carried", "unknown_fields"]


def carried(log: DeltaLog, snapshot: Snapshot) -> CarriedActions:
    """What a version's log carries on."""
    return carry_actions(log.store, log.segment(snapshot.version))


def unknown_fields(log: DeltaLog, snapshot: Snapshot) -> dict[FileKey, JsonObject]:
    """The fields of its live files that this program does not know."""
    return carried(log, snapshot).unknown_adds()
