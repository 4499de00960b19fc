"""Identity columns: the mark and the lattice of their values."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.intents.records import SyncIdentity
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from explorer.core.transaction.proposals.rows.append_rows import numberings
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import snapshot
from tests.support.logs.small_schemas import column, failed, field, guard, struct

LONGS = st.integers(-(2**63), 2**63 - 1)
INTENT = SyncIdentity(column="i")


def _table(start: int, step: int, mark: int | None = None, *files: Any) -> explorer.Snapshot:
    keys: dict[str, Any] = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": True,
    }
    if mark is not None:
        keys["delta.identity.highWaterMark"] = mark
    return snapshot(*files, schema=json.dumps(struct(field("i", "long", metadata=keys), field("v"))))


def _file(name: str, low: int | None, high: int | None, *, tight: bool = True, nulls: int = 0) -> Any:
    stats: dict[str, Any] = {"numRecords": 2, "nullCount": {"i": nulls}, "tightBounds": tight}
    if low is not None:
        stats |= {"minValues": {"i": low}, "maxValues": {"i": high}}
    return msgspec.structs.replace(add(name), stats=json.dumps(stats))


@pytest.mark.conformance("IDENT-004", "IDENT-007", "IDENT-008")
@pytest.mark.parametrize(
    ("start", "step", "mark", "value", "after"),
    [
        (1, 1, None, 5, 5),
        (1, 3, None, 5, 7),
        (1, 3, 4, 5, 7),
        (1, 3, 7, 5, None),
        (1, 3, None, 1, 1),
        (1, 3, None, 0, None),
        (1, 3, None, None, None),
        (100, -5, 80, -1000, -1000),
        (100, -5, 80, -1001, -1005),
        (100, -5, 80, 1000, None),
        (100, -5, None, 101, None),
        (10, 10, 20, 20, None),
    ],
)
def test_the_mark_moves_to_the_next_value_of_the_lattice_in_the_direction_of_the_step(
    start: int, step: int, mark: int | None, value: int | None, after: int | None
) -> None:
    made = sync_identity(INTENT, _table(start, step, mark), value)
    assert column(made, "i").metadata.get("delta.identity.highWaterMark") == (mark if after is None else after)
    assert failed(made) == ([] if after is not None else ["identity-mark"])
    assert (made.reads_files, made.is_blind_append) == (True, False)


@pytest.mark.conformance("IDENT-002", "IDENT-004", "IDENT-006", "IDENT-008")
@given(LONGS, LONGS.filter(bool), LONGS)
def test_a_mark_is_on_the_lattice_at_or_beyond_the_value_and_leaves_room(start: int, step: int, value: int) -> None:
    made = sync_identity(INTENT, _table(start, step), value)
    found = column(made, "i").metadata
    assert (found["delta.identity.start"], found["delta.identity.step"]) == (start, step)
    assert found["delta.identity.allowExplicitInsert"] is True
    mark = found.get("delta.identity.highWaterMark")
    if mark is None:
        assert (value < start) if step > 0 else (value > start)
        return
    assert (mark - start) % step == 0
    assert 0 <= (mark - value if step > 0 else value - mark) < abs(step)
    assert (failed(made) == []) is (-(2**63) <= mark + step < 2**63)


@pytest.mark.conformance("IDENT-003", "IDENT-004", "IDENT-008")
@pytest.mark.parametrize(
    ("start", "step", "mark", "first"),
    [(10, 3, None, 10), (10, 3, 10, 13), (10, 3, 16, 19), (10, 3, 17, 19), (0, -2, -2, -4), (0, -2, -3, -4)],
)
def test_the_next_value_is_the_start_or_the_next_on_the_lattice_beyond_the_mark(
    start: int, step: int, mark: int | None, first: int
) -> None:
    (numbering,) = numberings(_table(start, step, mark).schema, (), 3)
    assert (numbering.first, numbering.last(3)) == (first, first + 2 * step)


@pytest.mark.conformance("IDENT-001")
@pytest.mark.parametrize(
    ("start", "step", "mark"),
    [
        *((1, step, None) for step in (0, None, "1", True, 1.5)),
        *((start, 1, None) for start in (None, "1", True, 1.5)),
        *((1, 1, mark) for mark in ("", "1", True, 1.5)),
    ],
)
def test_metadata_that_contradicts_itself_is_refused(start: Any, step: Any, mark: Any) -> None:
    with pytest.raises(InvalidIntent, match="IDENT-001"):
        sync_identity(INTENT, _table(start, step, mark), 5)


def test_a_column_that_is_none_is_refused() -> None:
    for name in ("v", "nope"):
        with pytest.raises(InvalidIntent) as caught:
            sync_identity(SyncIdentity(column=name), _table(1, 1), 5)
        assert caught.value.field == "column"


def test_statistics_tell_the_furthest_value_where_they_are_exact() -> None:
    files = (_file("a", 1, 7), _file("b", None, None, nulls=2), _file("c", -3, 4))
    assert recorded_extreme(_table(1, 1, None, *files), "i") == (True, 7)
    assert recorded_extreme(_table(1, -1, None, *files), "I") == (True, -3)
    assert recorded_extreme(_table(1, 1), "i") == (True, None)
    assert (counts_up(_table(1, 1), "i"), counts_up(_table(1, -1), "i")) == (True, False)


@pytest.mark.parametrize("file", [_file("b", 1, 9, tight=False), _file("b", None, None), add("b", records=None)])
def test_statistics_that_are_wide_or_lack_do_not_tell_it(file: Any) -> None:
    assert recorded_extreme(_table(1, 1, None, _file("a", 1, 7), file), "i") == (False, None)


def test_the_plan_takes_the_value_from_the_statistics() -> None:
    before = _table(1, 3, None, _file("a", 1, 8))
    table = small_logs.table({0: [before.protocol, before.metadata, _file("a", 1, 8)]})
    plan = table.plan({"kind": "sync-identity", "column": "i"}, user="me")
    assert isinstance(plan, CommitPlan)
    assert guard(plan.proposal, "identity-mark").evidence["new mark"] == 10
