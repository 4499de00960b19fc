"""The sums of a diff, exactly: files, bytes and rows that came, went or were masked, in both directions."""

from __future__ import annotations

from explorer.core.versions.diff import DiffTotals
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, table, vector

COMMITS = {
    0: (PROTOCOL, METADATA, add("a", 10, size=100), add("b", 20, size=200), add("c", 30, size=300)),
    1: (
        remove("a"),
        add("d", 7, size=70),
        add("e", 4, size=40, vector=vector("e", 1)),
        remove("b"),
        add("b", 20, size=200, vector=vector("b", 5)),
    ),
    2: (remove("b", vector=vector("b", 5)), add("b", 20, size=200, vector=vector("b2", 6)), remove("c")),
}


def test_what_came_went_and_was_masked_is_counted_in_rows_that_a_reader_sees() -> None:
    found = table(COMMITS)
    assert found.diff(0, 1).totals == DiffTotals(
        files_added=2, files_removed=1, files_remasked=1,
        bytes_added=110, bytes_removed=100, rows_added=10, rows_removed=10, rows_masked=5,
    )  # fmt: skip
    assert found.diff(1, 2).totals == DiffTotals(
        files_added=0, files_removed=1, files_remasked=1,
        bytes_added=0, bytes_removed=300, rows_added=0, rows_removed=30, rows_masked=1,
    )  # fmt: skip
    assert found.diff(0, 2).totals == DiffTotals(
        files_added=2, files_removed=2, files_remasked=1,
        bytes_added=110, bytes_removed=400, rows_added=10, rows_removed=40, rows_masked=6,
    )  # fmt: skip


def test_the_other_way_what_came_goes_and_masked_rows_are_shown_again() -> None:
    assert table(COMMITS).diff(2, 0).totals == DiffTotals(
        files_added=2, files_removed=2, files_remasked=1,
        bytes_added=400, bytes_removed=110, rows_added=40, rows_removed=10, rows_masked=-6,
    )  # fmt: skip


def test_a_file_without_a_count_leaves_only_rows_unknown() -> None:
    totals = table({0: (PROTOCOL, METADATA), 1: (add("a", None, size=5), add("b", 2, size=6))}).diff(0, 1).totals
    assert (totals.files_added, totals.bytes_added, totals.rows_added, totals.rows_removed) == (2, 11, None, 0)


def test_of_a_file_that_is_added_again_the_last_add_counts() -> None:
    again = {0: (PROTOCOL, METADATA, add("a", 3, size=30)), 1: (add("a", 3, size=31),), 2: (add("a", 4, size=32),)}
    found = table(again)
    for version, size, rows in ((0, 30, 3), (1, 31, 3), (2, 32, 4)):
        files = found.snapshot(version).files()
        assert files.select(["size", "num_records"]).to_pylist() == [{"size": size, "num_records": rows}]
