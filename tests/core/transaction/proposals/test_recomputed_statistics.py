"""Statistics worked out again from live rows: which leaves of which files, and the whole of what the commit says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add, Protocol
from explorer.core.transaction.intents.records import RecomputeStatistics
from explorer.core.transaction.new_files.file_facts import LiveFacts
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.rows.optimize_files import partition_files
from explorer.core.transaction.proposals.rows.recompute_statistics import (
    Described,
    described_leaves,
    recompute_statistics,
)
from explorer.core.versions.reads import reads_of_files
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, vector
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import field, mapped, struct


def table(
    kind: dict[str, Any], *files: Add, by: tuple[str, ...] = (), rules: Protocol | None = None, **more: str
) -> explorer.Snapshot:
    metadata = msgspec.structs.replace(
        small_logs.METADATA, schema_string=json.dumps(kind), partition_columns=by, configuration=more
    )
    return small_logs.table({0: [rules or small_logs.MASKED, metadata, *files]}).snapshot()


DESCRIBED = struct(
    field("id", "long"),
    field("s", struct(field("x", "long"), field("y", "long"), field("v", "void"))),
    field("p", "date"),
)


def leaves_of(before: explorer.Snapshot, *names: str, indexed: tuple[str, ...] = ()) -> tuple[Described, ...]:
    chosen = [((name,), before.schema.fields[0]) for name in indexed]
    return described_leaves(RecomputeStatistics(columns=names), before, chosen)


@pytest.mark.parametrize(
    ("names", "indexed", "found"),
    [
        ((), ("col-1",), [("id",)]),
        ((), ("id",), []),
        (("S",), (), [("s", "x"), ("s", "y")]),
        (("s.Y", "ID", "s.y"), (), [("s", "y"), ("id",)]),
    ],
)
def test_leaves_are_those_asked_for_or_those_of_the_properties(
    names: tuple[str, ...], indexed: tuple[str, ...], found: list[tuple[str, ...]]
) -> None:
    before = table(mapped(DESCRIBED), by=("p",), rules=protocol(2, 5), **{"delta.columnMapping.mode": "name"})
    leaves = leaves_of(before, *names, indexed=indexed)
    assert [leaf.path for leaf in leaves] == found
    physical = {("id",): ("col-1",), ("s", "x"): ("col-2", "col-3"), ("s", "y"): ("col-2", "col-4")}
    assert [leaf.physical for leaf in leaves] == [physical[path] for path in found]
    assert [leaf.field.name for leaf in leaves] == [path[-1] for path in found]


@pytest.mark.parametrize("name", ["p", "zz", "s.v", "s.x.y"])
def test_a_column_without_statistics_is_told_with_those_that_have_them(name: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        leaves_of(table(DESCRIBED, by=("p",)), "id", name)
    assert str(refused.value) == f"The column {name} does not exist or has no statistics in the log."
    assert (refused.value.field, refused.value.column, refused.value.allowed) == ("columns", name, ["id", "s.x", "s.y"])


def test_a_column_that_is_no_path_is_refused_by_its_field() -> None:
    with pytest.raises(InvalidIntent, match=r"^'a\.\.b' is not a column: ") as refused:
        leaves_of(table(DESCRIBED, by=("p",)), "a..b")
    assert refused.value.field == "columns"


def test_files_to_describe_are_those_of_the_partitions_asked_for() -> None:
    days = {"a": "2026-01-01", "b": "2026-01-02"}
    before = table(DESCRIBED, *(add(name, partition_values={"p": day}) for name, day in days.items()), by=("p",))
    for where, names in ((None, ["a", "b"]), ("p > '2026-01-01'", ["b"])):
        found = partition_files(where, before)
        assert found.column("path").to_pylist() == names
    with pytest.raises(InvalidIntent) as refused:
        partition_files("length(p) > 1", before)
    assert str(refused.value) == "The condition cannot be answered from partition values alone."
    assert refused.value.field == "where"


FLAT = struct(field("id", "long"), field("s", struct(field("x", "long"), field("y", "long"))))


def live(rows: int, **values: tuple[int | None, int | None]) -> LiveFacts:
    extremes = pa.record_batch({name: pa.array(pair, pa.int64()) for name, pair in values.items()})
    return LiveFacts(rows, tuple(range(len(values))), extremes)


def made(stats: Any, facts: LiveFacts | None, *names: str, hidden: int = 0) -> Any:
    """The new statistics of a file with these; None where the commit leaves them."""
    text = stats if stats is None or isinstance(stats, str) else json.dumps(stats)
    file = msgspec.structs.replace(add("f", vector=vector("v", hidden) if hidden else None), stats=text)
    before = table(FLAT, file)
    intent = RecomputeStatistics(columns=names)
    indexed = [(leaf, before.schema.fields[0]) for leaf in (("id",), ("s", "x"), ("s", "y"))]
    leaves = described_leaves(intent, before, indexed)
    found = recompute_statistics(intent, before, {"f": file}, leaves, {} if facts is None else {"f": facts})
    return json.loads(found.adds[0].stats or "") if found.adds else None


WHOLE = {
    "numRecords": 5,
    "minValues": {"id": 1, "s": {"x": 2, "y": 3}},
    "maxValues": {"id": 7, "s": {"x": 8, "y": 9}},
    "nullCount": {"id": 0, "s": {"x": 1, "y": 2}},
}
FOUND = live(5, id=(1, 7), x=(2, 8), y=(3, 9))


def test_all_statistics_are_replaced_and_what_else_is_said_stays() -> None:
    odd = {"numRecords": 4, "minValues": {"id": 0, "gone": 1}, "house": {"x": 1}}
    assert made(odd, FOUND) == {"house": {"x": 1}, **WHOLE, "tightBounds": True}
    assert made(None, FOUND) == made("{", FOUND) == {**WHOLE, "tightBounds": True}
    assert made(WHOLE, FOUND) is None
    assert made({**WHOLE, "tightBounds": True}, FOUND) is None
    assert made({**WHOLE, "tightBounds": False}, FOUND) == {**WHOLE, "tightBounds": True}


def test_rows_that_are_masked_count_and_a_file_without_live_rows_has_no_bounds() -> None:
    assert made(WHOLE, FOUND, hidden=2) == {**WHOLE, "numRecords": 7, "tightBounds": True}
    zeros = {"id": 0, "s": {"x": 0, "y": 0}}
    nothing = {"minValues": {}, "maxValues": {}, "nullCount": zeros, "tightBounds": True}
    assert made(WHOLE, None, hidden=2) == {"numRecords": 2, **nothing}
    assert made(WHOLE, None) == {"numRecords": 0, **nothing}


@pytest.mark.parametrize(("hidden", "tight"), [(0, True), (3, False)])
def test_statistics_of_other_columns_stay(hidden: int, tight: bool) -> None:
    known = {
        "numRecords": 1,
        "minValues": {"s": {"x": -5, "y": -6}, "gone": 0},
        "maxValues": {"s": 4},
        "nullCount": [1],
        "house": 1,
    }
    found = made(known, live(5, x=(2, 8)), "s.x", hidden=hidden)
    assert found == {
        "numRecords": 5 + hidden,
        "minValues": {"s": {"x": 2, "y": -6}, "gone": 0},
        "maxValues": {"s": {"x": 8}},
        "nullCount": {"s": {"x": 0}},
        "house": 1,
        "tightBounds": tight,
    }
    bare = made(known, live(5, x=(None, None)), "s.x")
    assert (bare["minValues"], bare["maxValues"]) == ({"s": {"y": -6}, "gone": 0}, {"s": {}})
    wide = {**WHOLE, "tightBounds": False}
    assert made(wide, live(5, id=(0, 7)), "id") == {**wide, "minValues": {"id": 0, "s": {"x": 2, "y": 3}}}
    assert made(WHOLE, live(5, id=(1, 7)), "id") is None


@pytest.mark.parametrize("where", [None, "p = '2026-01-01'"])
def test_what_is_described_again_is_said_whole(where: str | None) -> None:
    again = {
        "numRecords": 2,
        "minValues": {"id": 1},
        "maxValues": {"id": 7},
        "nullCount": {"id": 0},
        "tightBounds": True,
    }
    files = {
        name: msgspec.structs.replace(add(name.replace(" ", "%20"), base_row_id=3), stats=stats, data_change=False)
        for name, stats in {"a b": json.dumps(WHOLE), "c": json.dumps(again), "d": None}.items()
    }
    before = table(FLAT, *files.values(), rules=protocol(1, 7, w="domainMetadata rowTracking"))
    intent = RecomputeStatistics(where=where)
    leaves = described_leaves(intent, before, [(("id",), before.schema.fields[0])])
    facts = dict.fromkeys(files, live(2, id=(1, 7)))
    text = json.dumps(again, separators=(",", ":"))
    detail = "The statistics of 2 of 3 files differ from their rows, or are incomplete."
    assert recompute_statistics(intent, before, files, leaves, facts) == Proposal(
        operation="COMPUTE STATS",
        parameters={"predicate": "[]" if where is None else f'["{where}"]'},
        adds=tuple(msgspec.structs.replace(files[name], stats=text) for name in ("a b", "d")),
        metrics={"numFiles": "2"},
        tags={"delta.rowTracking.preserved": "false"},
        is_blind_append=False,
        isolation="SnapshotIsolation",
        reads_files=True,
        reads=reads_of_files(files.values()),
        guards=(GuardResult("statistics-differ", "pass", {"files": 3, "changed": 2, "detail": detail}),),
        change_feed="Nothing appears in it: no row changes.",
        undo="There is nothing to undo: rows and files stay as they are. A restore does not bring statistics back.",
    )
    nothing = recompute_statistics(intent, before, {"c": files["c"]}, leaves, facts)
    detail = "The statistics of the one file agree with the rows, so there is nothing to commit."
    evidence = {"files": 1, "changed": 0, "detail": detail}
    assert nothing.guards == (GuardResult("statistics-differ", "fail", evidence),)
    assert nothing.metrics == {"numFiles": "0"}
