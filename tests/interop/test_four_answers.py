"""`verify`, `audit`, the rows and the reference never disagree silently, on any table of others.

Every run asks the first three of all tables made after public reports and of the golden tables that are damaged or
read otherwise by others; the whole dose asks all four of every table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.at_least_one import at_least_one
from tests.support.clients.four_answers import answers_of, reference_rows, silent_disagreement
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.shared_tables import field_root, golden_root, reference_root

pytestmark = [
    pytest.mark.golden,
    pytest.mark.reference,
    pytest.mark.field,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark_engine"),
]

RISKY: Final = (
    # Readers differ, a client refuses, a file or a feature is out of reach, or the log is damaged.
    "kernelrs__compacted-log-files-table", "kernelrs__timestamp-partitioned-table", "kernelrs__type-widening",
    "kernelrs__table-with-geo", "delta__bench-basic_catalog_managed__delta", "deltars__err_logs__table_c",
    "deltars__err_logs__table_e", "delta__spark-table-with-dv-special-char", "delta__spark-table-with-dv-small",
    "delta__deltalog-invalid-protocol-version", "delta__canonicalized-paths-normal-a", "deltars__simple_table_features",
)  # fmt: skip


def _of_reports() -> list[Path]:
    return sorted(path for path in field_root().iterdir() if (path / "_delta_log").is_dir())


def _every_table() -> list[Path]:
    roots = (reference_root() / "tables", golden_root() / "tables")
    return [*_of_reports(), *(path for root in roots for path in sorted(root.iterdir()))]


def test_rows_that_fail_are_found_by_verify_or_the_audit() -> None:
    tables = [*_of_reports(), *(golden_root() / "tables" / name for name in RISKY)]
    silent = {folder.name: silent_disagreement(answers_of(folder)) for folder in at_least_one(tables)}
    assert {name: text for name, text in silent.items() if text} == {}


@pytest.mark.whole("test_rows_that_fail_are_found_by_verify_or_the_audit, which asks three of the four")
@pytest.mark.interop
@pytest.mark.parametrize("folder", _every_table(), ids=lambda folder: folder.name)
def test_the_four_never_disagree_silently(reference_writer: ReferenceWriter, folder: Path) -> None:
    assert silent_disagreement(answers_of(folder), reference_rows(reference_writer, folder)) == ""
