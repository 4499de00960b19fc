"""Credentials of Azure: the sign-in of its command line, environment, and managed identities, by azure-identity."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from explorer.core.errors import StorageError
from explorer.storage.credential_provider import Provider
from explorer.storage.sign_in.source import Late, Source, cause_of, installed, machine_role

_STATED: Final = frozenset(
    name
    for plain in (
        *("account_key", "access_key", "master_key", "sas_key", "sas_token", "token", "bearer_token", "client_secret"),
        *("federated_token_file", "use_azure_cli", "use_emulator", "skip_signature", "msi_endpoint"),
        *("identity_endpoint", "object_id", "msi_resource_id"),
    )
    for name in (plain, f"storage_{plain}")
)
"""The options and variables by which the store's own client signs in."""
_CLOUD: Final = "Azure"
_REMEDY: Final = (
    "Set azure_storage_account_key or azure_storage_sas_key, or set azure_use_azure_cli=true after az login; "
    'to use every sign-in that Azure knows: pip install "delta-table-explorer[azure]".'
)


def source(given: Mapping[str, str], known: Mapping[str, str]) -> Source:
    """Return where the credentials come from.

    Args:
        given: The storage options by their plain names, without ``azure_``.
        known: The environment's variables, likewise.
    """
    if not _STATED.isdisjoint({*given, *known}):
        return Source()
    if not installed("azure.identity"):
        return Source(check=machine_role(_CLOUD, _REMEDY))
    client = given.get("client_id") or given.get("storage_client_id")
    return Source(Late(partial(_provider, client), _explained))


def _provider(client: str | None) -> Provider:
    from azure.identity import DefaultAzureCredential

    # It warns of each sign-in that does not exist; what counts is in the error.
    logging.getLogger("azure.identity").addHandler(logging.NullHandler())
    from obstore.auth.azure import AzureCredentialProvider

    credential = DefaultAzureCredential(**({} if client is None else {"managed_identity_client_id": client}))
    return AzureCredentialProvider(credential)


def _explained(error: Exception) -> Exception:
    from azure.core.exceptions import AzureError

    if not isinstance(error, AzureError):
        return error
    return StorageError(
        f"Azure gives no credentials ({cause_of(error)}). Run: az login; or {_REMEDY[0].lower()}{_REMEDY[1:]}",
        reason="no-credentials",
    )
