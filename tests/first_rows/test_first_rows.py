"""First rows without Spark: what is read, what is refused with its file, what is left to Spark, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.changed_rows.followed_range import followed_range
from explorer.changed_rows.small_story import small_story
from explorer.core.errors import CorruptTable, RequestError, StorageError, UnsupportedFeature
from explorer.first_rows.first_rows import MOST_FILES, SparkOnly, first_rows
from explorer.first_rows.row_page import RowPosition
from tests.support.logs.spark_tables import DataFile, column, write_table

MASKED = {"b.parquet": (0, 2), "d.parquet": (0, 1, 2, 3)}
LIVE = [*range(7), 8, 10, 11, *range(12, 18)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four files of seven, five, six and four rows, in row groups of two; the last has no live row."""
    sizes = {"a.parquet": 7, "b.parquet": 5, "c.parquet": 6, "d.parquet": 4}
    files, start = [], 0
    for name, size in sizes.items():
        rows = pa.table({"id": pa.array(range(start, start + size), pa.int64()), "file": ["x"] * size})
        files.append(DataFile(name, rows, masked=MASKED.get(name, ()), options={"row_group_size": 2}))
        start += size
    return write_table(tmp_path / "paged", [column("id", "long"), column("file", "string")], files)


def ids(root: Path, limit: int, *, masked: bool = False) -> list[int]:
    table = explorer.open_table(root)
    found, begin = [], None
    while True:
        page = first_rows(table, table.snapshot(), begin, limit, masked=masked)
        assert not isinstance(page, SparkOnly)
        found += page.table.column("id").to_pylist()
        begin = page.following
        if begin is None:
            return found
        assert page.table.num_rows == limit


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 16, 100])
def test_every_live_row_is_on_one_page(root: Path, limit: int) -> None:
    assert ids(root, limit) == LIVE
    assert ids(root, limit, masked=True) == list(range(22))


def test_a_page_begins_anywhere_and_opens_no_file_before(root: Path) -> None:
    (root / "a.parquet").unlink()
    table = explorer.open_table(root)
    page = first_rows(table, table.snapshot(), RowPosition(1, 2), 4)
    assert not isinstance(page, SparkOnly)
    assert page.table.column("id").to_pylist() == [10, 11, 12, 13]
    assert page.following == RowPosition(2, 2)
    assert page.note == "The next 4 rows, from files 2 to 3 of 4."


def test_head_is_the_first_rows_of_a_version(root: Path) -> None:
    table = explorer.open_table(root)
    assert table.head(3).to_pydict() == {"id": [0, 1, 2], "file": ["x"] * 3}
    assert table.head(0).column_names == ["id", "file"]
    assert table.head(0).num_rows == 0
    assert table.head(1_000, version=0).num_rows == len(LIVE)
    with pytest.raises(RequestError, match="0 or more"):
        table.head(-1)


def test_rows_that_deltalake_updated_or_merged_are_read(tmp_path: Path) -> None:
    """It notes in those files that Arrow's texts and bytes were views, of which Arrow cannot take rows."""
    rows = pa.table({
        "id": [1, 2, 3, 4],
        "name": ["a", None, "c", "more than twelve bytes"],
        "raw": [b"\xff", None, b"", b"more than twelve bytes"],
        "list": [["a", None], None, [], ["more than twelve bytes"]],
        "struct": [{"text": "a"}, None, {"text": None}, {"text": "more than twelve bytes"}],
    })  # fmt: skip
    deltalake.write_deltalake(tmp_path / "t", rows)
    written = deltalake.DeltaTable(tmp_path / "t")
    written.update(predicate="id > 1", updates={"id": "id + 10"})
    one = pa.table({"id": [13], "name": ["merged"]})
    merge = written.merge(one, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"name": "s.name"}).execute()
    files = (tmp_path / "t").glob("*.parquet")
    assert any(pq.read_schema(path).field("name").type == pa.string_view() for path in files)
    table = explorer.open_table(tmp_path / "t")
    assert table.head().sort_by("id").to_pylist() == written.to_pyarrow_table().sort_by("id").to_pylist()
    assert table.head(where="name = 'merged'").column("id").to_pylist() == [13]
    story = small_story(table, followed_range(table, {"id": 13}))
    assert not isinstance(story, SparkOnly), story.reason
    assert [(step.version, step.changed) for step in story.steps] == [(1, ()), (2, ("name",))]


def test_a_missing_file_is_named(root: Path) -> None:
    (root / "b.parquet").unlink()
    table = explorer.open_table(root)
    assert table.head(3).num_rows == 3
    with pytest.raises(StorageError, match=r"b\.parquet of version 0 does not exist"):
        table.head(10)


def test_a_file_of_another_size_is_named(root: Path) -> None:
    with (root / "a.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(CorruptTable, match=r"a\.parquet of version 0 has \d+ bytes, but the log records \d+"):
        explorer.open_table(root).head(3)


def test_a_cut_off_file_is_left_to_spark_which_judges_it(root: Path) -> None:
    data = (root / "a.parquet").read_bytes()
    (root / "a.parquet").write_bytes(b"\0" * len(data))
    with pytest.raises(UnsupportedFeature, match=r"the file a\.parquet has no readable footer"):
        explorer.open_table(root).head(3)


def test_a_damaged_page_is_left_to_spark(root: Path) -> None:
    data = bytearray((root / "a.parquet").read_bytes())
    data[4:60] = b"\xff" * 56
    (root / "a.parquet").write_bytes(bytes(data))
    with pytest.raises(UnsupportedFeature, match=r"a\.parquet"):
        explorer.open_table(root).head(3)


def test_a_statement_of_too_few_rows_changes_no_page(tmp_path: Path) -> None:
    files = [DataFile(f"{place}.parquet", pa.table({"id": [place]})) for place in range(3)]
    root = write_table(tmp_path / "t", [column("id", "long")], files)
    log = root / "_delta_log" / "00000000000000000000.json"
    log.write_text(log.read_text().replace('\\"numRecords\\": 1', '\\"numRecords\\": 0'))
    assert ids(root, 2) == [0, 1, 2]


def test_names_that_differ_by_case_are_left_to_spark(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "ID": [2]})
    root = write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", rows)])
    with pytest.raises(UnsupportedFeature, match="several columns id"):
        explorer.open_table(root).head()


