"""What is gathered before a proposal: batches that the table holds, carried fields, values of rows, log marks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import msgspec
import pytest

import explorer
from explorer.core.errors import EngineUnavailable
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, TransactionAction
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import Append, CreateTable, Delete
from explorer.core.transaction.new_files.file_actions import carried, unknown_fields
from explorer.core.transaction.preparation import prepared, prepared_creation
from explorer.core.transaction.proposal import GuardResult, Proposal, RecordedBatch, Writing, Written
from explorer.core.transaction.row_preparation.proposer import once, recorded_by, recorded_proposal
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late, write_checkpoint
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.spark_tables import column, struct

FIRST = (small_logs.PROTOCOL, small_logs.METADATA)
LISTED = protocol(3, 7, r="deletionVectors", w="deletionVectors")


class Rows:
    """An engine that knows one number, and judges types as it was told."""

    def __init__(self, value: int | None = None, verdict: GuardResult | None = None) -> None:
        self.value, self.verdict = value, verdict
        self.asked: list[tuple[Any, ...]] = []

    def extreme(self, log: object, version: explorer.Snapshot, name: str, *, greatest: bool) -> int | None:
        self.asked.append((log, version, name, greatest))
        return self.value

    def column_types(self, schema: StructType, expressions: Mapping[str, str]) -> GuardResult:
        self.asked.append((schema, dict(expressions)))
        if self.verdict is None:
            raise EngineUnavailable("There is no Java here.")
        return self.verdict


def context(rows: Any = None, now: int = 77) -> Context:
    numbers = itertools.count(1)
    return Context(
        clock=lambda: now, new_uuid=lambda: UUID(int=next(numbers)), sleep=lambda _: None, chance=lambda: 0.0,
        engine_info="house/1", rows=rows,
    )  # fmt: skip


def batch(version: int, app: str = "loader") -> TransactionAction:
    return TransactionAction(app_id=app, version=version)


def written(table: explorer.Table, version: int, now: int = 5, made: Proposal | None = None) -> Proposal:
    wish = Append(source="s", txn_app_id="loader", txn_version=version)
    plain = Proposal(operation="WRITE", parameters={"mode": "Append"}) if made is None else made
    return once(table, wish, lambda _: plain, now)(table.snapshot())


@pytest.mark.parametrize(("held", "newest"), [([], None), ([batch(9, "other")], None), ([batch(1)], 1)])
def test_a_batch_that_the_table_does_not_hold_is_recorded_with_its_rows(
    held: list[TransactionAction], newest: int | None
) -> None:
    table = small_logs.table({0: [*FIRST, *held]})
    own, other = GuardResult("own", "pass", {}), batch(3, "third")
    made = written(table, 2, made=Proposal(operation="WRITE", parameters={}, guards=(own,), transactions=(other,)))
    detail = f"The table does not hold batch 2 of the application 'loader'; its newest is {newest}."
    evidence = {"appId": "loader", "version": 2, "newest": newest, "detail": detail}
    guard = GuardResult("batch-is-new", "pass", evidence)
    recorded = TransactionAction(app_id="loader", version=2, last_updated=5)
    assert made == Proposal(
        operation="WRITE", parameters={}, transactions=(other, recorded), guards=(guard, own), writing=None
    )


def test_a_batch_is_recorded_too_once_its_files_are_written() -> None:
    full = Proposal(operation="WRITE", parameters={}, adds=(small_logs.add("b"),))

    def write() -> Written:
        return Written((), rows=3)

    made = written(
        small_logs.table({0: FIRST}),
        2,
        made=Proposal(operation="WRITE", parameters={}, writing=Writing(write, lambda _: full)),
    )
    assert made.writing is not None
    assert made.writing.write is write
    complete = made.writing.complete(Written(()))
    assert (complete.adds, complete.transactions, complete.writing) == (full.adds, made.transactions, None)
    assert complete.guards == made.guards


def test_an_intent_without_a_batch_is_proposed_as_it_is() -> None:
    table = small_logs.table({0: FIRST})
    for intent in (Append(source="s"), Delete(where="a")):

        def propose(_: explorer.Snapshot) -> Proposal:
            return Proposal(operation="WRITE", parameters={})

        assert once(table, intent, propose, 5) is propose


@pytest.mark.parametrize(
    ("commits", "version", "found"),
    [
        ({0: [batch(2)]}, 2, 0),
        ({0: [], 1: [batch(2)], 2: [batch(3)]}, 2, 1),
        ({0: [], 1: [batch(2)], 2: [], 3: [batch(2, "other")]}, 2, 1),
        ({0: [], 1: [batch(2)], 2: [], 3: [batch(2)], 4: []}, 2, 3),
        ({0: [], 1: [batch(1)], 2: [batch(9)]}, 2, None),
        ({version: [batch(2)] if version == 0 else [] for version in range(101)}, 2, 0),
        ({version: [batch(2)] if version == 1 else [] for version in range(202)}, 2, 1),
        ({version: [batch(2)] if version == 101 else [] for version in range(202)}, 2, 101),
        ({version: [batch(2)] if version == 102 else [] for version in range(202)}, 2, 102),
    ],
)
def test_a_batch_that_the_table_holds_is_told_with_the_version_that_wrote_it(
    commits: dict[int, list[TransactionAction]], version: int, found: int | None
) -> None:
    table = small_logs.table({key: [*(FIRST if key == 0 else ()), *lines] for key, lines in commits.items()})
    newest = table.snapshot().transactions["loader"]
    made = written(table, version)
    assert made == recorded_proposal(RecordedBatch("loader", version, newest, found))


def test_a_batch_whose_commit_was_cleaned_up_is_held_all_the_same() -> None:
    live: list[Action] = [*FIRST, batch(2)]
    table = begun_late({0: live, 1: [small_logs.add("a")]}, 1, [*live, small_logs.add("a")])
    assert written(table, 2).recorded == RecordedBatch("loader", 2, 2, None)


def test_a_batch_that_is_there_writes_nothing_and_says_where_it_is() -> None:
    held = RecordedBatch("loader", 2, 3, 7)
    evidence = {"appId": "loader", "version": 2, "newest": 3, "writtenAt": 7, "detail": held.detail}
    guard = GuardResult("batch-is-new", "warn", evidence, "There is nothing left to do.")
    assert recorded_proposal(held) == Proposal(
        operation="WRITE", parameters={}, recorded=held, guards=(guard,), undo="Nothing is written."
    )


def first(*lines: TransactionAction) -> Commit:
    return decode_commit(small_logs.lines([small_logs.commit_info("WRITE"), *lines]), 7, "_delta_log/7.json")


@pytest.mark.parametrize(
    ("lines", "reads", "found"),
    [
        ([batch(2)], (), RecordedBatch("loader", 2, 2, 7)),
        ([batch(3)], (), RecordedBatch("loader", 2, 3, None)),
        ([batch(1)], (), None),
        ([batch(2, "other")], (), None),
        ([], (), None),
        ([batch(5, "other"), batch(1), batch(4)], (), RecordedBatch("loader", 2, 4, None)),
        ([batch(2)], ("loader",), None),
        ([batch(2)], ("other",), RecordedBatch("loader", 2, 2, 7)),
    ],
)
def test_another_writer_may_have_recorded_the_batch_first(
    lines: list[TransactionAction], reads: tuple[str, ...], found: RecordedBatch | None
) -> None:
    made = Proposal(operation="WRITE", parameters={}, transactions=(batch(2),), read_applications=reads)
    assert recorded_by(first(*lines), made) == found


def file(path: str, **more: Any) -> bytes:
    known = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    return json.dumps({"add": {**known, **more}}).encode()


def test_what_is_carried_on_is_that_of_the_version() -> None:
    table = small_logs.table({0: [*FIRST, file("a", house=7)], 1: [file("b", house=8)], 2: [small_logs.remove("a")]})
    assert unknown_fields(table, table.snapshot(0)) == {("a", None): {"house": 7}}
    assert unknown_fields(table, table.snapshot(1)) == {("a", None): {"house": 7}, ("b", None): {"house": 8}}
    assert unknown_fields(table, table.snapshot(2)) == {("b", None): {"house": 8}}
    assert [carried(table, table.snapshot(version)).version for version in (0, 2)] == [0, 2]


def evidence(table: explorer.Table, intent: dict[str, Any], guard: str, rows: Any = None) -> Mapping[str, Any]:
    made = prepared(table, parse_intent(intent), context(rows))(table.snapshot())
    (found,) = (each for each in made.guards if each.name == guard)
    return found.evidence


@pytest.mark.parametrize(("last", "versions"), [(3, [3, 2, 1]), (20, range(20, 0, -1)), (25, range(25, 5, -1))])
def test_of_the_commits_that_a_restore_undoes_the_newest_are_listed(last: int, versions: Iterable[int]) -> None:
    named = {each: [small_logs.commit_info(f"OP {each}", user_name=f"user {each}")] for each in range(2, last + 1)}
    table = small_logs.table({0: FIRST, 1: [small_logs.add("a")], **named})
    undone = evidence(table, {"kind": "restore", "version": 0}, "restore")["undone"]
    expected = [
        {"version": each, "operation": f"OP {each}" if each > 1 else None, "user": f"user {each}" if each > 1 else None}
        for each in versions
    ]
    assert undone == expected


COUNTED = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}


@pytest.mark.parametrize(("step", "stats", "asks"), [(1, True, False), (1, False, True), (-1, False, True)])
def test_the_engine_is_asked_for_a_value_only_where_statistics_do_not_tell_it(
    step: int, stats: bool, asks: bool
) -> None:
    bounds = {"id": (1, 5)} if stats else None
    schema = json.dumps(struct(column("id", "long", **{**COUNTED, "delta.identity.step": step})))
    metadata = msgspec.structs.replace(small_logs.METADATA, schema_string=schema)
    table = small_logs.table({0: [protocol(1, 6), metadata, small_logs.add("a", 3, bounds=bounds)]})
    engine = Rows(value=9)
    found = evidence(table, {"kind": "sync-identity", "column": "ID"}, "identity-mark", engine)
    assert found["furthest value"] == (9 if asks else 5)
    assert [(asked[0], asked[2:]) for asked in engine.asked] == ([(table, ("ID", step > 0))] if asks else [])
    assert all(asked[1].version == 0 for asked in engine.asked)
    if asks:
        with pytest.raises(EngineUnavailable, match=r"^sync-identity needs a row engine"):
            evidence(table, {"kind": "sync-identity", "column": "id"}, "identity-mark")


def _checkpointed(rules: Any, *shapes: tuple[int, Any]) -> explorer.Table:
    live: list[Any] = [rules, small_logs.METADATA]
    table = small_logs.table({0: live, 1: [small_logs.commit_info()], 2: [small_logs.commit_info()]})
    for version, shape in shapes:
        write_checkpoint(table.store, version, live, shape)
    return explorer.Table(table.store)


@pytest.mark.parametrize(
    ("shapes", "newest", "said"),
    [
        ([], None, "Version 2 has no checkpoint; a client without v2Checkpoint would read commits that use it."),
        ([(1, "classic")], 1,
         "Version 2 has no checkpoint; a client without v2Checkpoint would read commits that use it."),
        ([(1, "v2-json"), (2, "classic")], 2, None),
        ([(1, "classic"), (2, "v2-json")], 2, "The newest checkpoint itself needs the feature."),
    ],
)  # fmt: skip
def test_a_dropped_feature_is_judged_by_the_newest_checkpoint(
    shapes: list[tuple[int, Any]], newest: int | None, said: str | None
) -> None:
    table = _checkpointed(protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint"), *shapes)
    found = evidence(table, {"kind": "drop-feature", "feature": "V2Checkpoint"}, "history-barrier")
    assert (found["newestCheckpoint"], found["version"]) == (newest, 2)
    assert said is None or found["detail"] == said


@pytest.mark.parametrize(("gone", "first_commit"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_a_dropped_protection_is_judged_by_the_first_commit_that_is_left(gone: int, first_commit: int) -> None:
    table = _checkpointed(protocol(1, 7, w="checkpointProtection"), (2, "classic"))
    for version in range(gone):
        table.store.delete(commit_name(version))
    late = explorer.Table(table.store)
    found = evidence(late, {"kind": "drop-feature", "feature": "checkpointProtection"}, "protected-history")
    assert found["firstCommit"] == first_commit


def test_files_of_dropped_features_keep_what_is_unknown_and_their_vectors_become_tombstones() -> None:
    tracked = protocol(1, 7, w="rowTracking domainMetadata")
    table = small_logs.table({0: [tracked, small_logs.METADATA, file("a", house=7, baseRowId=0)]})
    for name in ("rowTracking", "ROWTRACKING"):
        made = prepared(table, parse_intent({"kind": "drop-feature", "feature": name}), context())(table.snapshot())
        assert [(add.path, add.base_row_id, add.unknown) for add in made.adds] == [("a", None, {"house": 7})]
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    masked = file("b", deletionVector={**vector, "cardinality": 6})
    gone = {"path": "b", "dataChange": True, "deletionTimestamp": 70, "deletionVector": {**vector, "cardinality": 6}}
    kept = small_logs.table({0: [LISTED, small_logs.METADATA, masked], 1: [json.dumps({"remove": gone}).encode()]})
    made = prepared(kept, parse_intent({"kind": "drop-feature", "feature": "DELETIONvectors"}), context())(
        kept.snapshot()
    )
    assert [(each.path, each.deletion_timestamp, each.data_change) for each in made.removes] == [
        ("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", 77, False)
    ]


@pytest.mark.parametrize(("source", "rows"), [("s", None), (None, object()), ("s", object())])
def test_a_table_that_begins_with_rows_needs_an_engine(source: str | None, rows: object) -> None:
    wish = CreateTable(schema=COMPUTED, source=source)
    with pytest.raises(EngineUnavailable, match=r"^create-table needs a row engine"):
        prepared_creation(small_logs.new_store(), wish, context(), rows, check_types=True)


COMPUTED = struct(column("a", "long"), column("g", "long", **{"delta.generationExpression": "a + 1"}))


def created(engine: Any, *, check_types: bool, schema: Any = COMPUTED) -> list[GuardResult]:
    make = prepared_creation(
        small_logs.new_store(), CreateTable(schema=schema), context(engine), check_types=check_types
    )
    made = make(None)
    assert make(snapshot()) is made
    return [guard for guard in made.guards if guard.name == "generated-types"]


def test_types_of_generated_columns_are_judged_by_the_engine() -> None:
    verdict = GuardResult("generated-types", "pass", {"detail": "They fit."})
    engine = Rows(verdict=verdict)
    assert created(engine, check_types=True) == [verdict]
    [(schema, expressions)] = engine.asked
    assert [each.name for each in schema.fields] == ["a", "g"]
    assert expressions == {"g": "a + 1"}
    unseen = "Nothing has checked that the expressions give the types of their columns."
    for left in (created(engine, check_types=False), created(None, check_types=True)):
        assert [(guard.status, guard.evidence["detail"]) for guard in left] == [("unknown", unseen)]
    assert len(engine.asked) == 1
    assert created(engine, check_types=True, schema=struct(column("a", "long"))) == []
    assert len(engine.asked) == 1
    facts = {"expressions": {"g": "a + 1"}, "detail": "There is no Java here."}
    remedy = "Install Java, or accept this guard by name."
    assert created(Rows(), check_types=True) == [GuardResult("generated-types", "unknown", facts, remedy)]
