"""Rows of tables in an object store (moto's server on the loopback) and in memory, read without any jar for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptTable, ExplorerError, StorageError
from explorer.spark.engine.session import Engine
from explorer.spark.rows.preview import preview
from explorer.spark.scan.scan import scan
from explorer.storage.memory import memory
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.row_content import content_hash, row_lines
from tests.support.dose import some_of
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=5)]

SECRET = "tell-nobody-4711"
Put = Callable[[Path, str], explorer.Table]


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, Any]]:
    """Options for a bucket ``rows`` on a server of its own."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint, region = f"http://{host}:{port}", "us-east-1"
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="key-id", aws_secret_access_key=SECRET, region_name=region
    )
    client.create_bucket(Bucket="rows")
    yield {
        "aws_endpoint": endpoint,
        "aws_access_key_id": "key-id",
        "aws_secret_access_key": SECRET,
        "aws_region": region,
        "allow_http": "true",
    }
    server.stop()


@pytest.fixture(params=["s3", "memory"])
def put(request: pytest.FixtureRequest) -> Put:
    """Copy a local table into the store under a name, and open it there."""
    import obstore
    from obstore.store import from_url

    options: dict[str, Any] = request.getfixturevalue("bucket") if request.param == "s3" else {}
    bucket_name = "rows" if request.param == "s3" else f"rows-{id(request)}"

    def copied(source: Path, name: str) -> explorer.Table:
        if request.param == "s3":
            config = {key: value for key, value in options.items() if key != "allow_http"}
            store: Any = from_url("s3://rows", config=config, client_options={"allow_http": True})
        else:
            store = memory(bucket_name)
        for file in source.rglob("*"):
            if file.is_file():
                obstore.put(store, f"{name}/{file.relative_to(source)}", file.read_bytes())
        return explorer.open_table(f"{request.param}://{bucket_name}/{name}", storage_options=options or None)

    return copied


REFERENCE = ["deletion-vectors", "column-mapping", "partition-types", "type-widening", "timestamp-ntz", "variant"]


@pytest.mark.sampled(cases=2)
@pytest.mark.reference
@pytest.mark.parametrize(
    ("put", "name"),
    [*(("s3", name) for name in some_of(REFERENCE, 4)), ("memory", "deletion-vectors")],
    indirect=["put"],
)
def test_the_rows_are_those_the_reference_reads(put: Put, name: str) -> None:
    record = expected(reference_root())[name]
    table = put(reference_root() / "tables" / name, name)
    for version in at_least_one(record["versions"][-1 :: -8 if name == "deletion-vectors" else -100]):
        rows = scan(table, table.snapshot(version["version"])).to_arrow(readable=True)
        assert version["content_hash"] == content_hash(rows), version["version"]


@pytest.mark.golden
def test_columns_mapped_by_id_are_found_by_id(put: Put) -> None:
    for name in ("kernelrs__partition_cm__id", "delta__kdef-column-mapping-id"):
        rows_expected = expected(golden_root())[name]["versions"][-1]["rows_expected"]
        table = put(golden_root() / "tables" / name, name)
        assert rows_expected["content_hash"] == content_hash(scan(table, table.snapshot()).to_arrow()), name


@pytest.mark.whole("test_the_rows_are_those_the_reference_reads")
def test_every_shape_of_value_arrives_whole(put: Put, tmp_path: Path) -> None:
    inner = struct(
        column("x y", "integer"), column("l", {"type": "array", "elementType": "string", "containsNull": True})
    )
    mapped = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    fields = [column("a.b", "long"), column("m", mapped), column("gone", "date"), column("void", "void")]
    fields.append(column("__explorer_place", "long"))
    kind = pa.map_(pa.string(), pa.struct([("l", pa.list_(pa.string())), ("x y", pa.int16())]))
    values = [[("k", {"x y": 1, "l": ["ü", None]}), ("n", None)], None, [], [("z", {"x y": None, "l": None})]]
    rows = pa.table({"m": pa.array(values, kind), "a.b": pa.array([1, None, 3, 4], pa.int32())})
    odd = "p=a%2Fb/d é [x]{1}*?#%.parquet"
    options = {"row_group_size": 3}
    source = write_table(tmp_path / "t", fields, [DataFile(odd, rows, masked=[2], options=options)])
    table, plain = put(source, "shapes"), explorer.open_table(source)
    ours, local = (scan(t, t.snapshot(), row_identity=True).to_arrow() for t in (table, plain))
    assert (local.schema.names, local.schema.types) == (ours.schema.names, ours.schema.types)
    assert sorted(row_lines(local)) == sorted(row_lines(ours))
    assert ours.column("_row_index").to_pylist() == [0, 1, 3]
    assert table.rows(where="m['k'].`x y` = 1 AND `a.b` < 2").count() == 1
    assert preview(table, table.snapshot(), 2).result(60).table.num_rows == 2
    assert table.check({"c": "`a.b` IS NOT NULL"}).predicates[0].violations == 1


