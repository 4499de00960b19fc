"""First rows of files made to mislead or exhaust a reader: nothing that Spark would refuse, and no more than a page."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import UnsupportedFeature
from explorer.data_files.arrow_columns import in_96_bits
from explorer.first_rows import file_rows
from explorer.first_rows.file_rows import MOST_BYTES, PageMemory
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

LONG = column("id", "long")
NUMBERS = pa.table({"id": [1, 2, 3]})
OF_FILE = b"\x16\x06\x19"  # in a footer: three rows, then the row groups
OF_GROUP = b"\x16\x06\x26"  # in a row group: three rows, then its offset


def one_file(root: Path, fields: list[dict[str, Any]], rows: pa.Table, **options: Any) -> explorer.Table:
    return explorer.open_table(write_table(root, fields, [DataFile("a.parquet", rows, options=options)]))


def replaced(root: Path, old: bytes, new: bytes) -> None:
    """Replace bytes of the file's footer by as many."""
    data = (root / "a.parquet").read_bytes()
    assert data.count(old) == 1
    assert len(old) == len(new)
    (root / "a.parquet").write_bytes(data.replace(old, new))


def test_thousands_of_columns_take_a_second_or_two(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(2_000)]
    inner = [f"d{number}" for number in range(2_000)]
    fields = [*(column(name, "long") for name in names), column("s", struct(*(column(name, "long") for name in inner)))]
    rows = pa.table({**{name: [1] for name in names}, "s": [dict.fromkeys(inner, 2)]})
    table = one_file(tmp_path / "t", fields, rows)
    table.snapshot()
    began = time.process_time()
    assert table.head().num_rows == 1
    # A search of all columns for each took more than a minute.
    assert time.process_time() - began < 8


@pytest.mark.parametrize("stated", [0, 1, 31])
def test_a_footer_that_counts_other_rows_than_its_groups_changes_nothing(tmp_path: Path, stated: int) -> None:
    table = one_file(tmp_path / "t", [LONG], NUMBERS)
    replaced(tmp_path / "t", OF_FILE, bytes([0x16, 2 * stated, 0x19]))
    assert table.head().column("id").to_pylist() == [1, 2, 3]


def test_a_group_that_counts_more_rows_than_it_has_is_left_to_spark(tmp_path: Path) -> None:
    table = one_file(tmp_path / "t", [LONG], NUMBERS)
    replaced(tmp_path / "t", OF_GROUP, bytes([0x16, 2 * 31, 0x26]))
    with pytest.raises(UnsupportedFeature, match=r"a\.parquet"):
        table.head()


def test_a_negative_number_of_rows_is_left_to_spark(tmp_path: Path) -> None:
    table = one_file(tmp_path / "t", [LONG], NUMBERS)
    replaced(tmp_path / "t", OF_GROUP, b"\x16\x05\x26")
    with pytest.raises(UnsupportedFeature, match="impossible number of rows"):
        table.head()


@pytest.mark.parametrize(
    "options", [{"compression": "brotli"}, {"use_byte_stream_split": True, "use_dictionary": False}]
)
def test_what_spark_does_not_decode_is_not_shown(options: dict[str, Any], tmp_path: Path) -> None:
    table = one_file(tmp_path / "t", [column("c", "float")], pa.table({"c": pa.array([1.5], pa.float32())}), **options)
    with pytest.raises(UnsupportedFeature, match="the column c is"):
        table.head()


def _with_id(name: str, number: int, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


@pytest.mark.parametrize(("names", "numbers"), [(("x", "y"), (1, 1)), (("x", "x"), (2, 1)), (("x", "X"), (2, 1))])
def test_field_ids_that_are_not_unique_are_left_to_spark(
    names: tuple[str, str], numbers: tuple[int, int], tmp_path: Path
) -> None:
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "x"}
    properties = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "9"}
    fields = [_with_id(name, number, pa.int64()) for name, number in zip(names, numbers, strict=True)]
    flat = pa.table([pa.array([1]), pa.array([2])], schema=pa.schema(fields))
    root = write_table(
        tmp_path / "t", [column("id", "long", **mapped)], [DataFile("a.parquet", flat)], configuration=properties
    )
    with pytest.raises(UnsupportedFeature, match="several columns"):
        explorer.open_table(root).head()


