"""Credentials that a function gives while a store is used, and renews before they expire.

Invariants: each credential that the function gave is known as a secret before it is sent to a store; another process
gets the credential of the moment, not the function, so it needs nothing of this program and of its settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from explorer.core.errors import RequestError

CREDENTIAL_PROVIDER: Final = "credential_provider"
"""The storage option that holds the function."""
Provider = Callable[[], Mapping[str, Any]]
"""Returns a credential as `obstore` takes it, with ``expires_at``: the time of its end with a zone, or None."""


class WatchedProvider:
    """A provider whose credentials are remembered as secrets, and whose failure is remembered as the cause.

    Args:
        provide: The provider.

    Attributes:
        secrets: The texts of all credentials that it gave, longest first.
        failure: What it raised the last time; None if it gave a credential.
    """

    def __init__(self, provide: Provider) -> None:
        self._provide = provide
        self.secrets: tuple[str, ...] = ()
        self.failure: Exception | None = None

    def __call__(self) -> Mapping[str, Any]:
        """Return the credential."""
        try:
            credential = self._provide()
        except Exception as error:
            self.failure = error
            raise
        texts = {value for value in credential.values() if isinstance(value, str) and value}
        if not texts.issubset(self.secrets):
            self.secrets = tuple(sorted(texts.union(self.secrets), key=len, reverse=True))
        self.failure = None
        return credential

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the credential of the moment in place of the function."""
        return partial, (dict, dict(self()) | {"expires_at": None})


def watched(options: Mapping[str, Any]) -> WatchedProvider | None:
    """Return the provider in storage options, if there is one.

    Raises:
        RequestError: It is not a function that returns a credential at once.
    """
    provide = options.get(CREDENTIAL_PROVIDER)
    if provide is None:
        return None
    if not callable(provide) or any(map(inspect.iscoroutinefunction, (provide, type(provide).__call__))):
        raise RequestError(
            f"The storage option {CREDENTIAL_PROVIDER} must be a function without arguments that returns the "
            "credential, not a coroutine or a text. Give one of obstore.auth, for example Boto3CredentialProvider().",
            field=CREDENTIAL_PROVIDER,
        )
    return WatchedProvider(provide)
