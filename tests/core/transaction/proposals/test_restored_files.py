"""A restore and the tombstones of vectors: files that come and go, metadata that stays, and moments of expiry."""

from __future__ import annotations

import json
import uuid
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.protocol.actions import DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, Remove
from explorer.core.protocol.deletion_vectors import z85_encode
from explorer.core.transaction.guards.restore import UndoneCommit
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.new_files.file_actions import _of_checkpoint, vector_tombstones
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals.restore import restore
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_logs import add, remove, vector
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import field, mapped, struct

NOW = 1_700_000_000_000
PRESENT = Circumstances(now=NOW, new_id=lambda: "fresh")
MASKED = small_logs.MASKED
PLAIN = struct(field("id", "long"))
TIMES = "delta.enableInCommitTimestamps"
SINCE = {"delta.inCommitTimestampEnablementVersion": "1", "delta.inCommitTimestampEnablementTimestamp": "5"}
ROW_IDS = "delta.rowTracking.materializedRowIdColumnName"
HIGHEST = "delta.columnMapping.maxColumnId"


def described(kind: dict[str, Any] = PLAIN, **more: Any) -> Metadata:
    return msgspec.structs.replace(small_logs.METADATA, schema_string=json.dumps(kind, separators=(",", ":")), **more)


def restored(*commits: Any, unknown: Any = None, rules: Protocol = MASKED, **asked: Any) -> Proposal:
    """What a restore of version 0 proposes on top of the last of the commits."""
    table = small_logs.table(dict(enumerate([[rules, *commits[0]], *commits[1:]])))
    intent = Restore(**(asked or {"version": 0}))
    undone = (UndoneCommit(1, "DELETE", "ana"),)
    return restore(intent, table.snapshot(), table.snapshot(0), unknown or {}, PRESENT, undone=undone)


@pytest.mark.parametrize("asked", [{"version": 0}, {"timestamp": "2026-01-01T00:00:00Z"}])
def test_a_restore_is_said_whole(asked: dict[str, Any]) -> None:
    far = DeletionVectorDescriptor("p", "file:///far/v%201.bin", 34, 2, 1)
    near = DeletionVectorDescriptor("u", f"ab{z85_encode(b'a' * 16)}", 34, 3, 1)
    inline = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)
    then = [
        add("stays", 9, size=1),
        add("d%20e", 9, size=10, vector=near),
        add("masked", 9, size=20, vector=far),
        add("inline", 9, size=40, vector=inline),
        add("unmasked", 9, size=80),
    ]
    gone = [remove("d%20e", vector=near), remove("masked", vector=far), remove("inline", vector=inline)]
    new = [add("unmasked", 9, size=80, vector=far), add("masked", 9, size=20), add("new", 4, size=7)]
    more = [remove("unmasked"), *new]
    metadata = described(configuration={"own": "1"})
    later = msgspec.structs.replace(metadata, configuration={"own": "2"}, description="later")
    made = restored([metadata, *then], [*gone, later], more, unknown={("d e", near.unique_id): {"house": 7}}, **asked)
    [guard] = made.guards
    assert (guard.name, guard.status, guard.evidence["filesBack"], guard.evidence["filesGone"]) == (
        "restore",
        "warn",
        2,
        1,
    )
    assert guard.evidence["undone"] == [{"version": 1, "operation": "DELETE", "user": "ana"}]
    assert guard.evidence["propertiesChanged"] == ["own"]
    came = list(then[1:])
    came[0] = msgspec.structs.replace(came[0], unknown={"house": 7})
    assert msgspec.structs.replace(made, guards=()) == Proposal(
        operation="RESTORE",
        parameters={"version": asked.get("version"), "timestamp": asked.get("timestamp")},
        metadata=metadata,
        protocol=MASKED,
        adds=tuple(came),
        removes=tuple(
            Remove(
                path=file.path,
                deletion_timestamp=NOW,
                extended_file_metadata=True,
                partition_values={},
                size=file.size,
                stats=file.stats,
                deletion_vector=file.deletion_vector,
            )
            for file in new
        ),
        metrics={
            "numRestoredFiles": "4",
            "restoredFilesSize": "150",
            "numRemovedFiles": "3",
            "removedFilesSize": "107",
            "numOfFilesAfterRestore": "5",
            "tableSizeAfterRestore": "151",
        },
        is_blind_append=False,
        reads_files=True,
        required_paths=(
            *("d e", "masked", "inline", "unmasked", "/far/v 1.bin"),
            f"ab/deletion_vector_{uuid.UUID(bytes=b'a' * 16)}.bin",
        ),
        change_feed="The change data feed stays off.",
        undo="Restore version 2, as long as its files are not vacuumed.",
    )


