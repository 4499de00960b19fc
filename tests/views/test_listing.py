"""Lists: sorted, filtered, paged, exported whole."""

import csv
import io
import json

import pyarrow as pa

from explorer.views.listing import Listing, ListingColumn, partition_words

COLUMNS = (ListingColumn("path", "path", "path"), ListingColumn("size", "size", "size"))


def _listing(**settings: object) -> Listing:
    table = pa.table({"path": ["b", "a", "c", "A%2F=cmd"], "size": pa.array([3, None, 1, 2], pa.int64())})
    return Listing("files", COLUMNS, table, ("path",), **settings)  # type: ignore[arg-type]


def test_sort_puts_unknown_last_both_ways() -> None:
    for descending in (False, True):
        rows = _listing().arranged(sort="size", descending=descending).paged().rows
        assert rows[-1]["size"] is None


def test_unknown_sort_key_leaves_the_order_of_the_table() -> None:
    assert [row["path"] for row in _listing().arranged(sort="nothing").paged().rows] == ["b", "a", "c", "A%2F=cmd"]


def test_filter_ignores_case_and_takes_no_pattern() -> None:
    assert [row["path"] for row in _listing().arranged(find="A").paged().rows] == ["a", "A%2F=cmd"]
    assert _listing().arranged(find=".*").paged().matched == 0


def test_pages_cover_every_row_once() -> None:
    listing = _listing(page_size=3)
    first, second = listing.at(1).paged(), listing.at(2).paged()
    assert (first.first, first.last, second.first, second.last) == (1, 3, 4, 4)
    assert listing.at(99).paged() == second


def test_csv_holds_whole_values_and_empty_fields_for_null() -> None:
    rows = list(csv.reader(io.StringIO(_listing().to_csv())))
    assert rows[0] == ["path", "size"]
    assert rows[2] == ["a", ""]
    assert len(rows) == 5


def test_json_keeps_types() -> None:
    assert json.loads(_listing().arranged(sort="size").to_json())[0] == {"path": "c", "size": 1}


def test_partition_words_name_null() -> None:
    kind = pa.map_(pa.string(), pa.string())
    values = pa.chunked_array([pa.array([[("r", "eu"), ("d", None)], [("r", "us"), ("d", "1")]], kind)])
    assert partition_words(values, [("r", "r"), ("d", "d")]).to_pylist() == ["r=eu, d=null", "r=us, d=1"]


def test_partition_texts_are_those_of_each_file_whatever_the_order_of_the_keys() -> None:
    kind = pa.map_(pa.string(), pa.string())
    rows = [
        [("b", str(n % 3)), ("col-1", None if n % 4 == 0 else f"r{n % 5}")][:: -1 if n % 2 else 1] for n in range(60)
    ]
    rows[7] = [("col-1", "alone")]
    whole = pa.array([[("col-1", "before")], *rows], kind)
    values = pa.chunked_array([whole.slice(1, 20), whole.slice(21), whole.slice(0, 0)])
    meant = [{"b": None, "col-1": None} | dict(row) for row in rows]
    texts = [f"region={row['col-1'] or 'null'}, b={row['b'] or 'null'}" for row in meant]
    assert partition_words(values, [("region", "col-1"), ("b", "b")]).to_pylist() == texts
    assert partition_words(values, []).to_pylist() == [""] * 60
