"""Actions of a commit as decoded, before any rule is applied to them.

Protocol section: Actions. Invariants: unknown members are skipped, except in lines that are preserved in full; a
member that is absent and one that is null are different things.
"""

from __future__ import annotations

import msgspec

from explorer.core.protocol.actions import DeletionVectorDescriptor, Int64
from explorer.core.protocol.json_values import JsonObject

_ABSENT = msgspec.Raw()


class AddLine(msgspec.Struct, gc=False, rename="camel"):
    """An ``add`` as in its commit; raw members are JSON still to be decoded, empty when absent."""

    path: str
    partition_values: msgspec.Raw = _ABSENT
    size: Int64 | None = None
    modification_time: Int64 | None = None
    data_change: bool | None = None
    stats: msgspec.Raw = _ABSENT
    tags: msgspec.Raw = _ABSENT
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: Int64 | None = None
    default_row_commit_version: Int64 | None = None
    clustering_provider: str | None = None

    @property
    def vector_id(self) -> str | None:
        """Identity of the deletion vector, None without one."""
        return None if self.deletion_vector is None else self.deletion_vector.unique_id


class RemoveLine(msgspec.Struct, gc=False, rename="camel"):
    """A ``remove`` as in its commit."""

    path: str
    data_change: bool | None = None
    deletion_timestamp: int | None = None
    extended_file_metadata: bool | None = None
    partition_values: msgspec.Raw = _ABSENT
    size: Int64 | None = None
    stats: msgspec.Raw = _ABSENT
    tags: msgspec.Raw = _ABSENT
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: Int64 | None = None
    default_row_commit_version: Int64 | None = None

    @property
    def vector_id(self) -> str | None:
        """Identity of the deletion vector, None without one."""
        return None if self.deletion_vector is None else self.deletion_vector.unique_id


class FullAddLine(AddLine, gc=False):
    """An ``add`` with the members that this program does not know, for rewriting the action (PROTO-003)."""

    unknown: JsonObject = {}


class FullRemoveLine(RemoveLine, gc=False):
    """A ``remove`` with the members that this program does not know."""

    unknown: JsonObject = {}


def unknown_members(line: AddLine | RemoveLine) -> JsonObject:
    """Return the members of a file action that this program does not know, if its line was preserved in full."""
    return line.unknown if isinstance(line, FullAddLine | FullRemoveLine) else {}


class SmallLine(msgspec.Struct, gc=False):
    """One line of a commit without its file action, which is checked to be JSON and no more; at most one member is
    present, and stays raw."""

    cdc: msgspec.Raw = _ABSENT
    metaData: msgspec.Raw = _ABSENT
    protocol: msgspec.Raw = _ABSENT
    txn: msgspec.Raw = _ABSENT
    domainMetadata: msgspec.Raw = _ABSENT
    commitInfo: msgspec.Raw = _ABSENT


class CommitLine(SmallLine, gc=False):
    """One line of a commit: at most one member is present; the small actions stay raw."""

    add: AddLine | None = None
    remove: RemoveLine | None = None
