"""Credentials of S3: profiles, single sign-on, and roles, as boto3 reads and renews them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Final

from explorer.core.errors import RequestError, StorageError
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

if TYPE_CHECKING:
    import boto3

_STATED: Final = frozenset(
    [
        "access_key_id",
        "secret_access_key",
        "skip_signature",
        "web_identity_token_file",
        "container_credentials_relative_uri",
        "container_credentials_full_uri",
        "metadata_endpoint",
    ]
)
"""The options and variables by which the store's own client signs in."""
_PROFILE: Final = frozenset({"profile"})
_FILES: Final = (("config_file", "config"), ("shared_credentials_file", "credentials"))
_CLOUD: Final = "S3"
_REMEDY: Final = (
    "Set AWS_PROFILE or the storage option aws_profile to a profile of ~/.aws, or set aws_access_key_id and "
    "aws_secret_access_key; for a public bucket set aws_skip_signature = true."
)
# boto3 renews credentials that end within ten minutes, so what it gives is valid for so long.
_VALID: Final = timedelta(minutes=10)


def source(given: Mapping[str, str], known: Mapping[str, str]) -> Source:
    """Return where the credentials come from.

    Args:
        given: The storage options by their plain names, without ``aws_``.
        known: The environment's variables, likewise.
    """
    named = given.get("profile")
    if named is None and not _STATED.isdisjoint({*given, *known}):
        return Source()
    profile = named or known.get("profile") or None
    if not installed("boto3"):
        if profile is not None:
            raise not_installed(f"The AWS profile {profile!r}", "boto3", "aws")
        remedy = (
            _REMEDY if not _has_files(known) else f'{_REMEDY} Profiles need: pip install "delta-table-explorer[aws]"'
        )
        return Source(check=machine_role(_CLOUD, remedy))
    session = _session(profile)
    return Source(
        Late(partial(_provider, session), partial(_explained, profile or "default")),
        settings=_settings(session, {*given, *known}),
        read=_PROFILE,
    )


def _has_files(known: Mapping[str, str]) -> bool:
    return any(os.path.exists(known.get(name) or os.path.expanduser(f"~/.aws/{file}")) for name, file in _FILES)


def _session(profile: str | None) -> boto3.session.Session:
    import boto3
    import botocore.session
    from botocore.exceptions import BotoCoreError, ProfileNotFound

    try:
        return boto3.session.Session(profile_name=profile)
    except ProfileNotFound as error:
        names = botocore.session.Session().available_profiles
        near = get_close_matches(profile or "", names, 1)
        raise RequestError(
            f"The AWS profile {profile!r} does not exist in ~/.aws/config or ~/.aws/credentials."
            + (
                f" Did you mean {near[0]}?"
                if near
                else f" Known: {', '.join(names) or 'none'}. Create it: aws configure --profile {profile}"
            ),
            field="aws_profile",
            allowed=names,
            nearest=near[0] if near else None,
        ) from error
    except BotoCoreError as error:
        raise RequestError(
            f"The AWS profiles cannot be read: {error}. Correct the file.", field="aws_profile"
        ) from error


def _settings(session: boto3.session.Session, stated: set[str]) -> dict[str, str]:
    """Return the region and the endpoint of the profile, unless others are stated."""
    settings = dict[str, str]()
    if session.region_name and not {"region", "default_region"} & stated:
        settings["aws_region"] = session.region_name
    endpoint = _endpoint(session)
    if endpoint and not {"endpoint", "endpoint_url", "endpoint_url_s3"} & stated:
        settings["aws_endpoint"] = endpoint
    return settings


def _endpoint(session: boto3.session.Session) -> str | None:
    """Return the endpoint of the profile for S3, which its services may name, else for all of its services."""
    from botocore.configprovider import ConfiguredEndpointProvider

    core = session._session
    endpoint: str | None = ConfiguredEndpointProvider(core.full_config, core.get_scoped_config(), "s3").provide()
    return endpoint


def _provider(session: boto3.session.Session) -> Provider:
    from obstore.auth.boto3 import Boto3CredentialProvider

    if session.get_credentials() is None:
        raise no_credentials(_CLOUD, _REMEDY, "The AWS settings of this user and this machine name none.")
    return Boto3CredentialProvider(session, ttl=_VALID)


def _explained(profile: str, error: Exception) -> Exception:
    from botocore.exceptions import BotoCoreError, ClientError

    if isinstance(error, StorageError) or not isinstance(error, BotoCoreError | ClientError):
        return error
    name = type(error).__name__
    if "SSO" in name or "Token" in name:
        return StorageError(
            f"The sign-in of the AWS profile {profile!r} has ended or does not exist ({cause_of(error)}). Run: aws sso "
            f"login --profile {profile}",
            reason="expired",
        )
    return StorageError(
        f"The AWS profile {profile!r} gives no credentials ({cause_of(error)}). Correct it in ~/.aws, or name "
        "another one.",
        reason="no-credentials",
    )
