"""The commits of one table that a catalog manages: what it has ratified, and new ones sent to it.

Protocol section: Catalog-managed tables. Invariants: every request names the table's identifier, so a table that was
dropped and created again under the same name is never read or written in its place; the outcome of a commit is
what the catalog shows, not what an answer that was lost might have been.
"""

from __future__ import annotations

from explorer.catalogs.address import CatalogAddress
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.contract import LoadedTable
from explorer.catalogs.entry import CatalogEntry
from explorer.catalogs.refusals import wrong_answer
from explorer.core.errors import TableNotFound
from explorer.core.log.catalog_commits import CatalogCommits


class ManagedCommits:
    """The catalog of one table, as the core knows one.

    Args:
        client: The calls of the catalog.
        address: The table.
        entry: What the catalog said of it when it was opened.
    """

    def __init__(self, client: CatalogClient, address: CatalogAddress, entry: CatalogEntry) -> None:
        self._client, self._address, self._entry = client, address, entry

    def current(self) -> CatalogCommits:
        """Return what the catalog has ratified by now.

        Raises:
            TableNotFound: The table was dropped or renamed, or another one has its name.
            CatalogError: The catalog refused, failed, or did not answer.
        """
        return self._ratified(self._client.load_table(self._address))

    def _ratified(self, loaded: LoadedTable) -> CatalogCommits:
        """Read an answer, and check that it is of this table."""
        if loaded.metadata.table_uuid != self._entry.table_id:
            raise TableNotFound(
                f"{self._address.url} is another table now: the one that was opened was dropped, and the name was "
                "given again. Open it again.",
                location=self._address.url,
            )
        if loaded.latest_table_version is None:
            raise wrong_answer(self._client.settings, f"loading {self._address.url}", "it has no latest-table-version")
        commits: dict[int, str | bytes] = {commit.version: commit.file_name for commit in loaded.commits}
        return CatalogCommits(loaded.latest_table_version, commits)
