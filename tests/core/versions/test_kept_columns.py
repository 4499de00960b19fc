"""What is kept of checkpoints: every version answers as without it, a step reads no checkpoint, memory is bounded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.log_path import commit_name
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, add, lines, metadata, new_store, remove
from tests.support.shared_tables import golden_root, reference_root

pytestmark = pytest.mark.sampled(tests=6)

LEAST = 1 << 12
"""Bytes of which next to nothing is kept."""


def _answers(snapshot: explorer.Snapshot) -> dict[str, Any]:
    """What a page asks of a version; the class of the error where it cannot be answered."""
    asked: dict[str, Callable[[], Any]] = {
        "count": lambda: snapshot.num_files,
        "rows": lambda: snapshot.num_records,
        "files": lambda: snapshot.files().combine_chunks(),
        "statistics": lambda: _plain(snapshot.statistics()),
        "coverage": snapshot.statistics_coverage,
        "problems": snapshot.statistics_problems,
        "vectors": lambda: snapshot.deletion_vectors().combine_chunks(),
    }
    found = {}
    for name, ask in asked.items():
        try:
            found[name] = ask()
        except explorer.ExplorerError as error:
            found[name] = type(error)
    return found


def _plain(table: pa.Table) -> list[list[Any]]:
    """Columns as values: a union is not compared by Arrow."""
    return [column.to_pylist() for column in table.columns]


def _with_checkpoints() -> Iterator[Path]:
    for root in (golden_root(), reference_root()):
        for log in sorted((root / "tables").glob("*/_delta_log")):
            if any(".checkpoint" in path.name for path in log.iterdir()):
                yield log.parent


def _steps(table: explorer.Table, rng: random.Random) -> list[int]:
    """Versions in any order, some of them twice."""
    first, last = table.version_range()
    count = last - first + 1
    return [rng.randint(first, last) for _ in range(2 * count if WHOLE_DOSE else min(count, 4))]


@pytest.mark.whole("test_of_every_shape_every_version_answers_as_if_nothing_was_kept")
@pytest.mark.golden
@pytest.mark.reference
def test_every_version_answers_as_if_nothing_was_kept() -> None:
    rng, compared = random.Random(17), 0
    for folder in at_least_one(_with_checkpoints()):
        try:
            table, small = explorer.open_table(folder), explorer.open_table(folder)
            versions = _steps(table, rng)
        except explorer.ExplorerError:
            continue  # nothing of it can be read
        table.cache_columns(ColumnCache())
        small.cache_columns(ColumnCache(LEAST))
        for version in versions:
            try:
                meant = _answers(explorer.open_table(folder).snapshot(version))
            except explorer.ExplorerError:
                continue
            assert _answers(table.snapshot(version)) == meant, (folder.name, version)
            assert _answers(small.snapshot(version)) == meant, (folder.name, version)
            compared += 1
    assert compared >= 100, compared


def _long(shape: Shape) -> FaultyStore:
    """A checkpoint of forty files at version 1, and ten commits after it; two files have no usable statistics."""
    columns = metadata({"id": "long", "name": "string"})
    files = [add(f"{n}", n + 1, bounds={"id": (n, n + 9), "name": ("a", f"b{n}")}) for n in range(38)]
    files += [add("none", None), add("odd", 3, bounds={"id": ("x", "y")})]
    store = new_store()
    store.put_if_absent(commit_name(0), lines([PROTOCOL, columns]))
    store.put_if_absent(commit_name(1), lines(files))
    write_checkpoint(store, 1, [PROTOCOL, columns, remove("gone"), *files], shape)
    for version in range(2, 12):
        after = [remove(f"{version}"), add(f"{20 + version}", 7), add(f"new-{version}", 5, bounds={"id": (1, 2)})]
        store.put_if_absent(commit_name(version), lines(after))
    return FaultyStore(store)


@pytest.mark.parametrize("shape", SHAPES)
def test_of_every_shape_every_version_answers_as_if_nothing_was_kept(shape: Shape) -> None:
    store = _long(shape)
    table = explorer.Table(store)
    table.cache_columns(ColumnCache())
    for version in (11, 1, 5, 4, 5, 0, 10, 2):
        found, meant = _answers(table.snapshot(version)), _answers(explorer.Table(store).snapshot(version))
        assert found == meant, version
        assert meant["count"] == (0 if version == 0 else 40)
        assert {problem.path for problem in meant["problems"]} == (set() if version == 0 else {"odd"})


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "json" not in shape])
def test_a_step_opens_no_checkpoint_for_its_files(shape: Shape) -> None:
    store = _long(shape)
    table = explorer.Table(store)
    table.cache_columns(ColumnCache())
    table.snapshot(9)
    _answers(table.snapshot(8))
    opened = {request for request in store.requests if request.startswith("open ")}
    store.requests.clear()
    snapshot = table.snapshot(10)
    # What is in force follows from what was known; the files of the checkpoint from what was kept.
    assert _answers(snapshot)["count"] == 40
    assert opened
    assert [request for request in store.requests if request.startswith("open ")] == []


def test_no_more_is_kept_than_may_be() -> None:
    columns = ColumnCache(10_000)
    for number in range(50):
        columns.put(number, "value", 900)
        columns.find(0)
        assert columns.num_bytes <= 10_000
    assert columns.find(0) == "value"
    assert columns.find(49) == "value"
    assert columns.find(1) is None
    columns.put("large", "value", 5_001)
    assert columns.find("large") is None
    columns.put(0, "other", 100)
    assert columns.find(0) == "other"
    assert columns.num_bytes == 900 * 10 + 100


def test_a_checkpoint_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "t"), None, None)
    columns = metadata({"id": "long"})
    files = [add(f"{n}", 1, bounds={"id": (n, n)}) for n in range(5)]
    store.put_if_absent(commit_name(0), lines([PROTOCOL, columns, *files]))
    (key,) = write_checkpoint(store, 0, [PROTOCOL, columns, *files], "classic")
    kept = ColumnCache()
    table = explorer.Table(store)
    table.cache_columns(kept)
    assert table.snapshot(0).column_ranges("id").column("max").to_pylist() == [0, 1, 2, 3, 4]
    store.delete(key)
    files = [add(f"{n}", 1, bounds={"id": (n, n + 70)}) for n in range(6)]
    write_checkpoint(store, 0, [PROTOCOL, columns, *files], "classic")
    again = explorer.Table(store)
    again.cache_columns(kept)
    assert again.snapshot(0).column_ranges("id").column("max").to_pylist() == [70, 71, 72, 73, 74, 75]
