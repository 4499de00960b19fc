"""Credentials that a function gives: S3 (moto's server on the loopback)."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from explorer.core.errors import ExplorerError, NotAllowed, RequestError, StorageError
from explorer.storage import open_store
from explorer.storage.objects import ObjectLogStore
from tests.support.at_least_one import at_least_one

SECRET = "tell-nobody-4711"


class Renewed:
    """Gives another credential each time, each of which ends at once."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self) -> Mapping[str, Any]:
        self.given += 1
        secret = f"{SECRET}-{self.given}"
        return {"access_key_id": "key", "secret_access_key": secret, "token": None, "expires_at": datetime.now(UTC)}


def _without_keys(s3: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in s3.items() if "key" not in name}


def test_a_function_gives_the_credentials_and_is_asked_again_when_they_end(s3: dict[str, Any]) -> None:
    provider = Renewed()
    store = open_store("s3://warehouse/provided", _without_keys(s3) | {"credential_provider": provider})
    store.put_if_absent("_delta_log/x", b"1")
    assert store.read("_delta_log/x") == b"1"
    assert provider.given > 2


def test_what_a_function_gave_is_a_secret_and_it_is_never_shown(s3: dict[str, Any]) -> None:
    provider = Renewed()
    options = _without_keys(s3) | {"credential_provider": provider}
    store = open_store("s3://nowhere/provided", options)
    with pytest.raises(StorageError) as caught:
        store.put("x", b"1")
    assert isinstance(store, ObjectLogStore)
    assert set(store.secrets) >= {f"{SECRET}-1", "key"}
    assert SECRET not in str(caught.value) + str(caught.value.__cause__) + repr(store)


def test_another_process_gets_the_credential_of_the_moment_and_not_the_function(s3: dict[str, Any]) -> None:
    provider = Renewed()

    def local() -> Mapping[str, Any]:  # no process can unpickle it
        return provider()

    store = open_store("s3://warehouse/sent", _without_keys(s3) | {"credential_provider": local})
    store.put("x", b"1")
    assert isinstance(store, ObjectLogStore)
    sent, key = store.sendable("x")
    received = pickle.loads(pickle.dumps(sent))  # noqa: S301 - what was just made
    before = provider.given
    import obstore

    assert bytes(obstore.get(received, key).bytes()) == b"1"
    assert provider.given == before


def test_what_a_function_raises_on_purpose_is_raised_as_it_is(s3: dict[str, Any]) -> None:
    def refuse() -> Mapping[str, Any]:
        raise NotAllowed("The catalog gives no credentials for this path. Ask its owner.")

    store = open_store("s3://warehouse/refused", _without_keys(s3) | {"credential_provider": refuse})
    for ask in at_least_one([lambda: store.read("x"), lambda: list(store.list_from("x")), lambda: store.put("x", b"")]):
        with pytest.raises(NotAllowed, match="Ask its owner"):
            ask()


def test_a_provider_that_is_no_plain_function_is_a_bad_request(s3: dict[str, Any]) -> None:
    async def later() -> Mapping[str, Any]:
        return {"expires_at": datetime.now(UTC) + timedelta(hours=1)}

    for provider in at_least_one(["a text", later]):
        with pytest.raises(RequestError, match="must be a function") as caught:
            open_store("s3://warehouse/odd", s3 | {"credential_provider": provider})
        assert isinstance(caught.value, ExplorerError)
        assert caught.value.field == "credential_provider"
