"""Credentials as people have them: profiles, a program, single sign-on, a role of the machine, and none.

The services that give them are servers of the tests, which answer as their makers document; the store is moto's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import EngineUnavailable, RequestError, StorageError
from explorer.storage import open_store
from explorer.storage.objects import ObjectLogStore
from explorer.storage.sign_in import source
from tests.support.at_least_one import at_least_one
from tests.support.attacks.refusing_store import Answer, refusing_store

SECRET = "secret-of-the-profile"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without settings, and an environment without credentials."""
    for name in tuple(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / ".aws").mkdir()
    return tmp_path


@pytest.fixture
def cloud() -> Iterator[Answer]:
    """The service that gives credentials."""
    with refusing_store() as answer:
        answer.status = 200
        yield answer


def _settings(home: Path, text: str) -> None:
    (home / ".aws" / "config").write_text(text, encoding="utf-8")


def _place(s3: dict[str, Any]) -> dict[str, Any]:
    """The options without the credentials, as a profile gives those."""
    return {name: value for name, value in s3.items() if "key" not in name}


def _used(store: Any) -> str:
    """Write and read, and return the secret that was used."""
    store.put_if_absent(f"_delta_log/{time.monotonic_ns()}", b"1")
    assert list(store.list_from("_delta_log"))
    assert isinstance(store, ObjectLogStore)
    return " ".join(store.secrets)


