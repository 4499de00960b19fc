"""Options -> an object store: S3, Google Cloud Storage, Azure.

Options have the names of the Rust object_store crate (``aws_access_key_id``, ``endpoint``, ``region``, ``allow_http``,
...); what is not given comes from the environment. The option ``credential_provider`` is a function that returns the
credential, as the stores of obstore take it. Invariant: no error that leaves here holds a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from explorer.core.errors import RequestError
from explorer.credentials import concealed, secrets_of
from explorer.storage.credential_provider import CREDENTIAL_PROVIDER, watched
from explorer.storage.exclusive_creation import CreationProof
from explorer.storage.objects import ObjectLogStore
from explorer.storage.roots import AllowedRoots, Opener
from explorer.storage.silence import GIVEN_UP

_CLIENT_KEYS: Final = frozenset(
    ["allow_http", "allow_invalid_certificates", "connect_timeout", "pool_idle_timeout", "proxy_url", "timeout"]
)


def open_bucket(
    url: str, options: Mapping[str, Any], opener: Opener, roots: AllowedRoots | None, *, environment: str
) -> ObjectLogStore:
    """Open the store of a URL.

    Args:
        url: Of a table, ``s3://bucket/orders``.
        opener: Opens an absolute location that the log names.
        roots: Checked by the caller; a store has no links that lead out of them.
        environment: How the names of the environment variables begin that the store reads, ``AWS_``.

    Raises:
        RequestError: The URL names no bucket, or the options do not fit the store.
    """
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    del roots
    scheme, _, rest = url.partition("://")
    if not rest.partition("/")[0]:
        raise RequestError(
            f"{url!r} names no bucket or container. Give it before the folder, as in {scheme}://bucket/sales/orders.",
            location=url,
        )
    provider = watched(options)
    options = {name: value for name, value in options.items() if name != CREDENTIAL_PROVIDER}
    prefix = environment.lower()
    known = {name: value for name, value in os.environ.items() if name.startswith(environment)}
    secrets = secrets_of({**known, **options})
    # Some tools write the options of the HTTP client with the store's prefix.
    names = {key: key.lower().removeprefix(prefix) for key in options}
    client: Any = {names[key]: value for key, value in options.items() if names[key] in _CLIENT_KEYS}
    config: Any = {key: value for key, value in options.items() if names[key] not in _CLIENT_KEYS}
    try:
        open_it = partial(
            from_url,
            url,
            config=config,
            client_options=client or None,
            retry_config={"retry_timeout": timedelta(seconds=GIVEN_UP)},
            credential_provider=provider,
        )
        store = open_it()
    except (BaseError, ValueError, TypeError) as error:
        reason = concealed(str(error).split("\n", 1)[0], secrets)
        raise RequestError(f"{url!r} cannot be opened with these storage options: {reason}", location=url) from error
    bucket = f"{scheme}://{rest.partition('/')[0]}"
    # The throw-away object is deleted by a request that every S3 gateway has.
    plain = {"aws_disable_bulk_delete": "true"} if environment == "AWS_" else {}
    single_try = partial(open_it, config={**config, **plain}, retry_config={"max_retries": 0})
    return ObjectLogStore(
        store,
        url,
        opener,
        configured=bool(options) or provider is not None,
        secrets=secrets,
        provider=provider,
        creation=CreationProof(_identity(bucket, known, options), single_try),
    )


def _identity(bucket: str, *settings: Mapping[str, Any]) -> str:
    """Return the same text for the same store; settings may hold secrets, so they are not in it."""
    parts = [bucket, *(f"{name}={value}" for each in settings for name, value in sorted(each.items()))]
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
