"""Tables by their names in AWS Glue: against moto's server of Glue and S3 on the loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import explorer
from explorer.catalogs.glue import glue_location
from explorer.cli.app import run
from explorer.core.errors import CatalogError, EngineUnavailable, RequestError, TableNotFound
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

SYMLINK = "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def options(server: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server)
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "eu-central-1"}
    return keys | {"aws_endpoint": server, "allow_http": "true"}


@pytest.fixture
def tables(server: str, options: dict[str, str]) -> None:
    """A database ``shop`` as Spark, a crawler, and others fill it."""
    import boto3

    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "eu-central-1"}
    bucket = boto3.client("s3", endpoint_url=server, **keys)
    glue = boto3.client("glue", endpoint_url=server, **keys)
    if glue.get_databases()["DatabaseList"]:
        return
    bucket.create_bucket(Bucket="lake", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    write(open_store("s3://lake/orders", options), {0: (PROTOCOL, METADATA, add("a"))})
    glue.create_database(DatabaseInput={"Name": "shop"})

    def create(name: str, parameters: dict[str, str], **storage: Any) -> None:
        glue.create_table(
            DatabaseName="shop", TableInput={"Name": name, "Parameters": parameters, "StorageDescriptor": storage}
        )

    spark = {"spark.sql.sources.provider": "delta"}
    path = {"Parameters": {"path": "s3://lake/orders"}}
    create("by-spark", spark, Location="s3://lake/shop.db/by-spark-__PLACEHOLDER__", SerdeInfo=path)
    create("by_crawler", {"classification": "delta", "table_type": "delta"}, Location="s3://lake/orders/")
    create("with.dot", {"table_type": "DELTA"}, Location="s3a://lake/orders")
    create("links", spark, Location="s3://lake/orders/_symlink_format_manifest", InputFormat=SYMLINK)
    create("ice", {"table_type": "ICEBERG"}, Location="s3://lake/ice")
    create("csv", {"classification": "csv"}, Location="s3://lake/csv")
    create("here", spark, Location="file:///etc")
    create("nowhere", spark)


@pytest.mark.usefixtures("tables")
def test_a_table_is_opened_by_its_name_and_changed(options: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    for name in at_least_one(["by-spark", "by_crawler", "`with.dot`", "`by-spark`"]):
        table = explorer.open_table(f"glue://shop.{name}", storage_options=options)
        assert table.snapshot().num_files == 1
    flags = [part for name, value in options.items() for part in ("--storage-option", f"{name}={value}")]
    assert run(["snapshot", "glue://shop.by_crawler", "--json", *flags]) == 0
    assert json.loads(capfd.readouterr().out)["table"].startswith("s3://lake/orders")
    assert run(["audit", "glue://shop.by_crawler", "glue://shop.ice", "--json", *flags]) == 2
    shown = capfd.readouterr()
    assert json.loads(shown.out)["table"].startswith("s3://lake/orders")
    assert "iceberg" in json.loads(shown.err)["message"]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("glue://shop.links", RequestError, "give that: s3://lake/orders[.]"),
        ("glue://shop.ice", RequestError, "listed as iceberg"),
        ("glue://shop.csv", RequestError, "listed as csv"),
        ("glue://shop.here", RequestError, "at file:///etc"),
        ("glue://shop.nowhere", RequestError, "at no location"),
        ("glue://shop.absent", TableNotFound, "dropped or renamed"),
        ("glue://absent.orders", TableNotFound, "dropped or renamed"),
        ("glue://orders", RequestError, "DATABASE.TABLE"),
        ("glue://a.b.c", RequestError, "DATABASE.TABLE"),
        ("glue://a..c", RequestError, "DATABASE.TABLE"),
    ],
)
def test_what_is_no_delta_table_in_s3_is_refused_by_what_it_is(
    options: dict[str, str], name: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        explorer.open_table(name, storage_options=options)


def test_what_is_missing_to_sign_in_is_named(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(RequestError, match="aws_region"):
        glue_location("glue://a.b", {name: value for name, value in options.items() if name != "aws_region"})
    with pytest.raises(RequestError, match="absent"):
        glue_location("glue://a.b", {"aws_profile": "absent"})
    monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", "http://127.0.0.1:1")
    with pytest.raises(CatalogError, match=r"did not say where a\.b is"):
        glue_location("glue://a.b", options)
    monkeypatch.setattr("explorer.catalogs.glue.installed", lambda _: False)
    with pytest.raises(EngineUnavailable, match=r"delta-table-explorer\[aws\]"):
        glue_location("glue://a.b", options)