def test_a_column_of_another_case_is_found_as_spark_finds_it(tmp_path: Path) -> None:
    root = write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", pa.table({"ID": [2]}))])
    assert explorer.open_table(root).head().to_pydict() == {"id": [2]}


def test_a_file_without_field_ids_is_not_read_as_nulls(tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c-1"}
    properties = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1"}
    file = DataFile("a.parquet", pa.table({"c-1": [7]}))
    root = write_table(tmp_path / "t", [column("id", "long", **mapped)], [file], configuration=properties)
    with pytest.raises(UnsupportedFeature, match="the file has none"):
        explorer.open_table(root).head()


def test_rows_that_would_take_too_much_memory_are_left_to_spark(tmp_path: Path) -> None:
    # One text of a megabyte, repeated by a dictionary: a small file, and gigabytes of rows.
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000, pa.int32()), pa.array(["x" * (1 << 20)]))
    rows = pa.table({"id": list(range(3_000)), "text": texts})
    root = write_table(tmp_path / "t", [column("id", "long"), column("text", "string")], [DataFile("a.parquet", rows)])
    table = explorer.open_table(root)
    assert table.head(2).num_rows == 2
    with pytest.raises(UnsupportedFeature, match="64 MB"):
        table.head(1_000)


def test_more_files_than_are_opened_here_are_left_to_spark(tmp_path: Path) -> None:
    files = [DataFile(f"{place}.parquet", pa.table({"id": [place]})) for place in range(MOST_FILES + 1)]
    root = write_table(tmp_path / "t", [column("id", "long")], files)
    table = explorer.open_table(root)
    assert table.head(MOST_FILES - 1).num_rows == MOST_FILES - 1
    with pytest.raises(UnsupportedFeature, match=f"more than {MOST_FILES} files"):
        table.head(MOST_FILES + 1)


def test_a_file_of_many_row_groups_is_read_at_the_groups_that_are_needed(tmp_path: Path) -> None:
    rows = pa.table({"id": list(range(10_000)), "list": [[n, n + 1] for n in range(10_000)]})
    kind = {"type": "array", "elementType": "long", "containsNull": True}
    file = DataFile("a.parquet", rows, masked=range(100, 9_000), options={"row_group_size": 1_000})
    root = write_table(tmp_path / "t", [column("id", "long"), column("list", kind)], [file])
    table = explorer.open_table(root)
    page = first_rows(table, table.snapshot(), RowPosition(0, 98), 4)
    assert not isinstance(page, SparkOnly)
    assert page.table.to_pydict() == {"id": [98, 99, 9_000, 9_001], "list": [[n, n + 1] for n in (98, 99, 9000, 9001)]}


def test_a_link_out_of_the_table_is_refused(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    (root / "a.parquet").rename(outside)
    os.symlink(outside, root / "a.parquet")
    with pytest.raises(explorer.ExplorerError, match="outside"):
        explorer.open_table(root, roots=[root]).head(3)


def test_no_spark_and_no_pandas_are_loaded(root: Path) -> None:
    code = (
        "import sys, explorer; rows = explorer.open_table(sys.argv[1]).head(9); assert rows.num_rows == 9;"
        "print(sorted({'pandas', 'pyspark', 'py4j'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_prints_the_first_rows(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    command = [sys.executable, "-m", "explorer.cli"]
    env = os.environ | {"JAVA_HOME": str(tmp_path), "PATH": ""}  # no Java: it is not needed
    for arguments in (["head", str(root), "-n", "2", "--json"], ["rows", str(root), "--limit", "2", "--json"]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=env, check=False)
        assert (done.returncode, done.stdout) == (0, '{"id":0,"file":"x"}\n{"id":1,"file":"x"}\n'), done.stderr
    shown = subprocess.run([*command, "rows", str(root)], capture_output=True, text=True, env=env, check=True)
    assert "All 16 rows, from 4 files." in shown.stdout + shown.stderr
    subprocess.run([*command, "rows", str(root), "--limit", "3", "--output", str(out)], env=env, check=True)
    assert pq.read_table(out).column("id").to_pylist() == [0, 1, 2]


def test_dates_that_python_lacks_are_printed_as_texts(tmp_path: Path) -> None:
    days = pa.array([20_000, 3_000_000, None], pa.int32()).cast(pa.date32())
    times = pa.array([0, 300_000_000_000_000_000, None], pa.timestamp("us", "UTC"))
    fields = [column("day", "date"), column("at", "timestamp")]
    root = write_table(tmp_path / "t", fields, [DataFile("a.parquet", pa.table({"day": days, "at": times}))])
    command = [sys.executable, "-m", "explorer.cli", "head", str(root)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "10183-" in shown
    assert '"day":"10183-' in lines[1]
    assert '"at":"11476-' in lines[1]
    assert lines[2] == '{"day":null,"at":null}'