def test_an_empty_version_is_restored_with_sizes_of_nothing() -> None:
    made = restored([described()], [add("a", 2, size=7)])
    assert made.metrics["restoredFilesSize"] == made.metrics["tableSizeAfterRestore"] == "0"
    assert (made.metrics["numRestoredFiles"], made.metrics["removedFilesSize"]) == ("0", "7")


def test_files_that_come_back_get_row_ids_above_the_mark_and_keep_those_they_had() -> None:
    rules = protocol(1, 7, w="rowTracking domainMetadata")
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":20}')
    had = add("had", 3, base_row_id=4, default_row_commit_version=1)
    table = small_logs.table(
        {0: [small_logs.PROTOCOL, described(), had, add("bare", 5)], 1: [rules, mark, remove("had"), remove("bare")]}
    )
    made = restore(Restore(version=0), table.snapshot(), table.snapshot(0), {}, PRESENT)
    assert [(file.path, file.base_row_id, file.default_row_commit_version) for file in made.adds] == [
        ("had", 4, 1),
        ("bare", 21, 2),
    ]
    [domain] = made.domains
    assert json.loads(domain.configuration) == {"rowIdHighWaterMark": 25, "domainName": "delta.rowTracking"}
    assert made.protocol == protocol(1, 7, w="domainMetadata rowTracking appendOnly invariants")


@pytest.mark.parametrize(
    ("then", "now", "after"),
    [
        ({TIMES: "true", **SINCE}, {TIMES: "true"}, {TIMES: "true"}),
        ({TIMES: "true"}, {TIMES: "true", **SINCE}, {TIMES: "true", **SINCE}),
        ({TIMES: "true", **SINCE}, {TIMES: "false"}, {TIMES: "true", **SINCE}),
        ({"own": "1"}, {TIMES: "true", **SINCE}, {"own": "1"}),
        ({HIGHEST: "3"}, {HIGHEST: "7"}, {HIGHEST: "7"}),
        ({HIGHEST: "7"}, {HIGHEST: "3"}, {HIGHEST: "7"}),
        ({HIGHEST: "7"}, {}, {HIGHEST: "7"}),
        ({}, {HIGHEST: "7"}, {}),
        (
            {ROW_IDS: "i"},
            {},
            {ROW_IDS: "i"},
        ),
        ({}, {ROW_IDS: "i"}, {}),
    ],
)
def test_properties_come_back_except_those_that_only_grow(
    then: dict[str, str], now: dict[str, str], after: dict[str, str]
) -> None:
    made = restored([described(configuration=then)], [described(configuration=now)])
    assert made.metadata == described(configuration=after)


@pytest.mark.parametrize(
    ("now", "flag", "after"),
    [
        (["a", "b"], "false", "false"),
        (["a"], "false", "false"),
        (["a", "b", "c"], "false", "true"),
        (["a", "b"], None, "true"),
        (["a"], "true", "true"),
    ],
)
def test_whether_a_column_was_dropped_or_renamed_stays_on_record(now: list[str], flag: str | None, after: str) -> None:
    mode, used = {"delta.columnMapping.mode": "name"}, "delta.columnMapping.hasDroppedOrRenamed"
    rules = protocol(2, 7, w="columnMapping columnMappingUsageTracking")
    then = described(mapped(struct(field("a"), field("b"))), configuration={**mode, used: "false"})
    own = mode if flag is None else {**mode, used: flag}
    made = restored([then], [described(mapped(struct(*map(field, now))), configuration=own)], rules=rules)
    assert made.metadata is not None
    assert made.metadata.configuration[used] == after


def counting(name: str, mark: int | None, step: Any = 2, physical: str = "col-1") -> dict[str, Any]:
    keys: dict[str, Any] = {"delta.columnMapping.physicalName": physical, "delta.identity.step": step}
    return field(name, "long", metadata={**keys, **({} if mark is None else {"delta.identity.highWaterMark": mark})})


@pytest.mark.parametrize(
    ("then", "now", "mark"),
    [
        (counting("i", 4), counting("renamed", 8), 8),
        (counting("i", 8), counting("i", 4), 8),
        (counting("i", None), counting("i", 4), 4),
        (counting("i", 4), counting("i", None), 4),
        (counting("i", None), counting("i", None), None),
        (counting("i", 4, -2), counting("i", 8, -2), 4),
        (counting("i", 4), counting("i", 8, physical="col-2"), 4),
        (counting("i", 4, None), counting("i", 8), 4),
    ],
)
def test_the_mark_of_an_identity_column_is_the_furthest(then: Any, now: Any, mark: int | None) -> None:
    made = restored([described(struct(field("x"), then))], [described(struct(now, field("x")))])
    own = {**then["metadata"], **({} if mark is None else {"delta.identity.highWaterMark": mark})}
    assert made.metadata == described(struct(field("x"), {**then, "metadata": own}))


