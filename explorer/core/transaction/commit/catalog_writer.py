"""Commits of a table that a catalog manages: staged, ratified by the catalog, then published.

Protocol section: Catalog-managed tables. Invariants: a commit is sent to the catalog and never put under the name of
its version by itself (CATALOG-004); only ratified commits are published, in the order of their versions (CATALOG-005),
and a version is reported as published only after its file was seen in the log; the outcome of a commit is what the
catalog shows for the name of its staged file; a staged commit is deleted only if another one has its version.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from explorer.core.errors import CatalogError, CorruptTable, ExplorerError, StorageError
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import STAGED_FOLDER, commit_name
from explorer.core.log.ratifying_catalog import RatifyingCatalog, StagedCommit, TableChanges, Verdict, table_changes
from explorer.core.log.table_state import TableState
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS
from explorer.core.transaction.commit.conflicts import holds_transaction
from explorer.core.transaction.commit.version_writer import PAUSE, Owner
from explorer.core.transaction.context import Context

_TRIES: Final = 8
_LONGEST_PAUSE: Final = 1.0
_MOST_CHANGES: Final = 20


class CatalogWriter:
    """Writes commits through a catalog."""

    def __init__(self, store: LogStore, catalog: RatifyingCatalog, context: Context) -> None:
        self._store, self._catalog, self._context = store, catalog, context
        self.in_doubt = False
        self.logged: Commit | None = None
        self.notes: list[str] = []
        self._changes = 0

    def check(self) -> None:
        """Check that the store creates a name once: published versions are."""
        self._store.check_put_if_absent()

    def write(self, version: int, data: bytes, txn_id: str, before: TableState | None) -> Owner:
        """Stage a commit and send it to the catalog."""
        commit = decode_commit(data, version, commit_name(version))
        info = commit.commit_info()
        if before is None or info is None or info.in_commit_timestamp is None:
            raise CorruptTable(
                f"Version {version} would have no in-commit timestamp, which a catalog requires. Set "
                f"{IN_COMMIT_TIMESTAMPS} to true through the engine that made the table.",
                version=version,
            )
        name = f"{version:020d}.{self._context.new_id()}.json"
        staged = self._staged(StagedCommit(version, name, info.in_commit_timestamp, len(data), 0), data)
        changes = table_changes(before, commit)
        try:
            owner = self._sent(staged, changes, txn_id)
        except ExplorerError:
            if not self.in_doubt:
                self._forget(staged)
            raise
        if owner == "theirs":
            self._forget(staged)
        if owner == "ours":
            self.logged = commit
        return owner

    def publish(self, version: int) -> bool:
        """Publish the commits that the catalog ratified, up to a version at least; report them to it."""
        try:
            published = publish_ratified(self._store, self._catalog, self._catalog.current())
        except (ExplorerError, FileNotFoundError) as error:
            self.notes.append(f"Version {version} is ratified by the catalog, but it is not published yet: {error}")
            return False
        return published >= version

    def _staged(self, staged: StagedCommit, data: bytes) -> StagedCommit:
        """Write the staged file; its name is unique."""
        path = f"{STAGED_FOLDER}/{staged.name}"
        if _created(self._store, path, data) != data:
            raise FileExistsError(path)
        return msgspec.structs.replace(staged, modified=max(1, self._store.head(path).modified))

    def _sent(self, staged: StagedCommit, changes: TableChanges, txn_id: str) -> Owner:
        """Send the commit until it is clear whose the version is."""
        owner: Owner = "absent"
        for attempt in range(_TRIES):
            if attempt:
                pause = min(_LONGEST_PAUSE, PAUSE * (1 << attempt))
                self._context.sleep(pause * (0.5 + self._context.chance()))
            verdict = self._proposed(staged, changes)
            match verdict:
                case "ratified":
                    self.in_doubt = False
                    return "ours"
                case "full":
                    publish_ratified(self._store, self._catalog, self._catalog.current())
                    continue
                case "unknown":
                    self.in_doubt = True
                case "changed" if not self.in_doubt:
                    return self._outdated(staged)
                case "taken" | "changed":
                    pass
            owner = self._whose(staged, txn_id)
            if owner in {"ours", "theirs"}:
                if owner == "ours":
                    self.notes.append("The catalog's answer was lost; the catalog shows that it ratified the commit.")
                self.in_doubt = False
                return owner
        if not self.in_doubt:
            raise CatalogError(
                f"The catalog did not accept version {staged.version} in {_TRIES} tries: too many commits wait to be "
                "published, and other writers keep adding more. Nothing was committed. Try again later.",
                version=staged.version,
            )
        return "unknown"

    def _proposed(self, staged: StagedCommit, changes: TableChanges) -> Verdict:
        """Send the commit once; one that is refused for good may have arrived at an earlier try."""
        try:
            return self._catalog.propose(staged, changes)
        except ExplorerError:
            if not self.in_doubt:
                raise
            return "unknown"

    def _outdated(self, staged: StagedCommit) -> Owner:
        """Have the plan made again on what the catalog has now; not without end."""
        self._changes += 1
        if self._changes < _MOST_CHANGES:
            return "theirs"
        raise CatalogError(
            f"The catalog refused version {staged.version} {_MOST_CHANGES} times because its entry of the table had "
            "changed in the meantime. Nothing was committed. Try again later.",
            version=staged.version,
        )

    def _whose(self, staged: StagedCommit, txn_id: str) -> Owner:
        """Return whose the version is, by what the catalog and the log show now."""
        try:
            current = self._catalog.current()
            if current.latest < staged.version:
                return "absent"
            ratified = current.staged_name(staged.version)
            if ratified is not None:
                return "ours" if ratified == staged.name else "theirs"
            path = commit_name(staged.version)
            published = decode_commit(self._store.read(path), staged.version, path)
        except (StorageError, FileNotFoundError):
            return "unknown"
        return "ours" if holds_transaction(published, txn_id) else "theirs"

    def _forget(self, staged: StagedCommit) -> None:
        with suppress(StorageError, FileNotFoundError):  # what stays is a file that no version names
            self._store.delete(f"{STAGED_FOLDER}/{staged.name}")


def publish_ratified(store: LogStore, catalog: RatifyingCatalog, current: CatalogCommits) -> int:
    """Publish the commits that a catalog ratified, whoever made them, and report the last one.

    Args:
        current: What it has ratified.

    Returns:
        The newest version that is published.

    Raises:
        CorruptTable: A version is published with other contents than those that the catalog ratified.
        StorageError: The store or the catalog failed; what is published stays.
        FileNotFoundError: A ratified commit is neither staged nor published.
    """
    waiting = sorted(current.commits)
    for version in waiting:
        try:
            data = store.read(f"{STAGED_FOLDER}/{current.staged_name(version)}")
        except FileNotFoundError:
            # Another client may have published it and deleted its staged file.
            store.head(commit_name(version))
            continue
        _publish(store, version, data)
    if waiting:
        catalog.report_published(waiting[-1])
    return current.latest


def _publish(store: LogStore, version: int, data: bytes) -> None:
    path = commit_name(version)
    if _created(store, path, data) != data:
        raise CorruptTable(
            f"{path} is not the commit that the catalog ratified for version {version}. The catalog's version "
            "counts. Ask the people who run the catalog, and move the file out of the log.",
            version=version,
            path=path,
        )


def _created(store: LogStore, path: str, data: bytes) -> bytes:
    """Create an object, and return what is under its name: other contents if another writer was first.

    A lost answer is settled by the content.

    Raises:
        StorageError: It is not known to be there.
    """
    try:
        store.put_if_absent(path, data)
    except FileExistsError:
        return store.read(path)
    except StorageError:
        try:
            stored = store.read(path)
        except (FileNotFoundError, StorageError):
            stored = b""
        if stored != data:
            raise
    return data
