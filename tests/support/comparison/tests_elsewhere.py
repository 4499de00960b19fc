"""Run tests of rows in a process whose Spark is elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.shared_tables import REPOSITORY

__all__ = ["FEW", "FEWEST", "run_tests"]

# A variant, an error of a row, rows that are written, and attacks in expressions.
FEWEST = (
    "tests/spark/scan/test_scan.py::test_variants_with_nulls_and_inside_arrays_come_out",
    "tests/spark/checks/test_constraint_check.py::test_one_that_fails_on_a_row_does_not_keep_the_others_from_their_answer",
    "tests/spark/writes/values/test_identity_values.py::test_a_merge_keeps_the_values_that_it_gives_and_makes_the_others",
    "tests/spark/engine/test_expressions.py::test_no_attack_runs_through_any_way_in",
    "tests/spark/engine/test_expressions.py::test_work_past_its_time_is_stopped_with_the_limit_and_spark_goes_on",
)
FEW = (
    *FEWEST,
    "tests/spark/writes/test_rows_past_the_driver.py::test_only_what_is_said_of_files_comes_here[true]",
    "tests/spark/log/test_files_frame.py::test_totals_and_the_files_that_a_condition_needs_are_those_of_one_process",
    "tests/spark/rows/test_preview.py::test_cancelling_one_job_leaves_another_alone",
    "tests/spark/scan/test_scan.py::test_masks_hold_over_split_files_row_groups_and_filters",
    "tests/spark/scan/test_scan.py::test_name_mode_renames_at_every_depth_and_fills_missing_columns",
    "tests/spark/scan/test_scan.py::test_a_file_whose_types_disagree_is_named_with_the_column",
    "tests/spark/rows/test_preview.py::test_cancel_before_spark_knows_the_job_is_not_lost",
)


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
    failed = [line[:200] for line in answer.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    assert answer.returncode == 0, "\n".join([*failed, answer.stdout[-4000:], answer.stderr[-2000:]])
    assert " passed" in answer.stdout
