"""What a token says, once its signature, its time, its client, and its login are checked."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Final

import jwt

from explorer.web.serving.people.oidc.provider import Provider, SignInFailed

LEEWAY: Final = 60
"""Seconds by which the clocks of the issuer and of this server may differ."""
_LONGEST_NAME: Final = 200
_MOST_GROUPS: Final = 500


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person, as a token names it.

    Attributes:
        subject: The issuer's own name of the person, which never changes.
        name: The person's name.
        groups: The person's groups.
    """

    subject: str
    name: str
    groups: tuple[str, ...]
    email: str = ""


def signed_in(provider: Provider, token: str, *, nonce: str | None) -> SignedIn:
    """Return the person of an ID token (OpenID Connect Core 1.0, section 3.1.3.7).

    Args:
        provider: The issuer.
        token: The token.
        nonce: What the login sent; None for a renewed token, which may have none.

    Raises:
        SignInFailed: It does not count.
    """
    settings = provider.settings
    key, allowed = provider.key(token)
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=allowed,
            audience=settings.client_id,
            issuer=settings.issuer,
            leeway=LEEWAY,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
    except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
        raise SignInFailed(
            "The clocks differ",
            f"The token of {settings.host} is not valid at the time of this server.",
            f"Sign in again. If it fails again, a clock is wrong by more than {LEEWAY} s: that of this server, or that "
            "of the sign-in service. Tell the people who run them.",
        ) from error
    except jwt.PyJWTError as error:
        raise SignInFailed(
            "Invalid token",
            f"The token of {settings.host} does not count ({type(error).__name__}).",
            "Sign in again.",
        ) from error
    if nonce is not None and not secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInFailed("Another login", "The token belongs to another login.", "Sign in again.")
    parties = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if len(parties) > 1 and claims.get("azp") != settings.client_id:
        raise SignInFailed("Another client", "The token was made for another program.", "Sign in again.")
    return SignedIn(
        str(claims["sub"]),
        _name(claims, settings.name_claim),
        _groups(claims.get(settings.group_claim)),
        _email(claims.get("email")),
    )


def _name(claims: dict[str, Any], claim: str) -> str:
    name = claims.get(claim)
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise SignInFailed(
            "No name",
            f"The token has no name in its claim {claim}.",
            "Tell the people who run this server: another claim may hold the name (oidc.name_claim), or a scope is "
            "missing.",
        )
    return name.strip()


def _email(value: object) -> str:
    """Return the address, also one that is not verified: it only tells that two accounts may be of one person."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_NAME else ""


def _groups(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(text for text in texts[:_MOST_GROUPS] if isinstance(text, str) and text)
