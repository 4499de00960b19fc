"""The commits that a catalog ratified, for a table whose commits it manages.

Protocol section: Catalog-managed tables. Invariants: such a table is read only with the response of its catalog
(CATALOG-001); for a version that the catalog returns, its commit counts, published or not, and nothing above the
catalog's latest version exists (CATALOG-002); other staged commits are never read (CATALOG-003). A version that the
catalog ratified and whose commit is nowhere is a gap, and no older version is the newest in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final
from typing import Protocol as Interface

import msgspec
import pyarrow as pa

from explorer.core.errors import RequestError, UnsupportedFeature
from explorer.core.log.listed_log import MissingVersion
from explorer.core.log.log_path import LOG_FOLDER, STAGED_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.log_store import JoinedObjects, LogStore, ObjectMeta, joined_objects
from explorer.core.protocol.table_features import COORDINATED_FEATURES, about_drafts, supported_features

_UNPUBLISHED: Final = (STAGED_FOLDER, f"{LOG_FOLDER}/_commits")
"""Where commits wait to be published; the second is that of older drafts."""
_ANSWER: Final = "the catalog's answer"
_NO_UUID: Final = "00000000-0000-0000-0000-000000000000"


class CommitCatalog(Interface):
    """A catalog that ratifies the commits of one table."""

    def current(self) -> CatalogCommits:
        """Return what it has ratified by now.

        Raises:
            CatalogError: It refused, failed, or did not answer.
            TableNotFound: It has no such table any more.
        """


class CatalogCommits(msgspec.Struct, frozen=True):
    """The catalog's response; as a catalog, one that ratifies no more.

    Attributes:
        latest: The newest version that it ratified.
        commits: For each version it returned, the file in ``_staged_commits`` or its name, or the commit's content.
    """

    latest: int
    commits: dict[int, str | bytes | LogPath] = {}

    def current(self) -> CatalogCommits:
        """Return the response itself."""
        return self

    def staged_name(self, version: int) -> str | None:
        """Return the name of a version's file in ``_staged_commits``; None if the catalog returned none."""
        commit = self.commits.get(version)
        if isinstance(commit, LogPath):
            return commit.name
        return commit if isinstance(commit, str) else None


def ratified(listing: LogListing, catalog: CatalogCommits) -> LogListing:
    """Return the listing with the catalog's commits in place of published ones, and none beyond its latest version.

    Raises:
        RequestError: A name is not that of a staged commit of its version, or a version is above the latest.
    """
    commits = {version: path for version, path in listing.commits.items() if version <= catalog.latest}
    commits |= {version: _staged(version, staged, catalog.latest) for version, staged in catalog.commits.items()}
    known = msgspec.structs.replace(
        listing,
        commits=dict(sorted(commits.items())),
        checkpoints=tuple(checkpoint for checkpoint in listing.checkpoints if checkpoint.version <= catalog.latest),
        compactions=tuple(path for path in listing.compactions if path.last_version <= catalog.latest),
        checksums={version: path for version, path in listing.checksums.items() if version <= catalog.latest},
        by_catalog=True,
        missing_version=None,
    )
    return known.with_missing(MissingVersion(catalog.latest, (_ANSWER,)))


def check_published(store: LogStore, protocol: Protocol, version: int) -> None:
    """Refuse the newest published version where the service that orders the commits may have later ones.

    Readers need not know that service: published versions are right, and may be old (CATALOG-006). A commit for a later
    version that waits to be published shows that a newer version exists, or may.

    Raises:
        UnsupportedFeature: There is such a commit.
    """
    names = sorted(COORDINATED_FEATURES.intersection(supported_features(protocol)))
    if not names:
        return
    listed = (entry for folder in _UNPUBLISHED for entry in store.list_from(folder, f"{version + 1:020d}"))
    waiting = next((entry.path for entry in listed if _is_staged(entry.path)), None)
    if waiting is not None:
        raise UnsupportedFeature(
            f"Version {version} is the newest that is published, and {waiting} contains a later commit, so it may "
            f"not be the newest of the table. Read version {version} or an earlier one by its number, or publish the "
            f"commits with a client that supports the service.{about_drafts(names)}",
            features=names,
            operation="read",
            version=version,
        )


