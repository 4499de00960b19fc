"""A broken log may state sizes and rows that no file has: their sums are exact or unknown, never wrapped around."""

from __future__ import annotations

import datetime

import pytest

import explorer
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, remove, table, vector

MOST = (1 << 63) - 1
COMMITS = {
    0: (PROTOCOL, METADATA, add("a", 10, size=100)),
    1: (add("b", MOST, size=MOST), add("c", MOST, size=MOST)),
    2: (remove("b"),),
    3: (remove("c"), add("d", 5, size=50)),
}
SUMS = ("bytes_added", "bytes_removed", "rows_added", "num_bytes", "num_rows")


def _broken() -> explorer.Table:
    return table(COMMITS)


def test_the_totals_of_a_snapshot_are_exact() -> None:
    snapshot = _broken().snapshot(1)
    assert (snapshot.size_in_bytes, snapshot.num_records) == (2 * MOST + 100, 2 * MOST + 10)
    assert _broken().snapshot(2).size_in_bytes == MOST + 100


def test_the_totals_of_a_difference_are_exact() -> None:
    found = _broken()
    assert (found.diff(0, 1).totals.bytes_added, found.diff(0, 1).totals.rows_added) == (2 * MOST, 2 * MOST)
    assert (found.diff(1, 3).totals.bytes_removed, found.diff(1, 3).totals.bytes_added) == (2 * MOST, 50)


def test_in_the_history_a_sum_of_such_a_file_is_unknown_and_every_other_one_is_known() -> None:
    rows = _broken().history().select(("version", *SUMS)).to_pylist()
    assert {row["version"]: tuple(row[name] for name in SUMS) for row in rows} == {
        0: (100, 0, 10, 100, 10),
        1: (None, 0, None, None, None),
        2: (0, None, 0, None, None),
        3: (50, None, 5, 150, 15),
    }


def test_a_sum_that_fits_is_known_however_large_one_file_is() -> None:
    large = 1 << 62
    found = table({0: (PROTOCOL, METADATA, add("a", 1, size=large)), 1: (add("b", 2, size=20), add("c", 3, size=30))})
    assert found.history().select(["num_bytes", "num_rows"]).to_pylist() == [
        {"num_bytes": large + 50, "num_rows": 6},
        {"num_bytes": large, "num_rows": 1},
    ]


MASKS = (
    (MOST, MOST, {0: (0, 0), 1: (None, None), 2: (None, None), 3: (0, None), 4: (0, 7), 5: (-2, 5)}),
    (1 << 61, 1 << 61, {0: (0, 0), 1: (1 << 62, 1 << 62), 2: (7 - (1 << 61), (1 << 61) + 7),
                        3: (0, (1 << 61) + 7), 4: (0, 7), 5: (-2, 5)}),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second", "expected"), MASKS, ids=["too-large", "fitting"])
def test_masked_rows_of_the_history_are_exact_or_unknown(
    first: int, second: int, expected: dict[int, tuple[int | None, int | None]]
) -> None:
    """A vector for each of two files, a smaller one for the first, a file beside them, the second goes, five stay."""
    large, other, small, least = (vector(name, n) for name, n in (("u", first), ("v", second), ("w", 7), ("x", 5)))
    found = table({
        0: (MASKED, METADATA, add("a", MOST), add("b", MOST)),
        1: (remove("a"), add("a", MOST, vector=large), remove("b"), add("b", MOST, vector=other)),
        2: (remove("a", vector=large), add("a", MOST, vector=small)),
        3: (add("c", 3),),
        4: (remove("b", vector=other),),
        5: (remove("a", vector=small), add("a", MOST, vector=least)),
    })  # fmt: skip
    rows = found.history().select(("version", "rows_masked", "num_deleted_rows")).to_pylist()
    assert {row["version"]: (row["rows_masked"], row["num_deleted_rows"]) for row in rows} == expected


def test_what_a_vacuum_would_free_is_exact() -> None:
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    assert _broken().horizon(later).what_if(0).bytes == 2 * MOST
