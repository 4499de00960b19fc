"""Credentials of Google Cloud Storage: the application default credentials, as google-auth reads and renews them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from explorer.core.errors import StorageError
from explorer.storage.credential_provider import Provider
from explorer.storage.sign_in.source import (
    Late,
    Source,
    cause_of,
    installed,
    machine_role,
    no_credentials,
    not_installed,
)

_STATED: Final = frozenset(["service_account", "service_account_path", "service_account_key", "skip_signature"])
_FILE: Final = "application_credentials"
_OWN_TYPES: Final = frozenset({"service_account", "authorized_user"})
"""The types of credential files that the store's own client reads."""
_SCOPES: Final = ("https://www.googleapis.com/auth/devstorage.read_write",)
_CLOUD: Final = "Google Cloud Storage"
_REMEDY: Final = (
    "Run: gcloud auth application-default login; or set GOOGLE_APPLICATION_CREDENTIALS, or the storage option "
    "google_service_account, to a file of a key; for a public bucket set google_skip_signature = true."
)


def source(given: Mapping[str, str], known: Mapping[str, str]) -> Source:
    """Return where the credentials come from.

    Args:
        given: The storage options by their plain names, without ``google_``.
        known: The environment's variables, likewise.
    """
    if not _STATED.isdisjoint({*given, *known}):
        return Source()
    named = given.get(_FILE) or known.get(_FILE)
    file = named or os.path.expanduser("~/.config/gcloud/application_default_credentials.json")
    kind = _type_of(file)
    if kind in _OWN_TYPES or (named and kind is None):
        return Source()
    if not installed("google.auth"):
        if kind is not None:
            raise not_installed(f"A Google credential file of the type {kind}", "google-auth", "google")
        return Source(check=machine_role(_CLOUD, _REMEDY))
    return Source(Late(partial(_provider, None if kind is None else file), _explained), read=frozenset({_FILE}))


def _type_of(file: str) -> str | None:
    """Return the type that a file of credentials states; None if it does not exist or states none."""
    try:
        document: Any = json.loads(Path(file).read_bytes())
    except (OSError, ValueError):
        return None
    kind = document.get("type") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else None


def _provider(file: str | None) -> Provider:
    import google.auth
    from obstore.auth.google import GoogleCredentialProvider

    if file is not None:
        credentials, _ = google.auth.load_credentials_from_file(file, scopes=_SCOPES)
    else:
        credentials, _ = google.auth.default(scopes=_SCOPES)
    return GoogleCredentialProvider(credentials)


def _explained(error: Exception) -> Exception:
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError

    if isinstance(error, DefaultCredentialsError):
        return no_credentials(_CLOUD, _REMEDY)
    if isinstance(error, GoogleAuthError):
        return StorageError(f"Google gives no credentials ({cause_of(error)}). {_REMEDY}", reason="expired")
    return error
