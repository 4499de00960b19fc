"""A proof of erasure over a log of which some versions can no longer be rebuilt: their values are open, not absent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.auditing.erasure import Erasure
from explorer.auditing.erasure.search import prove_erasure
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.times import aware_moment, milliseconds
from explorer.core.versions.file_search import SearchResult
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, add, metadata, remove, write_log

NOW = milliseconds(aware_moment("2026-11-22T10:00:00Z"))
COLUMNS = {"id": "long", "name": "string"}


def log_from_a_checkpoint(root: Path, *, lost: bool) -> explorer.Table:
    """Version 0 adds a file with small ids, 1 replaces it, 2 has a checkpoint, 3 adds another file. Of a log that lost
    version 0 the commit of version 1 is left, and it cannot be rebuilt."""
    described = metadata(COLUMNS)
    small, large = add("small", bounds={"id": (1, 5)}), add("large", bounds={"id": (50, 60)})
    first, second = [MASKED, described, small], [remove("small", stats=small.stats), large]
    write_log(root, [first, second, [], [add("larger", bounds={"id": (70, 80)})]])
    write_checkpoint(open_store(root), 2, [MASKED, described, large], "classic")
    if lost:
        (root / commit_name(0)).unlink()
    return explorer.open_table(root)


def proof(table: explorer.Table, where: str) -> Erasure:
    """The proof where no stored file holds a row that matches."""
    names, counts = pa.array([], pa.string()), pa.array([], pa.int64())
    none = SearchResult(
        pa.table({"key": names, "rows": counts, "digest": names}),
        pa.table({"request": names, "key": names, "visible": counts, "masked": counts}),
        {},
    )
    return prove_erasure(table, {"": where}, NOW, lambda _: none)[""]


def open_files(proof: Erasure) -> dict[str, str]:
    return {each.path: each.reason for each in proof.not_answered if each.path.startswith("_delta_log/")}


@pytest.mark.parametrize("lost", [True, False], ids=["a commit is lost", "whole"])
@pytest.mark.parametrize("where", ["id > 100", "name LIKE 'zz%'"])
def test_a_commit_of_a_version_that_cannot_be_rebuilt_is_open_and_keeps_the_claim_from_being_made(
    tmp_path: Path, where: str, lost: bool
) -> None:
    table = log_from_a_checkpoint(tmp_path / "t", lost=lost)
    assert table.history_record().first_readable == (2 if lost else 0)
    found = proof(table, where)
    assert not found.traces
    if not lost:
        assert open_files(found) == {}
        return
    assert list(open_files(found)) == [commit_name(1)], "versions 2 and 3 are rebuilt, and hold nothing"
    assert "can no longer be rebuilt" in open_files(found)[commit_name(1)]
    assert found.obstacles, "what is open is not erased"


def test_a_value_that_such_a_commit_holds_is_a_trace_all_the_same(tmp_path: Path) -> None:
    found = proof(log_from_a_checkpoint(tmp_path / "t", lost=True), "id < 10")
    assert {(trace.path, trace.version) for trace in found.traces} == {(commit_name(1), 1)}
    assert json.loads(found.traces[0].value) in (1, 5)
    assert list(open_files(found)) == [commit_name(1)]


def test_what_a_checkpoint_holds_stays_until_a_later_one_lets_it_go(tmp_path: Path) -> None:
    """A cleanup deletes what is before a checkpoint, and not the checkpoint."""
    day = 86_400_000
    folder = tmp_path / "t"
    log_from_a_checkpoint(folder, lost=False)
    old = NOW - 60 * day
    for file in at_least_one(list((folder / "_delta_log").iterdir())):
        os.utime(file, (old / 1_000,) * 2)
    table = explorer.open_table(folder)
    before = {trace.version: trace.gone_from for trace in proof(table, "id < 10").traces}
    assert before == dict.fromkeys((0, 1), -(-old // day) * day + 30 * day)
    later = {trace.version: trace.gone_from for trace in proof(table, "id BETWEEN 50 AND 55").traces}
    today = -(-NOW // day) * day + 30 * day
    assert later == {1: before[1], 2: today}
