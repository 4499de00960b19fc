"""The commits of one table that a catalog manages: what it has ratified, and new ones sent to it.

Protocol section: Catalog-managed tables. Invariants: every request names the table's identifier, so a table that was
dropped and created again under the same name is never read or written in its place; the outcome of a commit is
what the catalog shows, not what an answer that was lost might have been.
"""

from __future__ import annotations

from typing import Final

from explorer.catalogs.address import CatalogAddress
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.contract import LoadedTable, RatifiedCommit, TableUpdate
from explorer.catalogs.entry import CatalogEntry
from explorer.catalogs.refusals import wrong_answer
from explorer.catalogs.updates import add_commit, change_actions
from explorer.core.errors import CatalogError, TableNotFound
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.log_path import LogFileKind, LogPath, parse_log_name
from explorer.core.log.ratifying_catalog import StagedCommit, TableChanges, Verdict
from explorer.core.protocol.json_values import JsonObject

_VERDICTS: Final[dict[str, Verdict]] = {
    "CommitVersionConflictException": "taken",
    "UpdateRequirementConflictException": "changed",
    "ResourceExhaustedException": "full",
    "CommitStateUnknownException": "unknown",
}
_NEVER_SENT: Final = frozenset({"unreachable", "certificate"})


class ManagedCommits:
    """The catalog of one table, as the core knows one.

    Args:
        client: The calls of the catalog.
        address: The table.
        entry: What the catalog stated of it when it was opened.
    """

    def __init__(self, client: CatalogClient, address: CatalogAddress, entry: CatalogEntry) -> None:
        self._client, self._address, self._entry = client, address, entry
        self._etag = ""

    def current(self) -> CatalogCommits:
        """Return what the catalog has ratified by now.

        Raises:
            TableNotFound: The table was dropped or renamed, or another one has its name.
            CatalogError: The catalog refused, failed, or did not answer.
        """
        return self._ratified(self._client.load_table(self._address))

    def propose(self, commit: StagedCommit, changes: TableChanges) -> Verdict:
        """Send a commit, and the changes that it makes besides its files.

        Raises:
            CatalogError: The catalog refused it for good; nothing was committed.
            TableNotFound: The table was dropped or renamed.
        """
        actions = change_actions(changes)
        requirements: tuple[JsonObject, ...] = (self._same_table(),)
        if any(action["action"] != "set-domain-metadata" for action in actions):
            requirements = (*requirements, {"type": "assert-etag", "etag": self._etag})
        try:
            self._client.update_table(self._address, TableUpdate(requirements, (*actions, add_commit(commit))))
        except CatalogError as error:
            verdict = _VERDICTS.get(error.reason or "")
            if verdict is None and (error.status is None or error.status >= 500 or error.status == 429):
                # Without an answer, or with that of a server that failed or was busy, it may be done: looking is safe.
                verdict = None if error.reason in _NEVER_SENT or error.status == 501 else "unknown"
            if verdict is None:
                raise
            return verdict
        return "ratified"

    def report_published(self, version: int) -> None:
        """Say that all versions up to one are published.

        Raises:
            CatalogError: The catalog refused, failed, or did not answer; the same can be said again.
        """
        action: JsonObject = {"action": "set-latest-backfilled-version", "latest-published-version": version}
        self._client.update_table(self._address, TableUpdate((self._same_table(),), (action,)))

    def _same_table(self) -> JsonObject:
        return {"type": "assert-table-uuid", "uuid": self._entry.table_id}

    def _ratified(self, loaded: LoadedTable) -> CatalogCommits:
        """Read an answer, and check that it is of this table."""
        if loaded.metadata.table_uuid != self._entry.table_id:
            raise TableNotFound(
                f"{self._address.url} is another table now: the one that was opened was dropped, and its name is "
                "used again. Open it again.",
                location=self._address.url,
            )
        if loaded.latest_table_version is None:
            raise wrong_answer(self._client.settings, f"loading {self._address.url}", "it has no latest-table-version")
        self._etag = loaded.metadata.etag
        return CatalogCommits(loaded.latest_table_version, dict(map(self._staged, loaded.commits)))

    def _staged(self, commit: RatifiedCommit) -> tuple[int, LogPath]:
        """Return the version and the file of a commit."""
        path = parse_log_name(commit.file_name, commit.file_size, commit.file_modification_timestamp)
        if path is None or path.kind is not LogFileKind.STAGED_COMMIT or path.version != commit.version:
            why = f"the file of version {commit.version} is {commit.file_name!r}, which is no name of a staged commit"
            raise wrong_answer(self._client.settings, f"loading {self._address.url}", why)
        return commit.version, path
