"""Rows, changes and differences as people read them, whatever the table's columns are called."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa

from explorer.views.rows.differences import row_differences
from explorer.views.rows.listings import changes_listing, rows_listing

WHEN = datetime(2026, 3, 2, tzinfo=UTC)


def test_rows_stand_with_their_places_and_only_masked_ones_are_marked() -> None:
    rows = pa.table({"id": [1, 2], "file": ["x", "y"], "mark": ["<b>", None]})
    places = pa.table({"path": ["a.parquet", "a.parquet"], "row": [0, 7], "masked": [False, True]})
    listing = rows_listing("rows", rows, places)
    assert [(column.key, column.title) for column in listing.columns] == [
        ("_mark", ""), ("id", "id"), ("file", "file"), ("mark", "mark"), ("_file", "file"), ("row", "row"),
    ]  # fmt: skip
    first, second = listing.paged().rows
    assert (first["_mark"], second["_mark"], second[listing.columns[0].tone]) == ("", "~", "remasked")
    assert listing.to_csv().splitlines()[2] == "~,2,y,,a.parquet,7"
    unmasked = rows_listing("rows", rows, places.set_column(2, "masked", pa.array([False, False])))
    assert unmasked.columns[0].key == "id"
    assert listing.arranged(find="<b>").paged().matched == 1


def test_changes_carry_their_sign_their_version_and_their_time() -> None:
    kinds = ["insert", "delete", "update_preimage", "update_postimage"]
    rows = pa.table(
        {
            "sign": [1, 2, 3, 3],
            "_change_type": kinds,
            "_commit_version": [4, 4, 5, 5],
            "_commit_timestamp": pa.array([WHEN] * 4, pa.timestamp("us", "UTC")),
        }
    )
    listing = changes_listing("changes", rows)
    shown = listing.paged().rows
    assert [row["_sign"] for row in shown] == ["+", "\u2212", "\u0394", "\u0394"]
    assert [row["tone"] for row in shown] == ["added", "removed", "changed", "changed"]
    assert [row["change"] for row in shown] == ["insert", "delete", "update, before", "update, after"]
    assert [column.title for column in listing.columns] == ["", "change", "version", "sign", "committed"]


def test_differences_show_keys_first_then_what_changed_old_and_new() -> None:
    row = pa.struct([("same", pa.int64()), ("status", pa.string()), ("id", pa.int64())])
    table = pa.table(
        {
            "change": ["update", "delete", "insert"],
            "count": [1, 3, 1],
            "repeated_key": [False, True, False],
            "changed_columns": [["status"], None, None],
            "before": pa.array(
                [{"same": 1, "status": "open", "id": 7}, {"same": 1, "status": None, "id": 8}, None], row
            ),
            "after": pa.array([{"same": 1, "status": None, "id": 7}, None, {"same": 2, "status": "<i>", "id": 9}], row),
        }
    )
    counts = SimpleNamespace(inserted=1, deleted=3, updated=1, rows_of_repeated_keys=3)
    left_out = [SimpleNamespace(column="v", version=3, reason="no order")]
    facts = {"keys": ("id",), "note": "n", "left_out": left_out, "by_spark": True, "reason": ""}
    listing = row_differences(SimpleNamespace(table=table, counts=counts, **facts))
    assert (listing.columns, listing.changed, listing.more_columns) == (("id", "status", "same"), 1, 0)
    update, delete, insert = listing.rows
    assert [(cell.before, cell.text) for cell in update.cells] == [(None, "7"), ("open", "null"), (None, "1")]
    assert (delete.sign, delete.count, delete.repeated, delete.cells[1].is_null) == ("\u2212", 3, True, True)
    assert (insert.tone, insert.cells[1].text) == ("added", "<i>")
    assert listing.left_out == (("v", "no order"),)
