"""The live files by Spark against the replay in one process: every kind of checkpoint, typed values, totals."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

import explorer
from explorer.core.errors import ExplorerError, IncompleteCheckpoint
from explorer.spark.log.live_files import file_totals, files_frame, needed_counts, needed_files
from explorer.spark.scan.results import to_arrow
from tests.spark.scan.test_object_stores import Put, bucket, put
from tests.support.comparison.compared_files import compare_files
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.shared_tables import golden_root, reference_root

__all__ = ["bucket", "put"]

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=3)]

# Tables with checkpoints of every kind, parsed statistics alone, vectors, odd paths, compactions, mapped columns.
REFERENCE: Final = ("checkpoint-multipart", "checkpoint-struct-stats", "checkpoint-v2-parquet", "partition-types")
GOLDEN: Final = (
    "delta__log-replay-special-characters",
    "delta__only-checkpoint-files",
    "delta__table-with-columnmapping-mode-name",
    "delta__v2-checkpoint-json",
    "kernelrs__compacted-log-files-table",
    "kernelrs__table-with-dv-small",
    "kernelrs__v1-multi-part-partitioned-struct-stats-only",
    "kernelrs__v2-parquet-sidecars-struct-stats-only",
)
MASKED: Final = 6
"""A version of deletion-vectors with masked rows."""
SIDECARS: Final = 9
"""A version of checkpoint-v2-parquet that is made of sidecars and a commit."""


def _tables(root: Callable[[], Path], few: tuple[str, ...]) -> list[Path]:
    folder = root() / "tables"
    return sorted(folder.iterdir()) if WHOLE_DOSE else [folder / name for name in few]


def _compare(table: explorer.Table, version: int) -> int:
    """Compare one version; returns how many files it has."""
    snapshot = table.snapshot(version)
    return compare_files(snapshot, to_arrow(files_frame(table, snapshot)))


def _readable(folder: Path) -> Iterator[tuple[explorer.Table, int]]:
    """Two versions of a table's later half, or all of them, as far as their files can be listed with typed columns."""
    try:
        table = explorer.open_table(folder)
        first, last = table.version_range()
    except ExplorerError:
        return
    for version in some_of(range((first + last + 1) // 2, last + 1), 2):
        try:
            snapshot = table.snapshot(version)
            snapshot.files()
            snapshot.require_schema()  # the frame types partition values and statistics by it
        except ExplorerError:
            continue
        yield table, version


@pytest.mark.reference
def test_the_reference_tables_are_listed_as_in_one_process() -> None:
    compared = [_compare(*found) for folder in _tables(reference_root, REFERENCE) for found in _readable(folder)]
    assert sum(compared) > 20


@pytest.mark.golden
def test_the_golden_tables_are_listed_as_in_one_process() -> None:
    compared = [_compare(*found) for folder in _tables(golden_root, GOLDEN) for found in _readable(folder)]
    assert sum(compared) > 30


@pytest.mark.reference
def test_totals_and_the_files_that_a_condition_needs_are_those_of_one_process() -> None:
    table = explorer.open_table(reference_root() / "tables" / "deletion-vectors")
    snapshot = table.snapshot(MASKED)
    totals = file_totals(table, snapshot).result()
    assert (totals.num_files, totals.size_in_bytes, totals.num_records, totals.num_deleted_records) == (
        snapshot.num_files, snapshot.size_in_bytes, snapshot.num_records, snapshot.num_deleted_records,
    )  # fmt: skip
    assert totals.num_deleted_records > 0
    for where in ("id > 5 AND id < 9", "id IS NULL", "id % 2 = 0"):
        local = snapshot.skipping(where)
        assert needed_counts(table, snapshot, where).result() == local.counts
        found = to_arrow(needed_files(table, snapshot, where))
        named = {name: found.column(name).to_pylist() for name in ("path", "kept", "rule")}
        assert sorted(zip(*named.values(), strict=True)) == sorted(
            zip(*(local.files.column(name).to_pylist() for name in named), strict=True)
        )


@pytest.mark.reference
def test_the_frame_is_asked_by_logical_names_and_types() -> None:
    table = explorer.open_table(reference_root() / "tables" / "partition-types")
    frame = table.files_frame()
    whole = frame.where("partition.i64 IS NOT NULL AND statistics.max.id >= 1")
    local = table.snapshot()
    wanted = local.column_ranges("i64").column("min").to_pylist()
    assert whole.count() == sum(value is not None for value in wanted) > 0
    assert dict(frame.select("partition.*").dtypes)["dc"] == "decimal(10,3)"
    empty = explorer.open_table(reference_root() / "tables" / "partition-types").files_frame(0, statistics=())
    assert empty.count() == table.snapshot(0).num_files


@pytest.mark.reference
def test_the_log_of_a_table_in_an_object_store_or_in_memory_is_listed_too(put: Put) -> None:
    table = put(reference_root() / "tables" / "checkpoint-v2-parquet", "listed")
    assert _compare(table, SIDECARS) > 0


@pytest.mark.reference
def test_a_broken_file_of_a_checkpoint_is_a_typed_error_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    shutil.copytree(reference_root() / "tables" / "checkpoint-v2-parquet", folder)
    table = explorer.open_table(folder)
    found = files_frame(table, table.snapshot(SIDECARS))
    sidecars = list((folder / "_delta_log" / "_sidecars").glob("*.parquet"))
    assert sidecars
    for sidecar in sidecars:
        sidecar.write_bytes(sidecar.read_bytes()[:40])
    with pytest.raises(IncompleteCheckpoint, match=r"checkpoint of version \d+ .* cannot be used"):
        to_arrow(found)
    for sidecar in sidecars:
        sidecar.unlink()
    with pytest.raises(IncompleteCheckpoint, match="the file is missing"):
        to_arrow(found)