def test_a_schema_that_stays_is_written_as_it_was() -> None:
    text = json.dumps(PLAIN, indent=1)
    then = msgspec.structs.replace(described(), schema_string=text)
    made = restored([then], [described(struct(field("other")))])
    assert made.metadata == then


@pytest.mark.parametrize(
    ("then", "now", "after"),
    [("1", "2", ("1", False)), ("1", None, ("1", False)), (None, "2", ("2", True)), (None, None, None)],
)
def test_clustering_comes_back_with_the_layout_and_other_domains_stay(
    then: str | None, now: str | None, after: tuple[str, bool] | None
) -> None:
    def domain(text: str, *, removed: bool = False) -> DomainMetadata:
        return DomainMetadata(domain="delta.clustering", configuration=text, removed=removed)

    rules = protocol(1, 7, w="domainMetadata clustering")
    first = [described(), *([] if then is None else [domain(then)])]
    gone = [] if then is None else [domain(then, removed=True)]
    second = [DomainMetadata(domain="app", configuration="x"), *(gone if now is None else [domain(now)])]
    made = restored(first, second, rules=rules)
    assert made.domains == (() if after is None else (domain(after[0], removed=after[1]),))


FEED = "delta.enableChangeDataFeed"


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (None, None, "The change data feed stays off."),
        ("false", "true", "The change data feed ends with version 1: it is off after the restore."),
        ("true", "false", "The change data feed is on again from version 2 on."),
        ("true", "true", "Rows of files that come back appear as inserted, rows of files that go as deleted."),
    ],
)
def test_what_becomes_of_the_change_feed_is_said(then: str | None, now: str | None, said: str) -> None:
    both = [described(configuration={} if value is None else {FEED: value}) for value in (then, now)]
    assert restored([both[0]], [both[1]]).change_feed == said
    if then == now == "true":
        odd = restored([both[0]], [described(configuration={FEED: "maybe"})]).change_feed or ""
        assert odd.startswith("It is not known whether the change data feed is on: The table property")


# --- tombstones of vectors --------------------------------------------------------------------------------------------

DAY = 86_400_000
FAR_NAME = f"deletion_vector_{uuid.UUID(bytes=b'b' * 16)}.bin"


def beside(prefix: str, letter: str = "b") -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor("u", prefix + z85_encode(letter.encode() * 16), 34, 1, 1)


def tombstones(*gone: Remove, checkpoint: bool, **properties: str) -> list[dict[str, Any]]:
    first: list[Any] = [MASKED, described(configuration=properties), *gone]
    if checkpoint:
        table = begun_late({0: [MASKED, described()], 1: []}, 1, first)
    else:
        table = small_logs.table({0: [MASKED, described(configuration=properties)], 1: gone})
    carried = carry_actions(table.store, list_log(table.store).segment())
    return [found.to_wire() for found in vector_tombstones(carried, NOW)]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_files_of_vectors_get_a_tombstone_until_the_removal_that_names_them_expires(checkpoint: bool) -> None:
    gone = [
        remove("a", vector=beside("x y"), deletion_timestamp=NOW - 2 * DAY + 1),
        remove("b", vector=beside(""), deletion_timestamp=NOW),
        remove("c", vector=beside("late"), deletion_timestamp=NOW - 2 * DAY),
        remove("d", vector=beside("gone"), deletion_timestamp=NOW),
        remove(f"gone/{FAR_NAME}", deletion_timestamp=NOW),
        remove("e", vector=vector("far"), deletion_timestamp=NOW),
        remove("f", vector=beside("", "c"), deletion_timestamp=NOW),
    ]
    found = tombstones(*gone, checkpoint=checkpoint, **{"delta.deletedFileRetentionDuration": "interval 2 days"})
    other = f"deletion_vector_{uuid.UUID(bytes=b'c' * 16)}.bin"
    paths = sorted([FAR_NAME, other, f"x y/{FAR_NAME}"])
    assert found == [
        {"path": path.replace(" ", "%20"), "deletionTimestamp": NOW, "dataChange": False} for path in paths
    ]


def test_a_removal_without_a_time_has_expired() -> None:
    gone = msgspec.structs.replace(remove("a", vector=beside("")), deletion_timestamp=None)
    assert tombstones(gone, checkpoint=False) == []


def test_tombstones_of_a_checkpoint_may_lack_times_or_vectors() -> None:
    paths = pa.array(["a", "b"])
    times = pa.array([5, 6])
    untimed = pa.StructArray.from_arrays([paths], names=["path"])
    assert list(_of_checkpoint(untimed, 0)) == []
    bare = pa.StructArray.from_arrays([paths, times], names=["path", "deletionTimestamp"])
    assert list(_of_checkpoint(bare, 5)) == [("b", None)]
