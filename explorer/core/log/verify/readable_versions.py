"""The versions that a reader can rebuild, determined while a walk passes them, oldest first.

Protocol sections: Action Reconciliation, Reader Requirements, Sidecar Files. Invariants: a reader begins at the newest
checkpoint (CKPT-003), or, where that lost a file, at the one before (V2CKPT-007); protocol and metadata are checked
where they change, by the refusals of a snapshot (PROTO-004); a listed feature that this program lacks is not a fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from explorer.core.errors import ExplorerError, TableError, UnsupportedFeature, VersionNotFound
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_state
from explorer.core.log.table_state import TableState, same_metadata, same_protocol
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_definition import check_allowed_mapping, read_definition
from explorer.core.protocol.table_features import check_readable, missing_features
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS

Fault: TypeAlias = tuple[str, str]
"""Kind and detail of a problem."""
_OF_PROTOCOL: Final = frozenset({"no-protocol", "invalid-protocol"})


class _InForce(msgspec.Struct, frozen=True):
    """The protocol and metadata of a reader at a version, and the kinds of their faults."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    faults: frozenset[str] = frozenset()


class ReadableVersions:
    """The protocol and metadata of a reader at the version of the walk.

    Attributes:
        first: The oldest version passed that can be rebuilt, of those after which no commit is missing; None so far.
    """

    def __init__(self, store: LogStore, listing: LogListing) -> None:
        self.first: int | None = None
        self._store = store
        self._listing = listing
        self._earliest = _earliest(listing)
        self._compacted = {path.last_version for path in listing.compactions if path.last_version <= listing.latest}
        self._unreadable: set[int] = set()
        self._vanished: set[int] = set()
        self._in_force: _InForce | None = None

    def begin(self) -> None:
        """Begin the walk, before version 0."""
        self._in_force = _InForce()

    def lose(self) -> None:
        """Record that a commit is missing or cannot be read."""
        self._in_force = None

    def commit(self, version: int, protocol: Protocol | None, metadata: Metadata | None) -> Iterator[Fault]:
        """Take the protocol and metadata of a commit; yield their faults from here on."""
        if self._in_force is not None:
            yield from self._update(version, protocol or self._in_force.protocol, metadata or self._in_force.metadata)

    def checkpoint(self, version: int, state: TableState) -> Iterator[Fault]:
        """Take the state of a checkpoint, at which readers begin; yield its faults from here on."""
        if not self._agrees_with(state):
            yield from self._update(version, state.protocol, state.metadata)

    def refuse(self, version: int) -> None:
        """Record that a checkpoint cannot be read, and readers begin at it."""
        self._unreadable.add(version)
        self._in_force = None

    def do_without(self, version: int) -> bool:
        """Return whether readers rebuild the version without its checkpoint, which lost a file."""
        self._vanished.add(version)
        return self._in_force is not None

    def compaction(self, version: int) -> Iterator[tuple[LogPath, Fault]]:
        """Begin at a compaction that ends with the version and replaces lost commits (COMPACT-003), if there is one.

        The checkpoint of the version comes after it.
        """
        if self._in_force is not None or version not in self._compacted:
            return
        try:
            segment = self._listing.without_checkpoints({version, *self._vanished}).segment(version)
            if segment.checkpoint is not None and segment.checkpoint.version in self._unreadable:
                return
            commits = read_commits(self._store, segment.commits)
            state = replay_state(checkpoint_reader(self._store, segment), commits, version)
        except (TableError, VersionNotFound):
            return
        for fault in self._update(version, state.protocol, state.metadata):
            yield segment.commits[-1], fault

    def passed(self, version: int) -> None:
        """Record that the walk has seen all files of the version."""
        if self.first is not None or self._earliest is None or version < self._earliest:
            return
        state = self._in_force
        if state is not None and state.protocol is not None and state.metadata is not None and not state.faults:
            self.first = version

    def _agrees_with(self, state: TableState) -> bool:
        known = self._in_force
        if known is None or known.protocol is None or known.metadata is None:
            return False
        return same_protocol(known.protocol, state.protocol) and same_metadata(known.metadata, state.metadata)

    def _update(self, version: int, protocol: Protocol | None, metadata: Metadata | None) -> Iterator[Fault]:
        before = self._in_force or _InForce()
        is_same = (protocol, metadata) == (before.protocol, before.metadata)
        if is_same and version > 0:
            return
        faults = tuple(_faults(protocol, metadata, version))
        self._in_force = _InForce(protocol, metadata, frozenset(kind for kind, _ in faults))
        for kind, detail in faults:
            replaced = protocol != before.protocol if kind in _OF_PROTOCOL else metadata != before.metadata
            if replaced or kind not in before.faults:
                yield kind, detail


def _faults(protocol: Protocol | None, metadata: Metadata | None, version: int) -> Iterator[Fault]:
    """Yield the faults that keep any reader from the version."""
    if protocol is None:
        yield "no-protocol", "the first commit has no protocol action"
    if metadata is None:
        yield "no-metadata", "the first commit has no metaData action"
    elif metadata.schema_string is None:
        yield "no-metadata", "the metaData action has no schemaString"
    if protocol is None:
        return
    try:
        # A table that a catalog manages can be read with its commits.
        check_readable(protocol, version, by_catalog=True)
    except UnsupportedFeature:
        return
    except TableError as error:
        yield "invalid-protocol", error.message
        return
    if metadata is not None and metadata.schema_string is not None:
        yield from _faults_of_metadata(protocol, metadata, version)


def _faults_of_metadata(protocol: Protocol, metadata: Metadata, version: int) -> Iterator[Fault]:
    try:
        definition = read_definition(protocol, metadata, version)
        check_allowed_mapping(definition.mapping_mode, metadata, version)
        IN_COMMIT_TIMESTAMPS.of(metadata.configuration)
    except UnsupportedFeature as error:
        # A valid table lists the feature that it needs.
        if missing_features(error.features or (), protocol):
            yield "invalid-metadata", f"{error.message} The protocol lists no feature that allows it."
    except TableError as error:
        yield "invalid-metadata", error.message


def _earliest(listing: LogListing) -> int | None:
    try:
        return listing.earliest()
    except ExplorerError:
        return None
