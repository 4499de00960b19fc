"""Statistics of checkpoints that are cached between processes: the same as without, and of the very file alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.storage import open_store
from explorer.storage.index_folder import IndexFolder
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, add, lines, metadata, remove
from tests.support.shared_tables import golden_root, reference_root

CONTENTS = "contents"


@pytest.fixture
def indexes(tmp_path: Path) -> IndexFolder:
    """A folder that keeps everything at once."""
    return IndexFolder(tmp_path / "kept", "test", worth=(1, 0), settled=0)


def _opened(root: Path, indexes: IndexFolder | None) -> explorer.Snapshot:
    return explorer.Table(open_store(root), indexes=None if indexes is None else lambda: indexes).snapshot()


def _answers(snapshot: explorer.Snapshot) -> Any:
    table = snapshot.statistics()
    return [column.to_pylist() for column in table.columns], snapshot.statistics_problems(), table.schema


def _location(root: Path, place: int = 0) -> str:
    return f"{root.as_uri()}/_delta_log/checkpoint statistics {place}"


def _log(root: Path, shape: Shape, lowest: int = 0) -> None:
    """A checkpoint of forty files, of which one is removed since, and two files have no usable statistics."""
    store = open_store(root)
    columns = metadata({"id": "long", "name": "string", "price": "decimal(9,2)"})
    files = [
        add(f"{n}", n + 1, bounds={"id": (lowest + n, n + 9), "name": ("a", f"b{n}"), "price": (n, n + 0.5)})
        for n in range(38)
    ]
    files += [add("none", None), add("odd", 3, bounds={"id": ("x", "y")})]
    store.put_if_absent(commit_name(0), lines([PROTOCOL, columns, *files]))
    write_checkpoint(store, 0, [PROTOCOL, columns, *files], shape)
    store.put_if_absent(commit_name(1), lines([remove("7"), add("new", 5, bounds={"id": (1, 2)})]))


@pytest.mark.parametrize("shape", SHAPES)
def test_statistics_of_every_shape_are_the_same_with_and_without(
    shape: Shape, tmp_path: Path, indexes: IndexFolder
) -> None:
    _log(tmp_path / "table", shape)
    meant = _answers(_opened(tmp_path / "table", None))
    for _ in range(3):
        assert _answers(_opened(tmp_path / "table", indexes)) == meant
    assert bool(indexes.files()) == (shape != "v2-json")


def _with_checkpoints() -> Iterator[Path]:
    for root in (golden_root(), reference_root()):
        for log in sorted((root / "tables").glob("*/_delta_log")):
            if any(".checkpoint" in path.name for path in log.iterdir()):
                yield log.parent


@pytest.mark.golden
@pytest.mark.reference
def test_statistics_of_others_tables_are_the_same_with_and_without(indexes: IndexFolder) -> None:
    compared, tables = 0, list(_with_checkpoints())
    for folder in at_least_one(tables if WHOLE_DOSE else random.Random(5).sample(tables, 25)):
        try:
            meant = _answers(_opened(folder, None))
        except explorer.ExplorerError:
            continue  # its newest version cannot be read
        for _ in range(2):
            assert _answers(_opened(folder, indexes)) == meant, folder.name
        compared += indexes.find(_location(folder)) is not None
    assert compared >= 5, compared


def test_cached_statistics_are_read_and_the_columns_that_are_not_cached_are_parsed(
    tmp_path: Path, indexes: IndexFolder
) -> None:
    root = tmp_path / "table"
    _log(root, "classic")
    meant = _opened(root, None)
    assert _opened(root, indexes).column_ranges("id") == meant.column_ranges("id")
    location = _location(root)
    cached = indexes.find(location)
    assert cached is not None
    contents = cached.table(CONTENTS)
    assert contents is not None
    names = json.loads(contents.schema.metadata[b"contents"])["tables"]
    changed = {name: _lowered(cached.table(name)) for name in names}
    indexes.keep(location, [], lambda: {CONTENTS: contents, **changed})
    snapshot = _opened(root, indexes)
    lows = snapshot.column_ranges("id")["min"].to_pylist()
    assert lows == [*([-5] * 39), 1]
    assert snapshot.column_ranges("name") == meant.column_ranges("name")
    # What is cached afterwards is both, and the first column is still that of the cache.
    again = _opened(root, indexes)
    assert again.column_ranges("id")["min"].to_pylist() == lows
    assert again.column_ranges("name") == meant.column_ranges("name")


def _lowered(table: pa.Table | None) -> pa.Table:
    """The same with another minimum, if it has minimums."""
    assert table is not None
    return table.set_column(0, "low", pa.array([-5] * len(table))) if "low" in table.column_names else table


@pytest.mark.parametrize("shape", ["classic", "multi-part"])
def test_a_checkpoint_that_is_written_again_is_parsed_again(shape: Shape, tmp_path: Path, indexes: IndexFolder) -> None:
    root = tmp_path / "table"
    _log(root, shape)
    before = _answers(_opened(root, indexes))
    for path in (root / "_delta_log").iterdir():
        path.unlink()
    _log(root, shape, lowest=-3)
    after = _answers(_opened(root, indexes))
    assert after == _answers(_opened(root, None)) != before
    assert _answers(_opened(root, indexes)) == after


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("kind", ["flip", "cut", "zeros"])
def test_a_cache_that_is_broken_anywhere_changes_nothing(kind: str, tmp_path: Path, indexes: IndexFolder) -> None:
    root = tmp_path / "table"
    _log(root, "classic")
    meant = _answers(_opened(root, indexes))
    (path,) = (tmp_path / "kept").iterdir()
    whole = path.read_bytes()
    for at in at_least_one(range(0, len(whole), len(whole) // (600 if WHOLE_DOSE else 60))):
        data = bytearray(whole)
        if kind == "flip":
            data[at] ^= 1 << (at % 8)
        elif kind == "cut":
            data = data[:at]
        else:
            data[at : at + 100] = bytes(len(data[at : at + 100]))
        path.unlink()
        path.write_bytes(data)
        assert _answers(_opened(root, indexes)) == meant, at
