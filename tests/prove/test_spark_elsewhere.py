"""Tests of rows elsewhere than in this process: on a Spark Connect server and on a cluster, both on the loopback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.spark.engine.test_connect import FEW, run_tests
from tests.support.connect_server import REPOSITORY, connect_server, standalone_cluster

pytestmark = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "prove",
    reason="takes minutes: only under make prove; tests/spark/test_connect.py runs a few on a Connect server",
)

# They start engines of their own, or need no engine.
NOT_OF_ROWS = {"test_connect.py", "test_engine.py", "test_java.py"}


def test_a_connect_server_passes_every_test_of_rows(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    tests = sorted((REPOSITORY / "tests" / "spark").glob("test_*.py"))
    with connect_server(tmp_path) as address:
        run_tests(address, *(str(test) for test in tests if test.name not in NOT_OF_ROWS))


def test_a_cluster_of_two_workers_passes_a_few(tmp_path: Path) -> None:
    values = "tests/spark/test_object_stores.py::test_every_shape_of_value_arrives_whole"
    with standalone_cluster(tmp_path) as address:
        run_tests(address, *FEW, values, "tests/spark/test_fleet.py")
