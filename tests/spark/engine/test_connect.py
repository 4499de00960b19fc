"""The same tests of rows against a Spark Connect server on the loopback.

Here a few of them, so that a change which only classic Spark understands is noticed at once; `make prove` runs all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.connect_server import REPOSITORY, connect_server

pytestmark = pytest.mark.spark

FEW = [
    "tests/spark/test_scan.py::test_masks_hold_over_split_files_row_groups_and_filters",
    "tests/spark/test_scan.py::test_name_mode_renames_at_every_depth_and_fills_missing_columns",
    "tests/spark/test_scan.py::test_variants_with_nulls_and_inside_arrays_come_out",
    "tests/spark/test_scan.py::test_a_file_whose_types_disagree_is_named_with_the_column",
    "tests/spark/test_checks.py::test_one_that_fails_on_a_row_does_not_keep_the_others_from_their_answer",
    "tests/spark/test_jobs.py::test_cancel_before_spark_knows_the_job_is_not_lost",
    "tests/spark/test_jobs.py::test_cancelling_one_job_leaves_another_alone",
]


def run_tests(engine: str, *tests: str) -> None:
    """Run tests in a process whose engine is elsewhere."""
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-rfE", *tests],
        cwd=REPOSITORY,
        env={**os.environ, "DELTA_EXPLORER_SPARK": engine},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-2000:]
    assert " passed" in answer.stdout


def test_a_connect_server_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    with connect_server(tmp_path) as address:
        run_tests(address, *FEW)
