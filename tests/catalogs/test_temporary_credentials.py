"""Temporary credentials that a catalog gives for a table's files: asked for, renewed, and in no text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

import explorer
from explorer.catalogs.address import parse_table
from explorer.catalogs.contract import AwsCredentials, AzureSas, GoogleToken, StorageCredential, TemporaryCredentials
from explorer.catalogs.entry import read_entry
from explorer.catalogs.opening import client_of
from explorer.catalogs.settings import settings_from
from explorer.catalogs.temporary_credentials import TableCredentials, most_specific, of_older_call
from explorer.core.errors import CatalogError
from explorer.new_table import new_table
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.catalogs.unity_server import UnityServer, refused
from tests.support.catalogs.unity_state import CatalogTable
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

SECRET = "tell-nobody-4711"


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, Any]]:
    """Options without keys for a bucket ``warehouse`` that has a table ``orders``."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"aws_endpoint": f"http://{host}:{port}", "aws_region": "us-east-1", "allow_http": "true"}
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    boto3.client("s3", endpoint_url=options["aws_endpoint"], region_name="us-east-1", **keys).create_bucket(
        Bucket="warehouse"
    )
    write(open_store("s3://warehouse/orders", options | keys), {0: (PROTOCOL, METADATA, add("a"))})
    yield options
    server.stop()


def vended(prefix: str, life: timedelta, name: str = "one") -> dict[str, Any]:
    until = int((datetime.now(UTC) + life).timestamp() * 1000)
    config = {"s3.access-key-id": f"key-{name}", "s3.secret-access-key": SECRET, "s3.session-token": f"{SECRET}-token"}
    return {"prefix": prefix, "config": config, "expiration-time-ms": until}


@pytest.fixture
def orders(server: UnityServer, monkeypatch: pytest.MonkeyPatch) -> CatalogTable:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    columns = {"type": "struct", "fields": []}
    table = CatalogTable("orders", str(uuid4()), "s3://warehouse/orders", "EXTERNAL", columns, {})
    return server.add_table("main", "shop", table)


def test_a_table_in_a_bucket_is_read_and_changed_with_what_the_catalog_gives(
    orders: CatalogTable, server: UnityServer, bucket: dict[str, Any]
) -> None:
    orders.credentials = [vended("s3://warehouse/orders", timedelta(hours=1))]
    table = explorer.open_table("uc://main.shop.orders", storage_options=bucket, roots=["uc://main"])
    result = table.commit(table.plan({"kind": "set-description", "description": uuid4().hex}))
    assert result.outcome == "committed"
    asked = [request.query["operation"] for request in server.requests if request.path.endswith("/credentials")]
    assert set(asked) == {"READ_WRITE"}
    assert len(asked) < 6, "credentials that last are used again"
    assert SECRET not in repr(table) + repr(table.store) + repr(table.catalog_entry)


def test_a_table_is_created_in_a_bucket_with_what_the_catalog_gives(
    orders: CatalogTable, server: UnityServer, bucket: dict[str, Any]
) -> None:
    server.state.root = "s3://warehouse/managed"
    server.state.staging_credentials = [
        {**vended("s3://warehouse/managed", timedelta(hours=1)), "operation": "READ_WRITE"}
    ]
    place = new_table("uc://main.shop.new", storage_options=bucket, roots=["uc://main"])
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    plan = place.plan({"kind": "create-table", "schema": {"type": "struct", "fields": [field]}})
    assert place.commit(plan, reason="why").outcome == "committed"
    assert place.location.startswith("s3://warehouse/managed/")
    created = server.state.table("main", "shop", "new")
    created.credentials = [vended("s3://warehouse/managed", timedelta(hours=1))]
    table = explorer.open_table("uc://main.shop.new", storage_options=bucket, roots=["uc://main"])
    assert table.latest_version() == 0
    assert SECRET not in repr(place) + repr(plan)


def test_credentials_are_renewed_before_they_end(
    orders: CatalogTable, server: UnityServer, bucket: dict[str, Any]
) -> None:
    orders.credentials = [vended("s3://warehouse/orders", timedelta(seconds=3))]
    table = explorer.open_table("uc://main.shop.orders", storage_options=bucket, read_only=True)
    before = server.count("GET", "/credentials")
    time.sleep(1.6)
    table.refresh()
    assert server.count("GET", "/credentials") > before
    assert {request.query["operation"] for request in server.requests if "/credentials" in request.path} == {"READ"}


def test_who_may_only_read_gets_credentials_that_read(orders: CatalogTable, server: UnityServer) -> None:
    orders.credentials = [vended("s3://warehouse/orders", timedelta(hours=1))]
    server.faults.append(
        lambda request: (
            refused(403, "PermissionDeniedException", "MODIFY is missing")
            if request.query.get("operation") == "READ_WRITE"
            else None
        )
    )
    client, address = client_of(settings_from()), parse_table("uc://main.shop.orders")
    provider = TableCredentials(client, address, read_entry(client, address), writes=True)
    assert provider()["access_key_id"] == "key-one"
    server.faults[:] = [lambda _: refused(403, "PermissionDeniedException", "SELECT is missing")]
    with pytest.raises(CatalogError, match="SELECT is missing"):
        provider()


def test_the_most_specific_prefix_counts_and_others_do_not() -> None:
    given = [
        StorageCredential(prefix, "READ", {"gcs.oauth-token": prefix}, 4_000_000_000_000)
        for prefix in ("gs://b", "gs://b/lake/", "gs://b/lake/ord", "gs://b/lake/orders", "s3://b/lake/orders")
    ]
    assert most_specific(tuple(given), "gs://b/lake/orders").values == {"token": "gs://b/lake/orders"}
    assert most_specific(tuple(given), "gs://b/lake/orders2").values == {"token": "gs://b/lake/"}
    assert most_specific(tuple(given), "gs://other").values == {}
    azure = StorageCredential("abfss://c@a/x", "READ", {"azure.sas-token": "sig", "gcs.oauth-token": None}, None)
    assert most_specific((azure,), "abfss://c@a/x").values == {"sas_token": "sig"}
    empty = StorageCredential("s3://b", "READ", {"s3.access-key-id": "", "s3.secret-access-key": ""}, -(1 << 60))
    assert most_specific((empty,), "s3://b/x").values == {}


def test_the_older_call_gives_the_same() -> None:
    cases = (
        (TemporaryCredentials(aws_temp_credentials=AwsCredentials("k", "s", "t")),
         {"access_key_id": "k", "secret_access_key": "s", "token": "t"}),
        (TemporaryCredentials(azure_user_delegation_sas=AzureSas("sig")), {"sas_token": "sig"}),
        (TemporaryCredentials(gcp_oauth_token=GoogleToken("t"), expiration_time=1 << 62), {"token": "t"}),
        (TemporaryCredentials(), {}),
    )  # fmt: skip
    for given, values in at_least_one(cases):
        assert of_older_call(given).values == values
