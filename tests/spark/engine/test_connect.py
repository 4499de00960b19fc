"""The same tests of rows against a Spark Connect server on the loopback.

Here a few of them, so that a change which only classic Spark understands is noticed at once; `make prove` runs all.
"""

from __future__ import annotations

from pathlib import Path
from pickle import PicklingError

import pytest

from tests.support.clients.connect_server import connect_server
from tests.support.comparison.tests_elsewhere import FEWEST, run_tests
from tests.support.logs import small_logs

pytestmark = pytest.mark.spark


@pytest.mark.whole("the same tests in a session of its own")
def test_a_connect_server_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    with connect_server(tmp_path) as address:
        run_tests(address, *FEWEST)
        _refuses_a_stream_by_name(address)


def _refuses_a_stream_by_name(address: str) -> None:
    """The server would call the writer of batches in a process of its own."""
    from pyspark.sql.connect.session import SparkSession

    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    writer = table.batch_writer("loader", {"kind": "append", "source": ""})
    session = SparkSession.builder.remote(address).create()
    try:
        stream = session.readStream.format("rate").load().selectExpr("value AS id").writeStream
        with pytest.raises(PicklingError, match="foreachBatch") as refused:
            stream.foreachBatch(writer)
        assert "stays in the process that opened the table" in str(refused.value.__context__)
    finally:
        session.client.close()
