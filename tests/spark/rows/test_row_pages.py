"""Pages of rows: every live row once and in order, masked rows on request and marked, conditions, positions."""

from __future__ import annotations

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExpressionRefused, RequestError
from explorer.spark.rows.pages import RowPage, RowPosition, row_page
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=3)]

LONG = 60
MASKED = {"b.parquet": (0, 2), "d.parquet": (0, 1, 2, 3)}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Four files of seven, five, six and four rows; the last has no live row; one column has the name of a mark."""
    root = tmp_path_factory.mktemp("pages") / "paged"
    sizes = {"a.parquet": 7, "b.parquet": 5, "c.parquet": 6, "d.parquet": 4}
    files, start = [], 0
    for name, size in sizes.items():
        rows = pa.table({"id": pa.array(range(start, start + size), pa.int64()), "_row_index": ["x"] * size})
        files.append(DataFile(name, rows, masked=MASKED.get(name, ())))
        start += size
    write_table(root, [column("id", "long"), column("_row_index", "string")], files)
    return explorer.open_table(root)


LIVE = [*range(7), 8, 10, 11, *range(12, 18)]


def pages(table: explorer.Table, limit: int, where: str | None = None, *, masked: bool = False) -> list[RowPage]:
    """All pages, one after the other."""
    found: list[RowPage] = []
    begin: RowPosition | None = None
    while not found or begin is not None:
        found.append(row_page(table, table.snapshot(), begin, limit, where=where, masked=masked).result(LONG))
        begin = found[-1].following
    return found


def ids(found: list[RowPage]) -> list[int]:
    return [value for page in found for value in page.table.column("id").to_pylist()]


@pytest.mark.parametrize("limit", [7, 100])
def test_every_live_row_is_on_one_page_in_the_order_of_files_and_places(table: explorer.Table, limit: int) -> None:
    found = pages(table, limit)
    assert ids(found) == LIVE
    assert [page.table.num_rows for page in found[:-1]] == [limit] * (len(found) - 1)
    places = pa.concat_tables([page.places for page in found]).to_pylist()
    assert [(place["path"], place["row"]) for place in places[7:10]] == [
        ("b.parquet", 1), ("b.parquet", 3), ("b.parquet", 4),
    ]  # fmt: skip
    assert not any(place["masked"] for place in places)
    assert found[0].table.column_names == ["id", "_row_index"]


def test_masked_rows_are_given_on_request_and_marked(table: explorer.Table) -> None:
    found = pages(table, 6, masked=True)
    assert ids(found) == list(range(22))
    places = pa.concat_tables([page.places for page in found]).to_pylist()
    hidden = [(place["path"], place["row"]) for place in places if place["masked"]]
    assert hidden == [(path, row) for path, rows in MASKED.items() for row in rows]


def test_a_condition_goes_with_pages_and_reads_on_until_enough_rows_match(table: explorer.Table) -> None:
    found = pages(table, 3, "id % 5 = 1")
    assert ids(found) == [value for value in LIVE if value % 5 == 1]
    assert found[0].note == "The first 3 rows that match, from files 1 to 2 of 4."
    assert ids(pages(table, 100, "id > 1000")) == []
    assert ids(pages(table, 100, "id % 5 = 4 and id > 17", masked=True)) == [19]


def test_a_page_reads_only_the_files_that_hold_it(table: explorer.Table) -> None:
    first = row_page(table, table.snapshot(), limit=5).result(LONG)
    assert (first.files_read, first.following, first.note) == (
        1, RowPosition(0, 5), "The first 5 rows, from file 1 of 4.",
    )  # fmt: skip
    second = row_page(table, table.snapshot(), RowPosition(1, 2), limit=2).result(LONG)
    assert (second.files_read, ids([second])) == (2, [10, 11])
    assert second.following == RowPosition(2, 0)
    last = row_page(table, table.snapshot(), RowPosition(3, 0), limit=2).result(LONG)
    assert (last.following, last.note) == (None, "No other row.")


def test_a_condition_that_cannot_be_used_is_a_bad_request(table: explorer.Table) -> None:
    with pytest.raises(RequestError, match="idd"):
        row_page(table, table.snapshot(), where="idd > 1").result(LONG)


def test_a_condition_speaks_of_the_table_s_columns_alone(table: explorer.Table) -> None:
    assert ids(pages(table, 100, "_row_index = 'x'")) == LIVE
    with pytest.raises(ExpressionRefused) as refused:
        row_page(table, table.snapshot(), where="_file = 0").result(LONG)
    assert "_file`" not in str(refused.value).partition("Did you mean")[2]
