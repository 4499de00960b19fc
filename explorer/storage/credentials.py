"""Which options of an object store are secret, and text without them.

Stores repeat what they were sent in what they answer: keys, tokens, whole signed addresses. Invariant: no text that
leaves this program holds the value of a secret option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["concealed", "secrets_of"]

_SECRET: Final = ("key", "secret", "token", "sas", "password", "proxy_url", "proxy-url")
_SWITCHES: Final = frozenset({"", "true", "false", "0", "1"})


def secrets_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The values that no text may hold, longest first.

    Args:
        options: Options by name, or environment variables; their names say which are secret.
    """
    found = {
        value
        for name, value in options.items()
        if isinstance(value, str) and value.lower() not in _SWITCHES and any(word in name.lower() for word in _SECRET)
    }
    return tuple(sorted(found, key=len, reverse=True))


def concealed(text: str, secrets: Iterable[str]) -> str:
    """The text with ``***`` in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
