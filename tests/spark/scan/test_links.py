"""Files that are links, as Spark and the store read them: inside the allowed places, out of them, two of one file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import NotAllowed
from explorer.core.protocol.actions import AddCDCFile, Protocol
from explorer.core.protocol.file_locations import place_of
from explorer.core.transaction.commit_plan import CommitPlan
from tests.support.logs.small_logs import add, commit_info, metadata, write_log

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FEEDS = Protocol(min_reader_version=1, min_writer_version=4)
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake whose folder ``served`` is allowed, and a folder of secrets beside it."""
    for name, value in (("served/other/b", 2), ("secret/a", 1)):
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([value], pa.int64())}), file)
    return tmp_path


def table_of(lake: Path, *paths: str, partition: str | None = None) -> Path:
    """A table in the served folder whose log names files by these paths."""
    size = (lake / "secret" / "a.parquet").stat().st_size
    columns = {"id": "long"} | ({} if partition is None else {partition: "string"})
    values = {} if partition is None else {partition: "x"}
    files = [add(path, size=size, partition_values=values) for path in paths]
    described = metadata(columns, () if partition is None else (partition,), FEED)
    return write_log(lake / "served" / "t", [[commit_info("WRITE"), FEEDS, described, *files]])


def linked_file(lake: Path, target: str) -> Path:
    table = table_of(lake, "x.parquet")
    (table / "x.parquet").symlink_to(lake / target)
    return table


def linked_folder(lake: Path, target: str) -> Path:
    table = table_of(lake, f"p=x/{Path(target).name}", partition="p")
    (table / "p=x").symlink_to((lake / target).parent)
    return table


def chain_of_links(lake: Path, target: str) -> Path:
    table = linked_file(lake, target)
    (table / "x.parquet").rename(lake / "served" / "other" / "between")
    (table / "x.parquet").symlink_to(lake / "served" / "other" / "between")
    return table


def absolute_path(lake: Path, target: str) -> Path:
    (lake / "served" / "other" / "link.parquet").symlink_to(lake / target)
    return table_of(lake, f"file://{lake}/served/other/link.parquet")


def path_with_dots(lake: Path, target: str) -> Path:
    (lake / "served" / "other" / "link.parquet").symlink_to(lake / target)
    return table_of(lake, "../other/link.parquet")


def dots_inside(lake: Path, target: str) -> Path:
    table = table_of(lake, f"folder/../{Path(target).name}")
    # As text it is a file of the table itself; for the disk it is beside the folder that the link leads to.
    (table / "folder").symlink_to((lake / target).parent / "inner")
    (lake / target).parent.joinpath("inner").mkdir()
    shutil.copy(lake / "served" / "other" / "b.parquet", table / Path(target).name)
    return table


WAYS = [linked_file, linked_folder, chain_of_links, absolute_path, path_with_dots]
Way = Callable[[Path, str], Path]


def ids(table: explorer.Table) -> list[int]:
    return [row["id"] for row in table.rows().toArrow().to_pylist()]


def stored_ids(table: explorer.Table, path: str) -> list[int]:
    """The ids of a file as the store gives it."""
    holder, key = place_of(table.store, path)
    with holder.open_input(key) as source:
        found: list[int] = pq.read_table(source).column("id").to_pylist()
    return found


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_never_read_through_a_link_out_of_the_allowed_places(lake: Path, way: Way) -> None:
    table = explorer.open_table(way(lake, "secret/a.parquet"), roots=[lake / "served"])
    with pytest.raises(NotAllowed, match="outside the folders"):
        table.rows()
    path = table.snapshot().files(["path"]).column("path").to_pylist()[0]
    with pytest.raises(NotAllowed):
        stored_ids(table, path)


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("way", WAYS)
def test_rows_behind_a_link_inside_the_allowed_places_are_read(lake: Path, way: Way) -> None:
    table = explorer.open_table(way(lake, "served/other/b.parquet"), roots=[lake / "served"])
    assert ids(table) == [2]


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("way", WAYS)
def test_without_places_spark_and_the_store_read_the_same_file(lake: Path, way: Way) -> None:
    table = explorer.open_table(way(lake, "secret/a.parquet"))
    path = table.snapshot().files(["path"]).column("path").to_pylist()[0]
    assert stored_ids(table, path) == ids(table) == [1]


@pytest.mark.parametrize("with_places", [True, False])
def test_dots_in_a_path_are_folded_as_text_and_never_lead_through_a_link(lake: Path, with_places: bool) -> None:
    # delta-spark 4.4.0 reads this file of this table too: id 2.
    roots = [lake / "served"] if with_places else None
    table = explorer.open_table(dots_inside(lake, "secret/a.parquet"), roots=roots)
    assert table.snapshot().files(["path"]).column("path").to_pylist() == ["a.parquet"]
    assert stored_ids(table, "a.parquet") == ids(table) == table.head(5).column("id").to_pylist() == [2]


def test_two_files_of_the_log_that_are_one_on_disk_give_their_rows_once_each(lake: Path) -> None:
    table = table_of(lake, "x.parquet", "y.parquet", partition="p")
    shutil.copy(lake / "served" / "other" / "b.parquet", table / "x.parquet")
    (table / "y.parquet").symlink_to(table / "x.parquet")
    found = explorer.open_table(table, roots=[lake / "served"]).rows(row_identity=True).toArrow()
    assert sorted(found.column("_file").to_pylist()) == ["x.parquet", "y.parquet"]
    assert found.column("id").to_pylist() == [2, 2]


def test_changes_are_never_read_through_a_link_out_of_the_allowed_places(lake: Path) -> None:
    changes = pa.table({"id": pa.array([1], pa.int64()), "_change_type": ["insert"]})
    pq.write_table(changes, lake / "secret" / "c.parquet")
    size = (lake / "secret" / "c.parquet").stat().st_size
    lines: list[list[Any]] = [
        [commit_info("WRITE"), FEEDS, metadata({"id": "long"}, (), FEED)],
        [commit_info("UPDATE"), AddCDCFile(path="_change_data/c.parquet", partition_values={}, size=size)],
    ]
    table = write_log(lake / "served" / "t", lines)
    (table / "_change_data").symlink_to(lake / "secret")
    with pytest.raises(NotAllowed, match="outside the folders"):
        explorer.open_table(table, roots=[lake / "served"]).changes(1)
    assert explorer.open_table(table).changes(1).toArrow().column("id").to_pylist() == [1]


def test_new_files_are_never_written_through_a_link_out_of_the_allowed_places(lake: Path) -> None:
    table = table_of(lake, partition="p")
    (table / "p=x").symlink_to(lake / "secret")
    opened = explorer.open_table(table, roots=[lake / "served"])
    rows = pa.table({"id": pa.array([7], pa.int64()), "p": ["x"]})
    plan = opened.plan({"kind": "append", "source": "given"}, rows=rows)
    assert isinstance(plan, CommitPlan)
    before = sorted((lake / "secret").iterdir())
    with pytest.raises(NotAllowed, match="would be written outside"):
        opened.commit(plan)
    assert sorted((lake / "secret").iterdir()) == before
