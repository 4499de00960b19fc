"""Temporary credentials that a catalog gives for the files of a table, renewed before they expire.

Invariants: they are in no text, and leave this module only for the store of the table. The most specific ones for the
table's location are used.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from explorer.catalogs.address import CatalogAddress
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.contract import StorageCredential, TemporaryCredentials
from explorer.catalogs.entry import CatalogEntry
from explorer.core.errors import CatalogError

READ: Final = "READ"
READ_WRITE: Final = "READ_WRITE"
_UNKNOWN_END: Final = timedelta(minutes=10)
"""How long credentials are used whose end the catalog does not state."""
_EARLY: Final = timedelta(minutes=2)
"""How long before their end they are replaced, at most half of their life."""


class VendedCredentials(msgspec.Struct, frozen=True):
    """Credentials in the form of the store's client: ``values`` by its names, and when they end."""

    values: dict[str, str] = {}
    expires: datetime | None = None

    def __repr__(self) -> str:
        return f"VendedCredentials(expires={self.expires})"

    def for_store(self, now: datetime) -> dict[str, Any]:
        """Return what a credential provider of obstore gives: the values, and until when they are used."""
        expires = self.expires or now + _UNKNOWN_END
        return {**self.values, "expires_at": expires - min(_EARLY, max(expires - now, timedelta()) / 2)}


class TableCredentials:
    """Gives the credentials for a table whenever the client of its store asks: a credential provider of obstore.

    Args:
        client: The calls of the catalog.
        entry: The table.
        writes: Ask for credentials that also write, where the catalog gives them.
        clock: The present; for tests.
    """

    def __init__(
        self,
        client: CatalogClient,
        address: CatalogAddress,
        entry: CatalogEntry,
        *,
        writes: bool,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._address, self._entry, self._clock = client, address, entry, clock
        self._operation = READ_WRITE if writes else READ

    def __call__(self) -> dict[str, Any]:
        """Return fresh credentials, and until when they are used."""
        return self.vended().for_store(self._clock())

    def vended(self) -> VendedCredentials:
        """Ask the catalog; no values if it gives none, as for files of this machine.

        Raises:
            CatalogError: It refused, failed, or did not answer.
        """
        try:
            return self._vended(self._operation)
        except CatalogError as error:
            if error.status != 403 or self._operation == READ:
                raise
        self._operation = READ
        return self._vended(READ)

    def _vended(self, operation: str) -> VendedCredentials:
        if self._client.loads_tables(self._address.catalog):
            credentials = self._client.credentials(self._address, operation).storage_credentials
            return most_specific(credentials, self._entry.location)
        return of_older_call(self._client.temporary_credentials(self._entry.table_id, operation))


def most_specific(credentials: tuple[StorageCredential, ...], location: str) -> VendedCredentials:
    """Return the credentials with the longest prefix of the location."""
    fitting = [each for each in credentials if f"{location.rstrip('/')}/".startswith(f"{each.prefix.rstrip('/')}/")]
    if not fitting:
        return VendedCredentials()
    best = max(fitting, key=lambda each: len(each.prefix))
    config = {name: value for name, value in best.config.items() if value}
    expires = None if best.expiration_time_ms is None else _moment(best.expiration_time_ms)
    if "s3.access-key-id" in config and "s3.secret-access-key" in config:
        return VendedCredentials(
            _aws(config["s3.access-key-id"], config["s3.secret-access-key"], config.get("s3.session-token")), expires
        )
    if "azure.sas-token" in config:
        return VendedCredentials({"sas_token": config["azure.sas-token"]}, expires)
    if "gcs.oauth-token" in config:
        return VendedCredentials({"token": config["gcs.oauth-token"]}, expires)
    return VendedCredentials()


def of_older_call(given: TemporaryCredentials) -> VendedCredentials:
    expires = None if given.expiration_time is None else _moment(given.expiration_time)
    if given.aws_temp_credentials is not None:
        aws = given.aws_temp_credentials
        return VendedCredentials(_aws(aws.access_key_id, aws.secret_access_key, aws.session_token), expires)
    if given.azure_user_delegation_sas is not None:
        return VendedCredentials({"sas_token": given.azure_user_delegation_sas.sas_token}, expires)
    if given.gcp_oauth_token is not None:
        return VendedCredentials({"token": given.gcp_oauth_token.oauth_token}, expires)
    return VendedCredentials()


def _aws(key: str, secret: str, token: str | None) -> dict[str, str]:
    return {"access_key_id": key, "secret_access_key": secret, **({"token": token} if token else {})}


def _moment(milliseconds: int) -> datetime:
    """Return a time; one that no calendar has counts as long ago, so that it is asked for again."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)
