"""What reading the first rows takes, in words: few rows, many, one, and none that is not hidden."""

from __future__ import annotations

import pytest

from explorer.views.rows.row_work import rows_estimate
from tests.support.logs import small_logs


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([(1, 0)], "Its one row comes from 1 file, which takes"),
        ([(5, 1), (4, 0)], "All 8 rows come from 2 files, which takes"),
        ([(101, 0)], "The first 100 rows come from its one file, which takes"),
        ([(90, 0), (90, 0)], "The first 100 rows come from the first of 2 files, which takes"),
        ([(None, 0), (1, 0)], "The first 100 rows come from the first of 2 files, which takes"),
        ([(3, 3)], "Deletion vectors mask every row of 1 file."),
    ],
)
def test_the_estimate_says_how_many_rows_come_from_where(files: list[tuple[int | None, int]], said: str) -> None:
    adds = [
        small_logs.add(f"{place}.parquet", rows, vector=small_logs.vector(f"{place}", masked) if masked else None)
        for place, (rows, masked) in enumerate(files)
    ]
    table = small_logs.table({0: [small_logs.MASKED, small_logs.METADATA, *adds]})
    assert rows_estimate(table.snapshot()).startswith(said)
