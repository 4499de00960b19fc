"""What a catalog's server answered instead of what was requested: typed errors in its own words, with what to do next.

Invariant: no error that leaves here holds a secret, and none is longer than a few sentences of the server.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

from explorer.catalogs.settings import TOKEN_VARIABLE, URL_VARIABLE, CatalogSettings
from explorer.core.errors import CatalogError, StorageError, TableNotFound
from explorer.credentials import concealed, safe_address

_LONGEST: Final = 500
MISSING: Final = frozenset({"NoSuchTableException", "NoSuchSchemaException", "NoSuchCatalogException"})
"""The types of errors that say that an object does not exist."""
_OLD_MISSING: Final = frozenset({"TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"})
_NEXT: Final = {
    401: f"Set {TOKEN_VARIABLE} to a token that is valid; one that was may have expired.",
    403: "Ask the owner of the object in the catalog for the privilege.",
    404: "Check the name, and whether the address is that of a Unity Catalog.",
    429: "The server is busy. Try again in a minute.",
    501: "This server does not implement the request. Use a newer version of it.",
}
_FAILED: Final = "The server failed. Try again later, and ask who runs it if it fails again."
_REFUSED: Final = "Check the request against the server's documentation."


class _Detail(msgspec.Struct, frozen=True):
    """An error as the Delta API of the contract words it."""

    message: str = ""
    type: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    """The content of an answer that is an error, in both forms of the contract."""

    error: _Detail | str | None = None
    error_code: str = ""
    message: str = ""
    error_description: str = ""


def refusal(
    settings: CatalogSettings, request: str, status: int, answer: bytes, location: str = ""
) -> CatalogError | TableNotFound:
    """Return the error for an answer whose status is not one of success.

    Args:
        request: What was requested, in words.
        answer: The content.
        location: Where a redirect leads.
    """
    if 300 <= status < 400:
        return _redirect(settings, request, status, location)
    kind, words = _words(answer)
    reason = concealed(words, settings.secrets)[:_LONGEST].strip()
    stated = f": {reason.rstrip('.')}" if reason else ""
    named = f" ({kind})" if kind else ""
    step = _NEXT.get(status, _FAILED if status >= 500 else _REFUSED)
    message = f"The catalog at {settings.url} answered {request} with {status}{named}{stated}. {step}"
    if status == 404 and (kind in MISSING or kind in _OLD_MISSING or (kind and "/tables/" in request)):
        return TableNotFound(
            f"The catalog at {settings.url} has no such object{stated}. Check the name; the object may have been "
            "dropped or renamed.",
        )
    return CatalogError(message, status=status, reason=kind or None, catalog=settings.url)


def no_answer(settings: CatalogSettings, error: BaseException, seconds: float) -> StorageError:
    """Return the error for a server that could not be reached, or that broke off."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError, SSLError

    where = f"The catalog at {settings.url}"
    if isinstance(error, NewConnectionError):
        reason, what = "unreachable", f"{where} cannot be reached: {_first_line(error, settings)}."
        step = f"Check {URL_VARIABLE}, and that the server runs."
    elif isinstance(error, SSLError):
        reason, what = (
            "certificate",
            f"{where} has no certificate that this machine trusts: {_first_line(error, settings)}.",
        )
        step = "Check the address, or set SSL_CERT_FILE to the certificates of your organization."
    elif isinstance(error, (ConnectTimeoutError, ReadTimeoutError, TimeoutError)):
        reason, what = "timeout", f"{where} has not answered for {seconds:.0f} seconds, so the request was given up."
        step = "Check that the server runs and is not overloaded, then try again."
    else:
        reason, what = "disconnected", f"{where} broke off the answer: {_first_line(error, settings)}."
        step = "Try again, and look at the server's log."
    return CatalogError(f"{what} {step}", reason=reason, catalog=settings.url)


def wrong_answer(settings: CatalogSettings, request: str, why: str) -> CatalogError:
    """Return the error for an answer that is not what the contract says."""
    return CatalogError(
        f"The catalog at {settings.url} did not answer {request} as its contract says: "
        f"{concealed(why, settings.secrets)[:_LONGEST]}. Check that {URL_VARIABLE} is the address of a Unity Catalog, "
        "of a version that this program knows.",
        reason="malformed",
        catalog=settings.url,
    )


def _words(answer: bytes) -> tuple[str, str]:
    """Return the type and the message of an error, in either form; of anything else its first line."""
    try:
        refusal = msgspec.json.decode(answer, type=_Refusal)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        first = answer[: 4 * _LONGEST].decode(errors="replace").strip().partition("\n")[0]
        return "", "" if first.startswith("<") else first
    if isinstance(refusal.error, _Detail):
        return refusal.error.type, refusal.error.message
    return refusal.error_code or (refusal.error or ""), refusal.message or refusal.error_description


def _redirect(settings: CatalogSettings, request: str, status: int, location: str) -> CatalogError:
    parts = urlsplit(safe_address(location))
    target = f"{parts.scheme}://{parts.hostname}" if parts.scheme and parts.hostname else "another address"
    return CatalogError(
        f"The catalog at {settings.url} redirects {request} to {target}, and the token is sent to no other address "
        f"than the one that was set. If that is the catalog, set {URL_VARIABLE} to it.",
        status=status,
        reason="redirect",
        catalog=settings.url,
    )


def _first_line(error: BaseException, settings: CatalogSettings) -> str:
    text = str(error).partition("\n")[0]
    return concealed(text, settings.secrets)[:_LONGEST].rstrip(".")
