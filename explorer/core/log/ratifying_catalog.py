"""A catalog that takes new commits of a table: what it is sent, and what it answers.

Protocol section: Catalog-managed tables. Invariants: a commit is sent with the changes that it makes besides its files,
of which the catalog keeps a copy; only what differs from the version before is a change.
"""

from __future__ import annotations

from typing import Literal, runtime_checkable
from typing import Protocol as Interface

import msgspec

from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.commit import Commit
from explorer.core.log.table_state import TableState, same_metadata, same_protocol
from explorer.core.protocol.actions import DomainMetadata, Protocol


class StagedCommit(msgspec.Struct, frozen=True):
    """A commit that waits for the catalog; times are ms since the epoch.

    Attributes:
        version: The version that it is to be.
        name: The name of its file in ``_staged_commits``.
        timestamp: Its in-commit timestamp.
        size: Size of the file in bytes.
        modified: When the file was written.
    """

    version: int
    name: str
    timestamp: int
    size: int
    modified: int


class TableChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit changes; None, or nothing, where it changes nothing.

    Attributes:
        protocol: The new protocol.
        schema: The new schema as the log has it, JSON.
        partition_columns: The new partition columns, logical names.
        properties: New and changed properties.
        removed_properties: Keys that were removed.
        description: The new description; empty if it was removed.
        domains: Domains that are set or removed.
    """

    protocol: Protocol | None = None
    schema: str | None = None
    partition_columns: tuple[str, ...] | None = None
    properties: dict[str, str] = {}
    removed_properties: tuple[str, ...] = ()
    description: str | None = None
    domains: tuple[DomainMetadata, ...] = ()


Verdict = Literal["ratified", "taken", "full", "changed", "unknown"]
"""What a catalog did with a commit: it ratified it; another commit has its version; too many commits are not published;
what the request required does not hold any more; or the answer was lost."""


@runtime_checkable
class RatifyingCatalog(CommitCatalog, Interface):
    """A catalog that takes new commits."""

    def propose(self, commit: StagedCommit, changes: TableChanges) -> Verdict:
        """Send a commit. Sending the same one again is safe.

        Raises:
            CatalogError: The catalog refused it for good; nothing was committed.
            TableNotFound: There is no such table any more.
        """

    def report_published(self, version: int) -> None:
        """Say that all versions up to one are published; the catalog may forget them then.

        Raises:
            CatalogError: The catalog refused, failed, or did not answer; the same can be said again.
        """


def table_changes(before: TableState, commit: Commit) -> TableChanges:
    """Return what a commit changes of the version before it."""
    protocol, metadata = commit.protocol(), commit.metadata()
    changes = TableChanges(
        protocol=None if protocol is None or same_protocol(protocol, before.protocol) else protocol,
        domains=tuple(commit.domains()),
    )
    old = before.metadata
    if metadata is None or same_metadata(metadata, old):
        return changes
    was, now = old.configuration, metadata.configuration
    columns = tuple(metadata.partition_columns)
    return msgspec.structs.replace(
        changes,
        schema=None if metadata.schema_string == old.schema_string else metadata.schema_string,
        partition_columns=None if columns == tuple(old.partition_columns) else columns,
        properties={key: value for key, value in now.items() if was.get(key) != value},
        removed_properties=tuple(key for key in was if key not in now),
        description=None if metadata.description == old.description else metadata.description or "",
    )