def test_a_profile_of_the_environment_or_of_an_option_signs_in(
    s3: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _settings(
        home,
        f"[profile lake]\naws_access_key_id = AKIALAKE\naws_secret_access_key = {SECRET}\nregion = eu-west-3\n"
        "[profile other]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = another\n",
    )
    monkeypatch.setenv("AWS_PROFILE", "lake")
    assert SECRET in _used(open_store("s3://warehouse/profile", _place(s3)))
    assert "another" in _used(open_store("s3://warehouse/profile", _place(s3) | {"aws_profile": "other"}))


def test_the_region_and_the_endpoint_of_a_profile_are_used(s3: dict[str, Any], home: Path) -> None:
    _settings(
        home,
        f"[profile lake]\naws_access_key_id = AKIALAKE\naws_secret_access_key = {SECRET}\nregion = eu-west-3\n"
        f"endpoint_url = {s3['aws_endpoint']}\n",
    )
    store = open_store("s3://warehouse/profile", {"aws_profile": "lake", "allow_http": "true"})
    assert SECRET in _used(store)
    sent, _ = store.sendable("")  # type: ignore[attr-defined]
    assert sent.config["region"] == "eu-west-3"


def test_keys_of_the_environment_come_before_a_profile_of_it_and_after_an_option(
    s3: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _settings(home, f"[profile lake]\naws_access_key_id = AKIALAKE\naws_secret_access_key = {SECRET}\n")
    for name, value in {"PROFILE": "lake", "ACCESS_KEY_ID": "AKIAENV", "SECRET_ACCESS_KEY": "of-the-env"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    assert SECRET not in _used(open_store("s3://warehouse/profile", _place(s3)))
    assert SECRET in _used(open_store("s3://warehouse/profile", _place(s3) | {"aws_profile": "lake"}))


def test_a_program_gives_credentials_and_is_asked_again_before_they_end(s3: dict[str, Any], home: Path) -> None:
    program = home / "give.py"
    program.write_text(
        "import json, pathlib, datetime\n"
        "count = pathlib.Path(__file__).with_name('count'); n = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(n))\n"
        "ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)\n"
        f"print(json.dumps(dict(Version=1, AccessKeyId='AKIA', SecretAccessKey='{SECRET}', SessionToken=f'token-{{n}}',"
        " Expiration=ends.isoformat())))\n",
        encoding="utf-8",
    )
    _settings(home, f"[default]\ncredential_process = {sys.executable} {program}\n")
    store = open_store("s3://warehouse/process", _place(s3))
    assert not (home / "count").exists(), "nothing runs before the store is used"
    secrets = _used(store)
    assert len({secret for secret in secrets.split() if secret.startswith("token-")}) > 1


def test_single_sign_on_gives_credentials(
    s3: dict[str, Any], home: Path, cloud: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.credentials import SSOProvider

    start = "https://example.org/start"
    _settings(
        home,
        f"[profile team]\nsso_start_url = {start}\nsso_region = eu-west-1\nsso_account_id = 123456789012\n"
        "sso_role_name = reader\n",
    )
    cache = home / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True)
    monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(cache))  # botocore reads HOME when it is imported
    ends = datetime.now(UTC) + timedelta(hours=1)
    file = cache / f"{hashlib.sha1(start.encode(), usedforsecurity=False).hexdigest()}.json"
    token = {"accessToken": "sso-token", "expiresAt": ends.strftime("%Y-%m-%dT%H:%M:%SZ"), "startUrl": start}
    file.write_text(json.dumps(token), encoding="utf-8")
    role = {"accessKeyId": "AKIA", "secretAccessKey": SECRET, "sessionToken": "session", "expiration": 4e12}
    cloud.text = json.dumps({"roleCredentials": role | {"expiration": int(ends.timestamp() * 1000)}})
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", cloud.address)
    assert SECRET in _used(open_store("s3://warehouse/sso", _place(s3) | {"aws_profile": "team"}))
    token["expiresAt"] = "2020-01-01T00:00:00Z"
    file.write_text(json.dumps(token), encoding="utf-8")
    with pytest.raises(StorageError, match="Run: aws sso login --profile team") as caught:
        open_store("s3://warehouse/sso", _place(s3) | {"aws_profile": "team"}).read("x")
    assert caught.value.reason == "expired"
    assert SECRET not in str(caught.value)


def test_a_profile_that_does_not_exist_is_named_with_the_nearest(s3: dict[str, Any], home: Path) -> None:
    _settings(home, "[profile production]\nregion = eu-west-1\n")
    with pytest.raises(RequestError, match=r"'prodution' does not exist.* Did you mean production") as caught:
        open_store("s3://warehouse/t", _place(s3) | {"aws_profile": "prodution"})
    assert caught.value.nearest == "production"


@pytest.mark.usefixtures("home")
def test_without_credentials_the_error_says_what_is_missing_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"No credentials for S3 are set.*AWS_PROFILE.*aws_skip_signature") as caught:
        open_store("s3://warehouse/t").read("x")
    assert caught.value.reason == "no-credentials"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("location", ["s3://b/t", "gs://b/t", "az://b/t"])
def test_without_an_extra_the_machine_is_asked_for_a_second_and_the_error_names_what_to_set(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(source, "_METADATA", ("127.0.0.1", 1))
    options = {"azure_storage_account_name": "account"} if location.startswith("az") else {}
    store = open_store(location, options)
    for ask in at_least_one([lambda: store.read("x"), lambda: list(store.list_from("x")), lambda: store.put("x", b"")]):
        with pytest.raises(StorageError, match=r"No credentials for .* are set\. No role of this machine") as caught:
            ask()
        assert caught.value.reason == "no-credentials"


def test_a_profile_without_the_extra_names_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("AWS_PROFILE", "lake")
    with pytest.raises(EngineUnavailable, match=r'pip install "delta-table-explorer\[aws\]"') as caught:
        open_store("s3://b/t")
    assert caught.value.engine == "boto3"
    monkeypatch.delenv("AWS_PROFILE")
    file = home / "adc.json"
    file.write_text('{"type": "external_account"}', encoding="utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(EngineUnavailable, match=r"external_account.*delta-table-explorer\[google\]"):
        open_store("gs://b/t")


def test_the_endpoint_that_the_services_of_a_profile_name_is_used(s3: dict[str, Any], home: Path) -> None:
    _settings(
        home,
        f"[profile lake]\naws_access_key_id = AKIALAKE\naws_secret_access_key = {SECRET}\nregion = eu-west-3\n"
        f"services = ours\n[services ours]\ns3 =\n  endpoint_url = {s3['aws_endpoint']}\n",
    )
    store = open_store("s3://warehouse/profile", {"aws_profile": "lake", "allow_http": "true"})
    assert SECRET in _used(store)
    assert store.sendable("")[0].config["endpoint"] == s3["aws_endpoint"]  # type: ignore[attr-defined]


def test_a_public_bucket_is_read_without_credentials(s3: dict[str, Any]) -> None:
    import boto3

    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3["aws_endpoint"], **keys)
    client.put_object(Bucket="warehouse", Key="public/x", Body=b"1", ACL="public-read")
    store = open_store("s3://warehouse/public", _place(s3) | {"aws_skip_signature": "true"})
    assert store.read("x") == b"1"


def test_opening_with_stated_keys_loads_no_library_of_a_cloud() -> None:
    program = (
        "import sys; from explorer.storage import open_store\n"
        "open_store('s3://b/t', {'aws_access_key_id': 'a', 'aws_secret_access_key': 'b'})\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('boto3', 'botocore', 'google', 'azure')])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout == "[]\n"
