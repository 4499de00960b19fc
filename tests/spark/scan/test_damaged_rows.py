"""Damage that only reading rows finds: whatever was asked for, the file and the version are named, nothing is half."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, CorruptDeletionVector, CorruptTable, ExplorerError, StorageError
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.changes import changes
from explorer.spark.changes.row_diff import row_diff
from explorer.spark.changes.row_diff_preview import row_diff_preview
from explorer.spark.rows.key_history import key_history
from explorer.spark.rows.preview import preview
from explorer.spark.scan.scan import scan
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, inline_vector, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=3)]

LONG = 60
FILE = "hit x.parquet"
CALLS: dict[str, Callable[[explorer.Table], Any]] = {
    "rows": lambda table: scan(table, table.snapshot()).to_arrow(),
    "filtered rows": lambda table: scan(table, table.snapshot(), where="v <> 'b'").to_arrow(),
    "preview": lambda table: preview(table, table.snapshot()).result(LONG),
    "changes": lambda table: changes(table, 0, inferred=True).to_arrow(),
    "counts of changes": lambda table: changes(table, 1, 1, inferred=True).counts(),
    "preview of changes": lambda table: change_preview(table, 0, 1, inferred=True).result(LONG),
    "row diff": lambda table: row_diff(table, 0, 1, ["id"]).to_arrow(),
    "row diff back in time, counted": lambda table: row_diff(table, 1, 0).counts(),
    "preview of a row diff": lambda table: row_diff_preview(table, 0, 1, ["id"]).result(LONG),
    "history of a key": lambda table: key_history(table, {"id": 3}).result(LONG),
    "check": lambda table: table.check({"c": "id > 0"}),
    "profile": lambda table: table.profile(),
}


def _table(root: Path) -> Path:
    """Version 1 adds a second file, whose second row is masked."""
    kept = pa.table({"id": pa.array([1], pa.int64()), "v": ["a"]})
    fields = [column("id", "long"), column("v", "string")]
    write_table(root, fields, [DataFile("kept.parquet", kept)])
    pq.write_table(pa.table({"id": pa.array([2, 3, 4], pa.int64()), "v": ["b", "c", "d"]}), root / FILE)
    _log(root, inline_vector([1]), (root / FILE).stat().st_size)
    return root


def _log(root: Path, vector: dict[str, Any], size: int) -> None:
    add = {
        "path": FILE.replace(" ", "%20"),
        "partitionValues": {},
        "size": size,
        "modificationTime": 1_700_000_001_000,
        "dataChange": True,
        "deletionVector": vector,
        "stats": json.dumps({"numRecords": 3}),
    }
    (root / "_delta_log" / f"{1:020}.json").write_text(json.dumps({"add": add}) + "\n", "utf-8")


def _gone(root: Path) -> None:
    (root / FILE).unlink()


def _cut_short(root: Path) -> None:
    (root / FILE).write_bytes((root / FILE).read_bytes()[:-9])


def _zeros(root: Path) -> None:
    (root / FILE).write_bytes(bytes((root / FILE).stat().st_size))


def _other_types(root: Path) -> None:
    pq.write_table(pa.table({"id": ["2", "3", "4"], "v": ["b", "c", "d"]}), root / FILE)
    _log(root, inline_vector([1]), (root / FILE).stat().st_size)


def _false_vector(root: Path) -> None:
    _log(root, inline_vector([1]) | {"cardinality": 2}, (root / FILE).stat().st_size)


DAMAGES: dict[str, tuple[Callable[[Path], None], type[ExplorerError], str]] = {
    "gone": (_gone, StorageError, "does not exist"),
    "cut short": (_cut_short, CorruptTable, "but the log records"),
    "no Parquet": (_zeros, CorruptTable, "cannot be read"),
    "other types": (_other_types, CorruptTable, r"\[id\]"),
    "vector": (_false_vector, CorruptDeletionVector, "masks 1 rows, but 2 by the descriptor"),
}


# Rows are counted without their values.
PAIRS = [
    (call, damage) for call in CALLS for damage in DAMAGES if (call, damage) != ("counts of changes", "other types")
]
# On every run each call with two or three kinds of damage, and each kind with about half of the calls.
CASES = PAIRS if WHOLE_DOSE else PAIRS[::2]


@pytest.mark.parametrize(("call", "damage"), CASES)
def test_damage_is_named_with_its_file_and_version(call: str, damage: str, tmp_path: Path) -> None:
    damaged, expected, words = DAMAGES[damage]
    if damage == "gone" and "changes" in call:
        expected, words = ChangeFeedGap, "are gone"
    root = _table(tmp_path)
    damaged(root)
    with pytest.raises(expected, match=words) as caught:
        CALLS[call](explorer.open_table(root))
    assert (unquote(caught.value.path), caught.value.version) == (FILE, 1)
    assert "version 1" in str(caught.value)
    assert caught.value.path in str(caught.value)


@pytest.mark.whole("the tests of each call in tests/spark")
def test_without_damage_every_call_has_its_answer(tmp_path: Path) -> None:
    table = explorer.open_table(_table(tmp_path))
    answers = {name: call(table) for name, call in CALLS.items()}
    assert sorted(answers["rows"].column("id").to_pylist()) == [1, 2, 4]
    assert answers["changes"].num_rows == 3
    assert answers["row diff"].num_rows == answers["row diff back in time, counted"].deleted == 2
    assert answers["history of a key"].spans.num_rows == 0
    assert answers["check"].passed
    assert answers["profile"].rows == 3
