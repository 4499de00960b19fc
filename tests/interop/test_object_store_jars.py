"""Tables of an object store where Spark has a file system for it: whose credentials count, and what is read how."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.golden_expectations import expected
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import REPOSITORY, reference_root

pytestmark = [
    *(pytest.mark.interop, pytest.mark.reference, pytest.mark.spark),
    pytest.mark.skipif(
        not WHOLE_DOSE, reason="part of the whole dose: make prove; test_object_stores.py is the small one"
    ),
]

# At versions with masked rows, partitions, and renamed columns.
TABLES = [("deletion-vectors", 7), ("partition-types", 2), ("column-mapping", 9)]
SECRET = "tell-nobody-4711"


@contextlib.contextmanager
def store() -> Iterator[tuple[str, Any]]:
    """An S3 server in a process of its own: its address, and a client."""
    import boto3

    command = [sys.executable, "-m", "tests.prove.racers.s3_server"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id="AKIA-key-id",
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        client.create_bucket(Bucket="rows")
        try:
            yield endpoint, client
        finally:
            server.kill()


def put(client: Any, source: Path, name: str) -> None:
    for file in source.rglob("*"):
        if file.is_file():
            client.put_object(Bucket="rows", Key=f"{name}/{file.relative_to(source)}", Body=file.read_bytes())


def test_storage_options_go_before_what_spark_knows_and_without_them_its_own_reader_reads() -> None:
    """Two stores have tables of the same names: the one that Spark is set to, and the one of the storage options."""
    tables = reference_root() / "tables"
    with store() as (known, its_client), store() as (told, other_client):
        # What the one calls t0 the other calls t1.
        for place, (name, _) in enumerate(TABLES):
            put(its_client, tables / name, f"t{place}")
            put(other_client, tables / name, f"t{(place + 1) % len(TABLES)}")
        s3a = {
            "endpoint": known,
            "endpoint.region": "us-east-1",
            "access.key": "known-key-id",
            "secret.key": "known-secret",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
        }
        options = {"access_key_id": "AKIA-key-id", "secret_access_key": SECRET, "session_token": f"{SECRET}-token"}
        options |= {"endpoint": told, "region": "us-east-1", "allow_http": "true"}
        asked = {
            "settings": {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()},
            "known": [(f"s3://rows/t{place}", version) for place, (_, version) in enumerate(TABLES)],
            "told": [(f"s3://rows/t{(place + 1) % len(TABLES)}", version) for place, (_, version) in enumerate(TABLES)],
            "options": options,
        }
        environ = {"AWS_ENDPOINT": known, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
        environ |= {"AWS_ACCESS_KEY_ID": "known-key-id", "AWS_SECRET_ACCESS_KEY": "known-secret"}
        command = [sys.executable, "-m", "tests.interop.s3a_reader"]
        answer = subprocess.run(
            command,
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
            cwd=REPOSITORY,
            env={**os.environ, **environ},
        )
    assert answer.returncode == 0, answer.stderr[-3000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    if "unavailable" in found:
        problem = f"the jars of S3A are not to be had: {found['unavailable']}"
        if os.environ.get("CI") == "true":
            pytest.fail(problem, pytrace=False)
        pytest.skip(problem)
    versions = [(expected(reference_root())[name]["versions"], version) for name, version in TABLES]
    hashes = [next(v["content_hash"] for v in known if v["version"] == version) for known, version in versions]
    assert hashes == [read["content_hash"] for read in found["known"]]
    assert hashes == [read["content_hash"] for read in found["told"]]
    assert [True] * len(TABLES) == [read["own_reader"] for read in found["known"]]
    assert [False] * len(TABLES) == [read["own_reader"] for read in found["told"]]
    assert SECRET not in answer.stdout + answer.stderr
    assert "AKIA-key-id" not in answer.stdout + answer.stderr
