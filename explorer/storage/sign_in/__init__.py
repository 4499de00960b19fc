"""Who gives a store its credentials: its options, the environment, or a library that knows how people sign in.

In: the options of a store, and the environment.
Out: a function that gives the store its credentials, or None where its own client has what options or variables state.
Otherwise, the library of the cloud reads profiles, single sign-on, and roles of a machine, and renews what it read; it
is an extra.
Always: nothing here sends a request before the store is used. Without credentials, the error says what is missing after
a second, instead of a minute's wait for an address that only machines of a cloud have.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.storage.credential_provider import CREDENTIAL_PROVIDER, WatchedProvider, watched
from explorer.storage.sign_in import aws, azure, google
from explorer.storage.sign_in.source import Source

_CLOUDS: Final[Mapping[str, Callable[[Mapping[str, str], Mapping[str, str]], Source]]] = {
    "AWS_": aws.source,
    "AZURE_": azure.source,
    "GOOGLE_": google.source,
}


@dataclass(frozen=True, slots=True)
class SignIn:
    """How a store signs in.

    Attributes:
        options: The options for its client, without those that are read here.
        provider: Gives the credentials; None if the client finds them itself.
        check: Raises a `StorageError` if the client would find none; called before the first request.
    """

    options: Mapping[str, Any]
    provider: WatchedProvider | None = None
    check: Callable[[], None] | None = None


def sign_in(environment: str, options: Mapping[str, Any]) -> SignIn:
    """Return how a store signs in.

    Args:
        environment: How the names of the store's environment variables begin, ``AWS_``.
        options: Its storage options.

    Raises:
        RequestError: The options name a profile that does not exist, or hold a provider that is not one.
        EngineUnavailable: They need a library that is not installed.
    """
    if CREDENTIAL_PROVIDER in options:
        rest = {name: value for name, value in options.items() if name != CREDENTIAL_PROVIDER}
        return SignIn(rest, watched(options))
    given = {_plain(name, environment): str(value) for name, value in options.items()}
    known = {_plain(name, environment): value for name, value in os.environ.items() if name.startswith(environment)}
    source = _CLOUDS[environment](given, known)
    rest = {name: value for name, value in options.items() if _plain(name, environment) not in source.read}
    provider = None if source.provide is None else WatchedProvider(source.provide)
    return SignIn(source.settings | rest, provider, source.check)


def _plain(name: str, environment: str) -> str:
    return name.lower().removeprefix(environment.lower())