@pytest.mark.always
@pytest.mark.parametrize("put", ["s3"], indirect=True)
def test_tasks_read_with_the_credential_that_a_function_gives(put: Put, bucket: dict[str, Any], tmp_path: Path) -> None:
    """As with a profile: the tasks have neither the function nor what it reads."""
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    source = write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", rows)])
    location = put(source, "provided").location
    given = {"access_key_id": "key-id", "secret_access_key": SECRET, "token": None, "expires_at": None}
    options = {name: value for name, value in bucket.items() if "key" not in name}
    table = explorer.open_table(location, storage_options=options | {"credential_provider": lambda: given})
    assert sorted(row.id for row in table.rows().collect()) == [1, 2]
    assert SECRET not in str(table.rows()._jdf.queryExecution().toString())


def test_a_missing_a_changed_and_a_broken_file_are_named(put: Put, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    names = ["one 1.parquet", "two.parquet", "three.parquet"]
    for number, damage in enumerate(["gone", "longer", "broken"]):
        source = write_table(tmp_path / damage, [column("id", "long")], [DataFile(name, rows) for name in names])
        file = source / names[number]
        data = file.read_bytes()
        file.unlink()
        if damage != "gone":
            file.write_bytes(data + b"x" if damage == "longer" else bytes(len(data)))
        table = put(source, damage)
        with pytest.raises(StorageError if damage == "gone" else CorruptTable) as caught:
            scan(table, table.snapshot()).to_arrow()
        assert caught.value.path in (names[number], names[number].replace(" ", "%20"))
        assert SECRET not in str(caught.value) + json.dumps(caught.value.facts())


def test_no_credential_is_in_a_plan_an_error_or_a_setting(
    bucket: dict[str, Any], spark_engine: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import obstore
    from obstore.store import from_url

    source = write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", pa.table({"id": [1, 2]}))])
    config = {key: value for key, value in bucket.items() if key != "allow_http"}
    store = from_url("s3://rows", config=config, client_options={"allow_http": True})  # type: ignore[arg-type]
    for file in (f for f in source.rglob("*") if f.is_file()):
        obstore.put(store, f"quiet/{file.relative_to(source)}", file.read_bytes())
    table = explorer.open_table("s3://rows/quiet", storage_options=bucket)
    frame = table.rows(where="id > 1")
    frame.explain(mode="extended")
    assert frame.count() == 1
    obstore.delete(store, "quiet/a.parquet")
    with pytest.raises(ExplorerError) as caught:
        scan(table, table.snapshot()).to_arrow()
    settings = str(spark_engine.session().conf.getAll)
    told = capfd.readouterr()
    for text in (
        told.out,
        told.err,
        str(caught.value),
        repr(caught.value.__cause__),
        settings,
        repr(scan(table, table.snapshot())),
    ):
        assert SECRET not in text
        assert "key-id" not in text


class _Telling(BaseHTTPRequestHandler):
    """A store that refuses whatever it is asked, and repeats all it was sent."""

    def do_GET(self) -> None:
        said = f"<Error><Code>AccessDenied</Code>{self.path} {dict(self.headers)}</Error>".encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    do_HEAD = do_GET  # noqa: N815 - a name that the base class calls

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def telling_store() -> Iterator[dict[str, Any]]:
    """Options for a store that repeats what it was sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Telling)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {
        "endpoint": f"http://127.0.0.1:{server.server_port}",
        "access_key_id": "AKIA-key-id",
        "secret_access_key": SECRET,
        "session_token": f"{SECRET}-token",
        "region": "us-east-1",
        "allow_http": "true",
    }
    server.shutdown()
    server.server_close()


def test_a_store_that_repeats_what_it_was_sent_brings_no_credential_into_an_error(
    telling_store: dict[str, Any], tmp_path: Path
) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    source = write_table(
        tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", rows, logged="s3://rows/a.parquet")]
    )
    table = explorer.open_table(source, storage_options=telling_store)
    with pytest.raises(StorageError, match=r"s3://rows/a\.parquet of version 0 cannot be fetched") as of_rows:
        scan(table, table.snapshot()).to_arrow()
    with pytest.raises(StorageError) as of_log:
        explorer.open_table("s3://rows/t", storage_options=telling_store).snapshot()
    for error in (of_rows.value, of_log.value):
        told = f"{error} {error.facts()} {error.__cause__}"
        assert "403" in told
        assert SECRET not in told
        assert "AKIA-key-id" not in told


def test_an_option_that_the_store_does_not_know_is_refused_by_its_name() -> None:
    for options in (
        {"aws_secret_access_keys": SECRET},
        {"access_key_id": "x", "secret_access_key": SECRET, "timeout": "soon"},
    ):
        with pytest.raises(explorer.RequestError, match=r"aws_secret_access_keys|soon") as caught:
            explorer.open_table("s3://rows/t", storage_options=options)
        assert SECRET not in f"{caught.value} {caught.value.facts()} {caught.value.__cause__}"
