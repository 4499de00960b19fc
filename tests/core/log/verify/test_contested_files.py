"""A path that is live with two deletion vectors: what this program reads, what others read, and who is told.

By the protocol the key of a file is its path with its vector, so delta-spark 4.4.0 reads both of them.
"""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.core.transaction.intents.records import Restore
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, add, new_store, remove, table, vector

ONE, TWO, THREE = vector("one", 1), vector("two", 2), vector("three", 3)
BEGIN = [MASKED, METADATA, add("a.parquet", 10), add("b.parquet", 7)]


def _counts(found: explorer.Table, version: int | None = None) -> tuple[int | None, int | None] | None:
    contested = found.snapshot(version).contested
    return None if contested is None else (contested.rows, contested.other_rows)


@pytest.mark.conformance("REPLAY-003")
@pytest.mark.parametrize(
    ("commits", "counts"),
    [
        # The removal names the file without a vector, the live one has one.
        ([[add("a.parquet", 10, vector=ONE), remove("a.parquet")], [add("a.parquet", 10, vector=TWO)]], (15, 24)),
        (
            [
                [add("a.parquet", 10, vector=ONE), remove("a.parquet")],
                [add("a.parquet", 10, vector=TWO), remove("a.parquet")],
                [add("a.parquet", 10, vector=THREE), remove("a.parquet", vector=TWO)],
            ],
            (14, 23),
        ),
        # No removal at all: the file without a vector stays live too.
        ([[add("a.parquet", 10, vector=ONE)]], (16, 26)),
        ([[add("a.parquet", 10, vector=ONE), add("b.parquet", 7, vector=TWO)]], (14, 31)),
        # What a writer should do.
        ([[add("a.parquet", 10, vector=ONE), remove("a.parquet")]], None),
        ([[remove("a.parquet"), add("a.parquet", 10, vector=ONE)]], None),
        ([[add("a.parquet", 10, vector=ONE), remove("a.parquet")], [remove("a.parquet", vector=ONE)]], None),
        # Repaired later.
        ([[add("a.parquet", 10, vector=ONE)], [remove("a.parquet")]], None),
        ([[add("a.parquet", 10, vector=ONE)], [add("a.parquet", 10)], [remove("a.parquet", vector=ONE)]], None),
        ([[add("a.parquet", None, vector=ONE)]], (None, None)),
    ],
)
def test_both_counts_are_known_and_a_sound_replacement_is_not_contested(
    commits: list[list[Any]], counts: tuple[int, int] | None
) -> None:
    found = table(dict(enumerate([BEGIN, *commits])))
    assert _counts(found) == counts
    assert _counts(found, 0) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_checkpoint_has_counts_too(shape: Shape) -> None:
    store = new_store()
    write_checkpoint(store, 3, [MASKED, METADATA, add("a.parquet", 10, vector=ONE), add("b.parquet", 7)], shape)
    found = table({4: [add("a.parquet", 10, vector=TWO), remove("a.parquet")]}, store)
    assert _counts(found) == (15, 24)
    assert _counts(found, 3) is None


def test_a_checkpoint_that_lists_a_path_twice_is_contested() -> None:
    store = new_store()
    files = [add("a.parquet", 10, vector=ONE), add("a.parquet", 10, vector=TWO)]
    write_checkpoint(store, 3, [MASKED, METADATA, *files], "classic")
    contested = table({}, store).snapshot().contested
    assert contested is not None
    assert contested.paths == ("a.parquet",)


def test_the_error_states_both_counts_who_reads_which_and_the_next_step() -> None:
    found = table(dict(enumerate([BEGIN, [add("a.parquet", 10, vector=ONE)]])))
    contested = found.snapshot().contested
    assert contested is not None
    error = contested.error()
    assert isinstance(error, CorruptTable)
    for text in ("reads 16 rows", "delta-spark", "26 rows", "a.parquet", "restore a version before"):
        assert text in error.message


def test_the_audit_has_an_error_of_its_own_whose_restore_repairs_the_table() -> None:
    odd = [add("a.parquet", 10, vector=TWO), remove("a.parquet"), remove("never.parquet")]
    found = table(dict(enumerate([BEGIN, [add("a.parquet", 10, vector=ONE), remove("a.parquet")], odd])))
    findings = {finding.rule: finding for finding in found.audit(NOW).findings}
    contested = findings["contested-files"]
    assert contested.severity == "error"
    assert "15 rows here, 24 by path and deletion vector" in contested.title
    assert "skip" not in findings["contradictory-actions"].effect
    assert contested.remedy is not None
    assert contested.remedy.intent == Restore(version=1)
    guards = {guard.name: guard.status for guard in found.plan(contested.remedy.intent).guards}
    assert guards.get("changes-something") == "pass"
