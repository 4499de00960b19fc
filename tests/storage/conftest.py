"""What the tests of stores share: an S3 server on the loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.loopback import s3_options


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    """Options for a bucket ``warehouse`` on a server of its own."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    options = s3_options(server.get_host_and_port()[1])
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=options["aws_endpoint"],
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="warehouse")
    yield options
    server.stop()
