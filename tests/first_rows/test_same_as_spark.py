"""First rows read here are the rows that Spark reads: the same values, types, places, and following position."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.first_rows.row_page import RowPage, RowPosition
from explorer.spark.rows.pages import row_page
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

LONG = 120
LIMIT = 60
EDGES = (
    "char-varchar", "column-mapping", "deletion-vectors", "not-null-nested", "partition-types", "timestamp-ntz",
    "type-widening", "schema-changes", "variant",
)  # fmt: skip


@cache
def _folders() -> list[Path]:
    roots = [reference_root() / "tables", golden_root() / "tables"]
    return [log.parent for root in roots for log in sorted(root.rglob("_delta_log"))]


def _cases() -> list[Path]:
    folders = _folders()
    return folders if WHOLE_DOSE else [folder for folder in folders if folder.name in EDGES]


def _page(begin: RowPosition | None, table: explorer.Table, version: int, *, masked: bool, by_spark: bool) -> Any:
    """A page, or the type of the error and its message."""
    try:
        snapshot = table.snapshot(version)
        if by_spark:
            return row_page(table, snapshot, begin, LIMIT, masked=masked).result(LONG)
        return first_rows(table, snapshot, begin, LIMIT, masked=masked)
    except ExplorerError as error:
        return type(error).__name__


def _facts(page: RowPage) -> tuple[Any, ...]:
    # NaN is not equal to itself, and 0.0 is to -0.0: as texts they are told apart.
    rows = [repr(tuple(row.values())) for row in page.table.to_pylist()]
    places = page.places.to_pydict()
    return page.table.column_names, page.table.schema.types, rows, places, page.following, page.note


@pytest.mark.parametrize("folder", _cases(), ids=lambda folder: folder.name)
def test_pages_are_those_of_spark(folder: Path) -> None:
    outcomes: Counter[str] = Counter()
    try:
        table = explorer.open_table(folder)
        newest = table.latest_version()
    except ExplorerError:
        pytest.skip("no reader opens this table")
    for version in sorted({newest, max(0, newest - 1), newest // 2, 0} if WHOLE_DOSE else {newest}):
        for masked in (False, True) if WHOLE_DOSE or "vectors" in folder.name else (False,):
            begin: RowPosition | None = None
            for _ in range(3):
                here = _page(begin, table, version, masked=masked, by_spark=False)
                if isinstance(here, SparkOnly):
                    assert here.reason
                    outcomes["by Spark"] += 1
                    break
                there = _page(begin, table, version, masked=masked, by_spark=True)
                if isinstance(here, str) or isinstance(there, str):
                    assert isinstance(here, str), f"only Spark refuses version {version}: {there}"
                    assert isinstance(there, str), f"only Spark reads version {version}: {here}"
                    outcomes["refused"] += 1
                    break
                assert _facts(here) == _facts(there), f"version {version}, masked {masked}, {begin}"
                outcomes["same"] += 1
                begin = here.following
                if begin is None:
                    break
    assert outcomes.total() > 0
