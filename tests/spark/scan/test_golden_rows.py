"""Rows of the golden tables against what independent readers found: the last version of each, in the whole dose all."""

from __future__ import annotations

from typing import Any, Final

import pytest

import explorer
from explorer.core.errors import CorruptDeletionVector, ExplorerError, UnsupportedFeature
from explorer.spark.scan.scan import scan
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.row_content import content_hash
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import golden_root

pytestmark = [
    pytest.mark.golden,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.sampled(tests=24),
]

ROOT = golden_root()
EXPECTED = expected(ROOT)

# Versions with expected rows that are refused here, and why that is right.
REFUSED: Final[dict[tuple[str, int], tuple[type[ExplorerError], str]]] = {
    ("delta__bench-basic_catalog_managed__delta", 0): (UnsupportedFeature, "catalogManaged: the log alone cannot tell"),
    ("delta__bench-basic_catalog_managed__delta", 1): (UnsupportedFeature, "catalogManaged: the log alone cannot tell"),
    ("deltars__err_logs__table_d", 0): (UnsupportedFeature, "catalogOwned, the preview of catalogManaged"),
    ("deltars__err_logs__table_h", 9999): (UnsupportedFeature, "catalogOwned, the preview of catalogManaged"),
    **{
        ("deltars__simple_table_features", version): (UnsupportedFeature, "minReaderVersion 5 does not exist")
        for version in range(5)
    },
    ("kernelrs__cdf-table-with-dv", 5): (CorruptDeletionVector, "the inline text is no Z85; others read it padded"),
    ("kernelrs__table-with-geo", 0): (UnsupportedFeature, "geospatial: the expectation lists files only"),
}
# Versions for which the expectations' readers had no answer (they read no shredded variants), and ours: rows.
BEYOND: Final = {
    ("delta__spark-variant-stats-state-reconstruction", 0): 1,
    ("delta__spark-variant-stats-with-struct-no-checkpoint", 1): 10,
}


def _found(table: explorer.Table, version: int, hashed: bool) -> tuple[int, str | None]:
    planned = scan(table, table.snapshot(version))
    if not hashed:
        return planned.frame.count(), None
    rows = planned.to_arrow()
    return rows.num_rows, content_hash(rows)


def _with_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [version for version in record["versions"] if version.get("rows_expected")]


@pytest.mark.parametrize("name", [name for name, record in EXPECTED.items() if _with_rows(record)])
def test_rows_equal_the_expectation_or_are_refused_for_a_known_reason(name: str) -> None:
    table = explorer.open_table(ROOT / "tables" / name)
    records = _with_rows(EXPECTED[name])
    for record in at_least_one(records if WHOLE_DOSE else records[-1:]):
        version, rows = record["version"], record["rows_expected"]
        if (name, version) in REFUSED:
            with pytest.raises(REFUSED[name, version][0]):
                table.rows(version)
            continue
        found = _found(table, version, hashed=rows["content_hash"] is not None)
        assert (rows["row_count"], rows["content_hash"]) == found, f"version {version}"


@pytest.mark.parametrize("name", [name for name, r in EXPECTED.items() if len(_with_rows(r)) < len(r["versions"])])
def test_versions_that_nobody_could_read_give_a_typed_error_and_never_rows(name: str) -> None:
    for record in at_least_one(EXPECTED[name]["versions"]):
        if record.get("rows_expected"):
            continue
        version = record["version"]
        if (name, version) in BEYOND:
            table = explorer.open_table(ROOT / "tables" / name)
            assert BEYOND[name, version] == scan(table, table.snapshot(version)).to_arrow().num_rows
            continue
        with pytest.raises(ExplorerError) as caught:
            explorer.open_table(ROOT / "tables" / name).rows(version).toArrow()
        assert len(caught.value.facts()) > 2, "an error without facts names nothing"