def _is_staged(key: str) -> bool:
    path = parse_log_name(key.rpartition("/")[2])
    return path is not None and path.kind is LogFileKind.STAGED_COMMIT


class CatalogStore:
    """A table's store that also contains the commits whose content the catalog returned."""

    def __init__(self, store: LogStore, catalog: CatalogCommits) -> None:
        self._store = store
        self._contents = {
            _inline(version): content for version, content in catalog.commits.items() if isinstance(content, bytes)
        }

    @property
    def root(self) -> str:
        """The root as a URL."""
        return self._store.root

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        """List the stored objects; the catalog's contents are in no folder."""
        return self._store.list_from(folder, start)

    def list_tree(self) -> Iterable[str]:
        """List the keys of all stored objects."""
        return self._store.list_tree()

    def list_files(self, check_cancelled: Callable[[], None] = lambda: None) -> pa.Table:
        """List the stored objects."""
        return self._store.list_files(check_cancelled)

    def read(self, path: str) -> bytes:
        """Return an object's bytes, or the content that the catalog returned."""
        content = self._contents.get(path)
        return self._store.read(path) if content is None else content

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return a part of a stored object."""
        return self._store.read_range(path, offset, length)

    def read_parts(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return parts of a stored object."""
        return self._store.read_parts(path, spans)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a stored object for reading at random."""
        return self._store.open_input(path)

    def open_sized(self, path: str, size: int) -> pa.NativeFile:
        """Open a stored object that probably has a size."""
        return self._store.open_sized(path, size)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Return several objects' bytes, the catalog's among them."""
        stored = [path for path in paths if path not in self._contents]
        contents = dict(zip(stored, self._store.read_many(stored), strict=True)) | self._contents
        return [contents[path] for path in paths]

    def read_joined(self, paths: Sequence[str], sizes: Sequence[int]) -> JoinedObjects:
        """Return several objects of lines, the catalog's among them."""
        if self._contents.keys().isdisjoint(paths):
            return self._store.read_joined(paths, sizes)
        return joined_objects(self.read_many(paths))

    def read_starts(self, paths: Sequence[str], lengths: Sequence[int]) -> list[bytes]:
        """Return the first bytes of several objects, the catalog's among them."""
        stored = [index for index, path in enumerate(paths) if path not in self._contents]
        starts = self._store.read_starts([paths[index] for index in stored], [lengths[index] for index in stored])
        start_at = dict(zip(stored, starts, strict=True))
        return [
            start_at[index] if index in start_at else self._contents[path][: lengths[index]]
            for index, path in enumerate(paths)
        ]

    def check_put_if_absent(self) -> None:
        """Check that the store creates a name only once."""
        self._store.check_put_if_absent()

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Create a stored object."""
        self._store.put_if_absent(path, data, durable=durable)

    def put(self, path: str, data: bytes) -> None:
        """Write a stored object, in place of one of that name."""
        self._store.put(path, data)

    def head(self, path: str) -> ObjectMeta:
        """Return a stored object's size and time."""
        return self._store.head(path)

    def delete(self, path: str) -> None:
        """Delete a stored object."""
        self._store.delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete stored objects."""
        self._store.delete_many(paths)

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        """Return the store and key of an absolute location."""
        return self._store.elsewhere(location)

    def local_path(self, path: str) -> str | None:
        """Return a stored object's path on this machine, if the table's store has one."""
        return self._store.local_path(path)


def _staged(version: int, commit: str | bytes | LogPath, latest: int) -> LogPath:
    name = _inline(version).rpartition("/")[2] if isinstance(commit, bytes) else commit
    path = name if isinstance(name, LogPath) else parse_log_name(name)
    if path is None or path.kind is not LogFileKind.STAGED_COMMIT or path.version != version or version > latest:
        raise RequestError(
            f"The catalog's commit of version {version} is {name!r}; it must be the name of a staged commit of that "
            f"version, and no version may be above the latest ({latest}).",
            version=version,
        )
    return path


def _inline(version: int) -> str:
    """Return the key under which the content of a version is stored; no writer makes a commit of this name."""
    return f"{STAGED_FOLDER}/{version:020d}.{_NO_UUID}.json"
