"""How hard the proofs try: a small dose with every test run, all of it under ``make prove``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import browser_type_launch_args  # noqa: F401  # a fixture: the crawl drives the same browser
from tests.support.dose import WHOLE_DOSE
from tests.support.loopback import s3_options
from tests.support.shared_tables import REPOSITORY


@dataclass(frozen=True)
class Dose:
    """How many processes race, how many commits each tries, and how many writers are killed."""

    racers: int
    commits: int
    kills: int


@pytest.fixture(scope="session")
def dose() -> Dose:
    return Dose(16, 100, 500) if WHOLE_DOSE else Dose(3, 5, 8)


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Options for the bucket ``races`` of an S3 server in a process of its own."""
    folder = str(tmp_path_factory.mktemp("s3"))
    command = [sys.executable, "-m", "tests.prove.racers.s3_server", folder]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        options = s3_options(port)
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=options["aws_endpoint"],
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )
        client.create_bucket(Bucket="races")
        try:
            yield options
        finally:
            server.kill()
