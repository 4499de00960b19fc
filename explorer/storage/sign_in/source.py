"""Where the credentials of a store come from, as one cloud has it."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from explorer.core.errors import EngineUnavailable, StorageError
from explorer.storage.credential_provider import Provider

_METADATA: Final = ("169.254.169.254", 80)
_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Source:
    """Where the credentials come from.

    Attributes:
        provide: Returns them; None if the store's own client finds them.
        settings: What was read with them: a region, an endpoint.
        read: Options that the store's client does not know, by their plain names.
        check: Raises a `StorageError` if the client would find none.
    """

    provide: Provider | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    check: Callable[[], None] | None = None


class Late:
    """A provider that is made at its first use, as making one may read files and ask other programs.

    Args:
        make: Makes it.
        explained: Returns the typed error for what making or calling it raised.
    """

    def __init__(self, make: Callable[[], Provider], explained: Callable[[Exception], Exception]) -> None:
        self._make = make
        self._explained = explained
        self._made: Provider | None = None

    def __call__(self) -> Mapping[str, Any]:
        """Return the credential."""
        try:
            if self._made is None:
                self._made = self._make()
            return self._made()
        except Exception as error:
            raise self._explained(error) from error


def installed(package: str) -> bool:
    """Return whether a package of an extra is there; nothing of it is loaded."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def not_installed(what: str, package: str, extra: str) -> EngineUnavailable:
    """Return the error for a package that is missing.

    Args:
        what: What needs it, as the subject of a sentence.
    """
    install = f'pip install "delta-table-explorer[{extra}]"'
    return EngineUnavailable(
        f"{what} needs the package {package}, which is not installed. To get it: {install}. Or set the credentials "
        "themselves, as storage options or in the environment.",
        engine=package,
        install=install,
    )


def no_credentials(cloud: str, remedy: str, cause: str = "") -> StorageError:
    """Return the error for a store without credentials.

    Args:
        cloud: The name of the store.
        remedy: How to set them.
        cause: What was tried, as a sentence.
    """
    return StorageError(
        f"No credentials for {cloud} are set.{f' {cause}' if cause else ''} {remedy}", reason="no-credentials"
    )


def cause_of(error: Exception) -> str:
    """Return the first line of an error of a library, without its full stop."""
    lines = str(error).splitlines()
    return lines[0].rstrip(". ") if lines else type(error).__name__


def machine_role(cloud: str, remedy: str) -> Callable[[], None]:
    """Return a check that this machine is one of a cloud, whose address for roles answers.

    Its client would try that address for a minute.
    """

    def check() -> None:
        try:
            socket.create_connection(_METADATA, timeout=_SECONDS).close()
        except OSError as error:
            raise no_credentials(
                cloud, remedy, f"No role of this machine gives them: {_METADATA[0]} does not answer."
            ) from error

    return check
