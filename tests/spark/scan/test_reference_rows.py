"""Rows of the reference writer's tables against what it reads: two versions of each, all in the whole dose."""

from __future__ import annotations

from typing import Any, Final

import pytest

import explorer
from explorer.core.errors import ExplorerError, StorageError, UnsupportedFeature, VersionNotFound
from explorer.spark.scan.scan import scan
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.row_content import content_hash
from tests.support.dose import some_of
from tests.support.shared_tables import reference_root

pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.sampled(tests=8),
]

ROOT = reference_root()
EXPECTED = expected(ROOT)

# Versions that the reference reads and that are refused here, and why.
REFUSED: Final = {}
# Versions that the reference refuses for the age of their log files alone, which a copy of the table does not keep.
OPEN_WHEN_YOUNG: Final = {("log-cleanup", 6): 6, ("log-cleanup", 7): 7}


def _found(table: explorer.Table, version: int) -> tuple[int, str]:
    snapshot = table.snapshot(version)
    # The reference's hash takes a variant as its JSON text.
    rows = scan(table, snapshot).to_arrow(readable=True)
    return rows.num_rows, content_hash(rows)


def _opened(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [version for version in record["versions"] if "content_hash" in version]


@pytest.mark.parametrize("name", EXPECTED)
def test_rows_equal_what_the_reference_reads(name: str) -> None:
    table = explorer.open_table(ROOT / "tables" / name)
    for record in at_least_one(some_of(_opened(EXPECTED[name]), 2)):
        version = record["version"]
        if (name, version) in REFUSED:
            with pytest.raises(UnsupportedFeature) as caught:
                table.rows(version)
            assert caught.value.features == ["geospatial"]
        else:
            assert (record["row_count"], record["content_hash"]) == _found(table, version), f"version {version}"


@pytest.mark.parametrize("name", [name for name, r in EXPECTED.items() if len(_opened(r)) < len(r["versions"])])
def test_versions_that_the_reference_cannot_open_are_refused_by_version_or_by_file(name: str) -> None:
    table = explorer.open_table(ROOT / "tables" / name)
    for record in at_least_one(EXPECTED[name]["versions"]):
        version = record["version"]
        if "content_hash" in record:
            continue
        if (name, version) in OPEN_WHEN_YOUNG:
            assert OPEN_WHEN_YOUNG[name, version] == _found(table, version)[0]
            continue
        with pytest.raises(ExplorerError) as caught:
            table.rows(version)
        assert isinstance(caught.value, VersionNotFound if "VersionNotFound" in str(record["error"]) else StorageError)
        assert caught.value.version == version
