"""Facts of proposals that need no rows: lengths, identity columns, partition columns, files that come back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.core.errors import CorruptTable, InvalidIntent
from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.guards.judge import protocol_guard
from explorer.core.transaction.intents.records import SyncIdentity
from explorer.core.transaction.new_files.file_facts import Touched
from explorer.core.transaction.new_files.row_constraints import RowRule, row_rules
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from explorer.new_table import new_table
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.spark_tables import column, struct

SPELT = "__CHAR_VARCHAR_TYPE_STRING"
TEXTS = {"type": "array", "elementType": "string", "containsNull": True}


def spelt(name: str, kind: Any, text: str) -> dict[str, Any]:
    return column(name, kind, **{SPELT: text})


def rules(*fields: dict[str, Any]) -> list[RowRule]:
    return [rule for rule in row_rules(snapshot(schema=json.dumps(struct(*fields)))) if rule.kind == "length"]


def test_lengths_of_texts_are_checked_where_they_are_spelt_out() -> None:
    inner = spelt("in`side", "string", "char(2)")
    found = rules(
        column("plain", "string"),
        spelt("a", "string", " VARCHAR(10) "),
        spelt("b", TEXTS, "array<varchar(3)>"),
        spelt("c", TEXTS, "array<char(4)>"),
        spelt("d", "string", "string"),
        spelt("s", struct(inner), "struct<inside:char(2)>"),
        spelt("e", "string", "char(1)"),
    )
    assert [(rule.name, rule.expression) for rule in found] == [
        ("a", "coalesce(length(`a`) <= 10, true)"),
        ("b", "coalesce(forall(`b`, item0 -> coalesce(length(item0) <= 3, true)), true)"),
        ("c", "coalesce(forall(`c`, item0 -> coalesce(length(item0) <= 4, true)), true)"),
        ("s.`in``side`", "coalesce(length(`s`.`in``side`) <= 2, true)"),
        ("e", "coalesce(length(`e`) <= 1, true)"),
    ]


def test_lengths_inside_structs_maps_and_arrays_are_checked() -> None:
    words = {"type": "map", "keyType": "string", "valueType": TEXTS, "valueContainsNull": True}
    many = {"type": "array", "elementType": struct(column("x", "string")), "containsNull": True}
    found = rules(
        spelt("s", struct(column("c`d", "string"), column("e", TEXTS)), "struct<`c``d`:char(2),e:array<varchar(3)>>"),
        spelt("m", words, "map<char(1),array<varchar(4)>>"),
        spelt("r", many, "array<struct<x:varchar(5)>>"),
        spelt("t", struct(spelt("u", struct(spelt("v", "string", "char(6)")), "struct<v:char(7)>")), "struct<u:x>"),
    )
    each = "coalesce(forall(item0, item1 -> coalesce(length(item1) <= 4, true)), true)"
    assert [(rule.name, rule.expression) for rule in found] == [
        ("s", "coalesce(length(`s`.`c``d`) <= 2, true)"),
        ("s", "coalesce(forall(`s`.`e`, item0 -> coalesce(length(item0) <= 3, true)), true)"),
        ("m", "coalesce(forall(map_keys(`m`), item0 -> coalesce(length(item0) <= 1, true)), true)"),
        ("m", f"coalesce(forall(map_values(`m`), item0 -> {each}), true)"),
        ("r", "coalesce(forall(`r`, item0 -> coalesce(length(item0.`x`) <= 5, true)), true)"),
        ("t.u.v", "coalesce(length(`t`.`u`.`v`) <= 6, true)"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("map<string,varchar(3)>", "'map<string,varchar(3)>' is another type in the schema"),
        ("array<array<char(2)>>", "'array<char(2)>>' is another type in the schema"),
        ("char(x)", "'char(x)' has no length"),
        ("char(3)", "'char(3)' is another type in the schema"),
        ("array<char>", "'char' has no length"),
        ("array<char(2)", "'' does not continue a type"),
        ("array<char(2)> of", "'of' follows the type"),
        ("array< >", "'>' is not a type"),
    ],
)
def test_a_length_that_cannot_be_checked_is_refused(text: str, why: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        rules(spelt("a", TEXTS, text))
    assert refused.value.column == "a"
    assert str(refused.value) == (
        f"The column a limits lengths by {text!r}, which this program does not check: {why}. "
        "Write to the table with its own engine."
    )


@pytest.mark.parametrize(("hidden", "matched", "left"), [(0, 3, 2), (1, 3, 1), (2, 3, 0), (3, 3, -1), (0, 0, 5)])
def test_a_file_is_emptied_where_no_row_is_left(hidden: int, matched: int, left: int) -> None:
    rows = [np.arange(count, dtype=np.uint64) for count in (hidden, matched)]
    found = Touched(small_logs.add("a"), 5, *rows)
    assert (found.rows_left, found.is_emptied) == (left, left <= 0)


IDENTITY = protocol(1, 6)


def counted(step: int, *files: Any, mark: int | None = None, start: int = 1) -> explorer.Snapshot:
    keys: dict[str, Any] = {"delta.identity.start": start, "delta.identity.step": step}
    keys |= {"delta.identity.allowExplicitInsert": True}
    keys |= {} if mark is None else {"delta.identity.highWaterMark": mark}
    return snapshot(
        *files, rules=IDENTITY, schema=json.dumps(struct(column("id", "long", **keys), column("x", "long")))
    )


def within(path: str, low: int | None, high: int | None, *, nulls: int = 0, wide: bool = False) -> dict[str, Any]:
    stats: dict[str, Any] = {"numRecords": 3, "nullCount": {"id": nulls}}
    stats |= {} if low is None else {"minValues": {"id": low}, "maxValues": {"id": high}}
    stats |= {"tightBounds": False} if wide else {}
    file = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    return {"add": {**file, "stats": json.dumps(stats)}}


def _lines(*files: dict[str, Any]) -> list[bytes]:
    return [json.dumps(file).encode() for file in files]


@pytest.mark.parametrize(
    ("step", "files", "found"),
    [
        (1, [], (True, None)),
        (1, [within("a", 1, 7), within("b", -3, 5)], (True, 7)),
        (-1, [within("a", 1, 7), within("b", -3, 5)], (True, -3)),
        (1, [within("a", 1, 7), within("b", None, None, nulls=3)], (True, 7)),
        (1, [within("a", None, None, nulls=3)], (True, None)),
        (1, [within("a", 1, 7), within("b", None, None, nulls=2)], (False, None)),
        (1, [within("a", 1, 7), within("b", 8, 9, wide=True)], (False, None)),
        (1, [within("a", None, None, nulls=3, wide=True)], (False, None)),
    ],
)
def test_the_furthest_value_is_that_of_the_statistics_where_they_give_it(
    step: int, files: list[dict[str, Any]], found: tuple[bool, int | None]
) -> None:
    before = counted(step, *_lines(*files))
    assert recorded_extreme(before, "ID") == found
    assert counts_up(before, "id") is (step > 0)


@pytest.mark.parametrize(
    ("step", "mark", "extreme", "moved", "detail"),
    [
        (3, None, 7, 7, "The mark moves to 7; the next value made is 10."),
        (3, 4, 8, 10, "The mark moves to 10; the next value made is 13."),
        (3, 10, 8, None, "No value is beyond the mark: the commit would change nothing."),
        (3, None, 0, None, "No value is beyond the mark: the commit would change nothing."),
        (3, None, None, None, "No value is beyond the mark: the commit would change nothing."),
        (-2, -3, -4, -5, "The mark moves to -5; the next value made is -7."),
        (-2, -5, -4, None, "No value is beyond the mark: the commit would change nothing."),
    ],
)
def test_a_mark_moves_to_the_first_value_at_or_beyond_the_furthest(
    step: int, mark: int | None, extreme: int | None, moved: int | None, detail: str
) -> None:
    made = sync_identity(SyncIdentity(column="Id"), counted(step, mark=mark), extreme)
    [guard] = made.guards
    fields = {"column": "id", "start": 1, "step": step, "highWaterMark": mark, "furthest value": extreme}
    more = {} if moved is None else {"new mark": moved}
    assert guard.evidence == {**fields, **more, "detail": detail}
    assert (guard.name, guard.status) == ("identity-mark", "fail" if moved is None else "pass")
    assert guard.remedy == ("There is nothing to do." if moved is None else None)
    assert made.metadata is not None
    [first, _] = json.loads(made.metadata.schema_string or "")["fields"]
    assert first["metadata"].get("delta.identity.highWaterMark") == (mark if moved is None else moved)
    assert (made.operation, made.is_blind_append, made.reads_files) == ("CHANGE COLUMN", False, True)
    assert list(made.tags.values()) == ["true"]
    assert made.undo == "A mark does not go back; skipped values stay unused."


def test_no_mark_is_moved_to_where_no_value_is_left() -> None:
    most = 2**63 - 1
    [guard] = sync_identity(SyncIdentity(column="id"), counted(1, start=most), most).guards
    assert (guard.status, guard.remedy) == ("fail", "Drop the column and add it again.")
    assert guard.evidence["detail"] == (
        f"The mark would be {most}, and no value of the type long is left beyond it (IDENT-006)."
    )


CREATED = struct(
    column("Day", "date"), column("a b", "string"), column("v", "variant"), column("s", struct(column("x", "long")))
)


def created(*names: str) -> Any:
    place = new_table(f"memory://partitioned-{abs(hash(names))}")
    asked = {"kind": "create-table", "schema": CREATED, "partitionColumns": list(names)}
    return place.plan(asked)


def test_partition_columns_have_the_spelling_of_the_schema() -> None:
    [metadata] = [line["metaData"] for line in created("DAY", "`a b`").actions if "metaData" in line]
    assert metadata["partitionColumns"] == ["Day", "a b"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["gone"], "The partition column 'gone' is not a top-level column of the table. Columns: Day, a b, v, s."),
        (["s.x"], "The partition column 's.x' is not a top-level column of the table. Columns: Day, a b, v, s."),
        (["Day", "DAY"], "The partition column 'Day' is named twice."),
        (["v"], "The column 'v' has a type that a partition column cannot have."),
        (["s"], "The column 's' has a type that a partition column cannot have."),
    ],
)
def test_what_cannot_be_a_partition_column_is_refused(names: list[str], said: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        created(*names)
    assert (str(refused.value), refused.value.field) == (said, "partitionColumns")
    assert refused.value.allowed == (["Day", "a b", "v", "s"] if "top-level" in said else None)


def test_not_every_column_is_a_partition_column() -> None:
    place = new_table("memory://all-partitioned")
    with pytest.raises(InvalidIntent, match=r"^Not every column can be a partition column \(META-007\)\.$") as refused:
        place.plan({"kind": "create-table", "schema": struct(column("a", "long")), "partitionColumns": ["a"]})
    assert refused.value.field == "partitionColumns"


def test_every_protocol_that_a_commit_meets_must_allow_this_writer() -> None:
    plain, odd = small_logs.PROTOCOL, Protocol(min_reader_version=1, min_writer_version=7, writer_features=("zeta",))
    passed = protocol_guard([plain])
    assert (passed.name, passed.status, passed.remedy) == ("protocol-allows-writer", "pass", None)
    assert passed.evidence == {
        "minReaderVersion": 1,
        "minWriterVersion": 2,
        "features": ["appendOnly", "invariants"],
        "detail": "This program writes such tables.",
    }
    for protocols, shown in (([odd, plain], (1, 2)), ([plain, odd], (1, 7))):
        found = protocol_guard(protocols)
        assert (found.name, found.status) == ("protocol-allows-writer", "fail")
        assert found.remedy == "Make the change with an engine that implements these features."
        assert (found.evidence["minReaderVersion"], found.evidence["minWriterVersion"]) == shown
        assert found.evidence["missing"] == ["zeta"]
        assert found.evidence["detail"] == "This program does not write tables with zeta."


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ((9, 0), (9, 4), (4, 5)),
        ((9, 4), (9, 1), (0, 8)),
        ((9, 2), (9, 2), (0, 5)),
        ((None, 0), (None, 3), (None, None)),
    ],
)
def test_rows_that_come_back_and_go_are_those_that_differ(
    then: tuple[int | None, int], now: tuple[int | None, int], said: tuple[int | None, int | None]
) -> None:
    def file(records: int | None, masked: int) -> Any:
        return small_logs.add("a", records, vector=small_logs.vector(f"v{masked}", masked) if masked else None)

    store = small_logs.new_store()
    for key in ("a", "b"):
        store.put(key, b"x")
    changed = [] if then == now else [small_logs.remove("a", vector=file(*then).deletion_vector), file(*now)]
    commits = {0: [small_logs.MASKED, small_logs.METADATA, file(*then)], 1: [*changed, small_logs.add("b", 5)]}
    plan = small_logs.table(commits, store).plan({"kind": "restore", "version": 0})
    [found] = [guard.evidence for guard in plan.guards if guard.name == "restore"]
    assert (found["rowsBack"], found["rowsGone"]) == said
