"""Change feeds of the golden tables: the changes of a version lead from the rows before it to those after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import explorer
from explorer.core.errors import CorruptDeletionVector
from explorer.core.versions.change_feed.feed import change_feed_coverage
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.change_rows import change_rows, table_rows
from tests.support.shared_tables import golden_root

pytestmark = pytest.mark.golden

ROOT = golden_root()
EXPECTED = expected(ROOT)

FEEDS = {
    "dat__cdf": [(0, 2)],
    "deltars__cdf-table-non-partitioned": [(0, 4)],
    "deltars__simple_table_with_cdc": [(0, 2)],
    "kernelrs__cdf-column-mapping-id-mode": [(1, 4)],
    "kernelrs__cdf-column-mapping-name-mode": [(1, 4)],
    "kernelrs__cdf-table-backtick-column-names": [(0, 1)],
    "kernelrs__cdf-table-delete-conditional-all-rows": [(0, 1)],
    "kernelrs__cdf-table-delete-conditional-two-rows": [(0, 1)],
    "kernelrs__cdf-table-delete-unconditional": [(0, 1)],
    "kernelrs__cdf-table-partitioned": [(0, 2)],
    "kernelrs__cdf-table-simple": [(0, 2)],
    "kernelrs__cdf-table-with-dv": [(0, 6)],
    "kernelrs__compacted-log-files-table": [(0, 25)],
    "kernelrs__table-with-cdf": [(0, 1), (3, 4)],
    "delta__deltalog-getChanges": [],
}
"""Versions in which the property is true in the log, which was read by eye."""

UNREADABLE = {("kernelrs__cdf-table-with-dv", 5), ("kernelrs__cdf-table-with-dv", 6)}
"""Versions that touch a deletion vector whose text is no Z85 (DV-025)."""

MADE_BY_HAND = {("kernelrs__cdf-table-simple", 2)}
"""Versions whose change files tell of rows that the files of the table do not have."""

WITHOUT_FILES = {"kernelrs__table-with-cdf"}
"""Tables that are a log alone."""


def _open(name: str) -> explorer.Table:
    return explorer.open_table(str(ROOT / "tables" / name))


def _steps() -> Iterator[tuple[str, int]]:
    for name, spans in FEEDS.items():
        for first, last in spans:
            if name not in WITHOUT_FILES:
                yield from ((name, version) for version in range(max(first, 1), last + 1))


@pytest.mark.conformance("CDF-011")
@pytest.mark.parametrize("name", FEEDS)
def test_the_versions_with_a_feed_are_those_whose_property_is_true(name: str) -> None:
    spans = change_feed_coverage(_open(name).history_record())
    assert [(span.from_version, span.to_version) for span in spans] == FEEDS[name]


@pytest.mark.conformance("CDF-005", "CDF-006", "CDF-008", "CDF-009", "CDF-020")
@pytest.mark.parametrize(("name", "version"), list(_steps()))
def test_rows_before_and_changes_make_the_rows_after(name: str, version: int) -> None:
    table, root = _open(name), ROOT / "tables" / name
    sources = table.change_sources(version, version, schema_version=version)
    if (name, version) in UNREADABLE:
        with pytest.raises(CorruptDeletionVector, match="not Z85"):
            list(change_rows(table, root, sources))
        return
    rows = Counter(map(repr, table_rows(table, root, version - 1, version)))
    for *values, kind, at in change_rows(table, root, sources):
        assert at == version
        rows[repr(tuple(values))] += 1 if kind in ("insert", "update_postimage") else -1
    after = Counter(map(repr, table_rows(table, root, version, version)))
    if (name, version) in MADE_BY_HAND:
        assert sum((rows - after).values()) == 5
        return
    assert {row: count for row, count in rows.items() if count} == after
    counts = {v["version"]: v["rows_expected"] for v in EXPECTED[name]["versions"]}
    assert sum(after.values()) == counts[version]["row_count"]
