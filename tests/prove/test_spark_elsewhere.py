"""Tests of rows elsewhere than in this process: on a Spark Connect server and on a cluster, both on the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.connect_server import connect_server, standalone_cluster
from tests.support.comparison.tests_elsewhere import FEW, run_tests
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import REPOSITORY

pytestmark = pytest.mark.skipif(
    not WHOLE_DOSE,
    reason="takes minutes: only under make prove; tests/spark/engine/test_connect.py runs a few on a Connect server",
)

# They start engines of their own, or need no engine.
NOT_OF_ROWS = {"test_connect.py", "test_engine.py", "test_java.py", "test_start.py"}
SPARK = REPOSITORY / "tests" / "spark"
OF_ROWS = sorted({path.relative_to(SPARK).parts[0] for path in SPARK.rglob("test_*.py")})


@pytest.mark.parametrize("tests", OF_ROWS)
def test_a_connect_server_passes_every_test_of_rows(tests: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    here = SPARK / tests
    files = sorted(here.rglob("test_*.py")) if here.is_dir() else [here]
    with connect_server(tmp_path) as address:
        run_tests(address, *(str(file) for file in files if file.name not in NOT_OF_ROWS))


def test_a_cluster_of_two_workers_passes_a_few(tmp_path: Path) -> None:
    values = "tests/spark/scan/test_object_stores.py::test_every_shape_of_value_arrives_whole"
    with standalone_cluster(tmp_path) as address:
        run_tests(address, *FEW, values, "tests/spark/log/test_file_commands.py", "tests/spark/test_survey.py")
