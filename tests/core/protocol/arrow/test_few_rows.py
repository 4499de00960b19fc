"""Rows that hold a few actions in a large row group: found wherever they stand, whatever its footer counts."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.protocol.arrow.row_groups import RowGroups

_ROWS = 40_000
"""More than a row group that is read as soon as it is counted."""
_MEMBERS = pa.struct([("id", pa.string()), ("size", pa.int64()), ("tags", pa.map_(pa.string(), pa.string()))])
_ONE = {"id": "a", "size": 1, "tags": {}}
_TWO = {"id": "b", "size": 2, "tags": {"k": "v"}}
_PLACES = [{}, {0: _ONE}, {_ROWS - 1: _ONE}, {4_095: _ONE, 4_096: _TWO}, {0: _ONE, 20_000: _TWO}, {30_000: _TWO}]


def _column(rows: dict[int, dict[str, Any]], length: int) -> pa.Array:
    return pa.array([rows.get(place) for place in range(length)], _MEMBERS)


def _file(table: pa.Table, **options: Any) -> pa.BufferReader:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return pa.BufferReader(file.getvalue())


def _table(length: int = _ROWS, **columns: dict[int, dict[str, Any]]) -> pa.Table:
    return pa.table({"add": pa.nulls(length, pa.string())} | {k: _column(rows, length) for k, rows in columns.items()})


@pytest.mark.parametrize("statistics", [True, False, ["few.id"], ["few.size"]])
@pytest.mark.parametrize("rows", _PLACES)
def test_rows_are_found_wherever_they_stand(rows: dict[int, dict[str, Any]], statistics: bool | list[str]) -> None:
    file = _file(_table(few=rows, other={100: _ONE}), write_statistics=statistics)
    found = RowGroups(lambda: file).present(["few", "other", "none"])
    assert found == {"few": [row for _, row in sorted(rows.items())], "other": [_ONE]}


@pytest.mark.parametrize("group", [_ROWS, 36_000, 3_000])
def test_rows_of_several_row_groups_keep_their_order(group: int) -> None:
    rows = {3_000 * place + 7: {"id": str(place), "size": place, "tags": {}} for place in range(26)}
    file = _file(_table(2 * _ROWS, few=rows, other={79_999: _TWO}), row_group_size=group)
    assert RowGroups(lambda: file).present(["few", "other"]) == {"few": list(rows.values()), "other": [_TWO]}


@pytest.mark.parametrize("statistics", [True, ["few.id"]])
@pytest.mark.parametrize("member", ["id", "size"])
def test_a_row_without_a_member_hides_none_that_comes_later(member: str, statistics: bool | list[str]) -> None:
    """The footer counts one value of that member and two, or nothing, of the other: the counts do not go together."""
    rows = {5: {**_ONE, member: None}, 39_000: _TWO}
    file = _file(_table(few=rows), write_statistics=statistics)
    assert RowGroups(lambda: file).present(["few"]) == {"few": list(rows.values())}


def test_rows_that_stand_first_are_found_without_the_pages_behind_them() -> None:
    held = _file(_table(few={3: _ONE}), compression="none", max_rows_per_page=5_000).read()
    column = pq.read_metadata(pa.BufferReader(held)).row_group(0).column(1)
    assert column.path_in_schema == "few.id"
    broken = bytearray(held)
    end = column.dictionary_page_offset + column.total_compressed_size
    broken[end - 20 : end] = b"\xff" * 20
    groups = RowGroups(lambda: pa.BufferReader(bytes(broken)))
    with pytest.raises((OSError, pa.ArrowException)):
        groups.read(0, ["few.id"])
    assert groups.present(["few"]) == {"few": [_ONE]}


def test_a_row_group_that_counts_none_is_not_decoded() -> None:
    file = _file(
        _table(2 * _ROWS, few={_ROWS: _ONE}), row_group_size=_ROWS, compression="none", data_page_version="2.0"
    )
    held = file.read()
    column = pq.read_metadata(pa.BufferReader(held)).row_group(0).column(1)
    assert column.path_in_schema == "few.id"
    broken = bytearray(held)
    broken[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = bytes(
        column.total_compressed_size
    )
    groups = RowGroups(lambda: pa.BufferReader(bytes(broken)))
    with pytest.raises((OSError, pa.ArrowException)):
        groups.read(0, ["few"])
    assert groups.present(["few"]) == {"few": [_ONE]}


def test_rows_without_any_member_are_found_in_a_small_row_group() -> None:
    nothing = {"id": None, "size": None, "tags": None}
    assert RowGroups(lambda: _file(_table(100, few={50: nothing}))).present(["few"]) == {"few": [nothing]}