@pytest.mark.parametrize(
    ("version", "kind", "int96"),
    [("3.0.1", "timestamp", True), ("10.0", "date", False), ("", "date", False), ("2.4.8", "timestamp", False)],
)
def test_times_in_the_old_calendar_are_left_to_spark(version: str, kind: str, int96: bool, tmp_path: Path) -> None:
    day = dt.datetime(1000, 1, 1)  # noqa: DTZ001 - the column's type has the zone
    values = pa.array([day], pa.timestamp("us")) if kind == "timestamp" else pa.array([day.date()])
    rows = pa.table({"c": values}).replace_schema_metadata({"org.apache.spark.version": version})
    table = one_file(tmp_path / "t", [column("c", kind)], rows, use_deprecated_int96_timestamps=int96)
    with pytest.raises(UnsupportedFeature, match="calendar"):
        table.head()


def test_columns_with_times_in_96_bits_are_found_whatever_their_names() -> None:
    assert in_96_bits(_Described(["a.b.c", "d"])) == {"a", "a.b", "a.b.c", "d"}


class _Described:
    """The schema of a footer with columns of 96 bits."""

    def __init__(self, paths: list[str]) -> None:
        self._leaves = [type("Leaf", (), {"path": path, "physical_type": "INT96"}) for path in paths]

    def __len__(self) -> int:
        return len(self._leaves)

    def column(self, place: int) -> object:
        return self._leaves[place]


def test_days_beside_times_in_the_old_calendar_are_read(tmp_path: Path) -> None:
    """Spark 3.0 wrote days in the new calendar, and times of 96 bits in the old one."""
    rows = pa.table({"day": [dt.date(1000, 1, 1)], "at": pa.array([dt.datetime(1000, 1, 1)], pa.timestamp("us"))})  # noqa: DTZ001
    rows = rows.replace_schema_metadata({"org.apache.spark.version": "3.0.3"})
    table = one_file(tmp_path / "t", [column("day", "date")], rows, use_deprecated_int96_timestamps=True)
    assert table.head().column("day").to_pylist() == [dt.date(1000, 1, 1)]


def test_a_name_with_a_nul_is_left_to_spark(tmp_path: Path) -> None:
    table = one_file(tmp_path / "t", [column("a\0b", "long")], pa.table({"a": [1]}))
    with pytest.raises(UnsupportedFeature, match="NUL"):
        table.head()


def test_many_files_share_the_memory_of_a_page(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 90, pa.int32()), pa.array(["x" * (1 << 18)]))
    files = [DataFile(f"{number}.parquet", pa.table({"text": text})) for number in range(8)]
    root = write_table(tmp_path / "t", [column("text", "string")], files)
    log = root / "_delta_log" / "00000000000000000000.json"
    # The log claims one row for each file, so that many are opened for a page.
    log.write_text(log.read_text().replace('\\"numRecords\\": 90', '\\"numRecords\\": 1'))
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(UnsupportedFeature, match="64 MB"):
        explorer.open_table(root).head(90)
    assert pa.default_memory_pool().max_memory() - before < 3 * MOST_BYTES


def test_files_wait_for_memory_and_one_that_fails_holds_none() -> None:
    memory = PageMemory()
    with pytest.raises(ValueError, match="damaged"), memory.decoding(MOST_BYTES):
        raise ValueError("damaged")
    with memory.decoding(2 * MOST_BYTES):
        pass


def test_deletion_vectors_that_mask_millions_are_left_to_spark(tmp_path: Path) -> None:
    root = write_table(tmp_path / "t", [LONG], [DataFile("a.parquet", NUMBERS, masked=(0,))])
    log = root / "_delta_log" / "00000000000000000000.json"
    log.write_text(log.read_text().replace('"cardinality":1', '"cardinality":9000000'))
    with pytest.raises(UnsupportedFeature, match="mask more than"):
        explorer.open_table(root).head()


@pytest.mark.parametrize(("start", "limit"), [(0, 3), (2, 100), (9, 1), (50, 2)])
def test_the_places_of_live_rows(start: int, limit: int) -> None:
    masked = np.array([0, 3, 4, 9, 11, 1 << 40], np.uint64)
    live = [place for place in range(start, 12) if place not in masked][:limit]
    assert file_rows._places(12, masked, start, limit, inside=False).tolist() == live


def test_pages_without_values_are_not_walked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rows, "_MOST_HEADERS", 50)
    rows = pa.table({"list": [[number] * 100 for number in range(2_000)]})
    kind = {"type": "array", "elementType": "long", "containsNull": True}
    options = {"data_page_size": 1, "write_batch_size": 1, "use_dictionary": False}
    table = one_file(tmp_path / "t", [column("list", kind)], rows, **options)
    assert pq.read_metadata(tmp_path / "t" / "a.parquet").num_row_groups == 1
    with pytest.raises(UnsupportedFeature, match="pages"):
        table.head()
