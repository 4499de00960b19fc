"""What VACUUM may free and what it took, and how long versions and changes last: by the log and by the folder."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from explorer.core.protocol.actions import AddCDCFile, DeletionVectorDescriptor, Protocol, Remove
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.deletion_vectors import z85_encode
from explorer.core.versions.provenance import CommitRecord
from explorer.core.versions.retention.expiry import FOREVER
from explorer.core.versions.retention.readable_until import (
    FILE_STATES,
    FolderScan,
    Freed,
    ReadableUntil,
    TakenFiles,
    feed_readable_until,
    freed_by_log,
    freed_by_scan,
    recorded_by_log,
    recorded_by_scan,
    written,
)
from explorer.core.versions.retention.version_states import RecordedVacuum, VersionRisks
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, commit_info

ROWS: list[tuple[str, int | None, int, str, int | None]] = [
    ("live", 10, 5, "live", None),
    ("gone", 20, 5, "removed", 9),
    ("late", None, 50, "removed", 9),
    ("change", 40, 7, "changes", 8),
    ("orphan", 50, 6, "orphan", None),
    (".orphan.crc", 60, 6, "orphan", 11),
    ("kept", 70, 3, "removed", None),
]


def look_of(rows: list[tuple[str, int | None, int, str, int | None]], **more: Any) -> FolderScan:
    kinds = {"size": pa.int64(), "modified": pa.int64(), "needed_until": pa.int64()}
    names = ("path", "size", "modified", "state", "needed_until")
    columns = {
        name: pa.chunked_array(
            [pa.array([row[place] for row in part], kinds.get(name, pa.string())) for part in (rows[:2], rows[2:])]
        )
        for place, name in enumerate(names)
    }
    return FolderScan(pa.table(columns), **{"missing": frozenset(), "changes": {}, **more})


def test_a_file_in_the_folder_is_old_once_nothing_needs_it_and_it_was_written() -> None:
    look = look_of(ROWS)
    assert look.old_from.tolist() == [FOREVER, 9, 50, 8, 6, 11, FOREVER]
    assert {state: look.states(state).tolist() for state in FILE_STATES} == {
        state: [row[3] == state for row in ROWS] for state in ("live", "removed", "changes", "orphan")
    }
    assert look.modified(strings(["late", "nowhere", "live", "kept"])).tolist() == [50, 0, 5, 3]
    assert look.orphans.to_pydict() == {"path": ["orphan", ".orphan.crc"], "size": [50, 60], "modified": [6, 6]}
    assert (look.orphan_bytes, type(look.orphan_bytes), look.other_tables) == (110, int, ())
    assert look_of(ROWS[:4]).orphan_bytes == 0


def told(freed: Freed) -> list[tuple[int, int, bool]]:
    assert [str(each.dtype) for each in (freed.since, freed.sizes, freed.known)] == ["int64", "int64", "bool"]
    return [*zip(freed.since.tolist(), freed.sizes.tolist(), freed.known.tolist(), strict=True)]


def test_files_that_a_look_found_are_freed_with_their_sizes() -> None:
    assert told(freed_by_scan(look_of(ROWS))) == [
        *((9, 20, True), (50, 0, False), (8, 40, True), (6, 50, True), (11, 60, True)),
    ]


def vector(letter: str, offset: int | None = 1, kind: str = "u", size: int = 34) -> DeletionVectorDescriptor:
    path = z85_encode(letter.encode() * 16) if kind == "u" else "file:///v/x.bin"
    return DeletionVectorDescriptor(kind, path, size, 1, offset)


def gone(path: str, time: int, masked: DeletionVectorDescriptor | None = None, **more: Any) -> Remove:
    return small_logs.remove(path, vector=masked, deletion_timestamp=time, **more)


ONE, TWO, OPEN, PLACED = vector("s"), vector("s", 40), vector("t", None), vector("x", kind="p")
CHANGE = {"cdc": {"path": "_change_data/unknown", "partitionValues": {}, "dataChange": False}}
FREED: dict[int, list[Any]] = {
    0: [MASKED, METADATA, add("a", size=10), add("b", size=20), add("live"), {"add": {"path": "unsaid"}}],
    1: [gone("a", 50), add("x", 9, vector=ONE, size=1), add("y", 9, vector=TWO, size=2)],
    2: [add("a", size=11), gone("b", 60), add("z", 9, vector=OPEN, size=3), add("p", 9, vector=PLACED, size=4)],
    3: [gone("a", 70), gone("y", 90, TWO)],
    4: [gone("x", 80, ONE), gone("z", 65, OPEN), gone("p", 66, PLACED), gone("unsaid", 67)],
    5: [commit_info(timestamp=40), AddCDCFile(path="_change_data/c", size=5), CHANGE, add("k", vector=vector("k"))],
}
TIMES = {version: 1_000 + version for version in FREED}


def freed(*vacuums: RecordedVacuum, times: dict[int, int] = TIMES) -> list[tuple[int, int, bool]]:
    history = small_logs.table(FREED).history_record()
    risks = VersionRisks(history, small_logs.listed({}, times))
    return sorted(told(freed_by_log(history, risks, risks.needed, TakenFiles(vacuums))))


OTHERS = [(67, 0, False), (80, 1, True), (90, 2, True), (65, 3, True), (66, 4, True)]
DATA = [(70, 11, True), (60, 20, True), *OTHERS]
VECTORS = [(90, 40 + 34 + 8, True), (65, 34 + 8, False)]
CHANGES = [(1_005, 5, True), (1_005, 0, False)]


def test_files_that_nothing_needs_are_freed_by_the_log_alone() -> None:
    assert freed() == sorted([*DATA, *VECTORS, *CHANGES])
    assert freed(times={4: 1}) == sorted([*DATA, *VECTORS])


def test_of_a_table_without_vectors_its_data_files_are_freed() -> None:
    history = small_logs.table({0: [PROTOCOL, METADATA, add("a", size=7)], 1: [gone("a", 5)]}).history_record()
    risks = VersionRisks(history, small_logs.listed({}, {}))
    assert told(freed_by_log(history, risks, risks.needed, TakenFiles(()))) == [(5, 7, True)]


@pytest.mark.parametrize(
    ("version", "before", "left"),
    [
        (2, 71, [(70, 11, True), *OTHERS, *VECTORS, *CHANGES]),
        (3, 71, [*OTHERS, *VECTORS, *CHANGES]),
        (3, 70, [(70, 11, True), *OTHERS, *VECTORS, *CHANGES]),
        (3, 91, [*(file for file in OTHERS if file[0] != 90), *VECTORS, *CHANGES]),
        (4, 91, CHANGES),
        (5, 40, [*DATA, *VECTORS, *CHANGES]),
        (5, 41, [*DATA, *VECTORS]),
    ],
)
def test_what_a_recorded_vacuum_took_is_not_freed_again(
    version: int, before: int, left: list[tuple[int, int, bool]]
) -> None:
    assert freed(RecordedVacuum(version, before)) == sorted(left)


def test_a_vacuum_took_what_went_before_it_and_was_not_needed_at_its_cut_off() -> None:
    taken = TakenFiles([RecordedVacuum(2, 100), RecordedVacuum(5, 50), RecordedVacuum(8, 70)])
    removed = np.array([0, 2, 2, 3, 3, 5, 6, 8, 8, 9])
    until = np.array([99, 99, 100, 69, 70, 69, 69, 69, 70, -5], np.int64)
    assert taken.mask(until, removed).tolist() == [*(True, True, False, True, False, True, True, True, False, False)]
    assert TakenFiles([]).mask(np.array([np.iinfo(np.int64).min, 0]), np.array([0, 1])).tolist() == [False, False]


LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def test_versions_last_until_the_first_of_what_they_need_is_old() -> None:
    until = np.array([FOREVER, 100, 300, 50, LATEST - 20, LATEST - 19])
    lasting = ReadableUntil(np.arange(3, 9), until, np.array([False, False, False, True, False, False]))
    assert lasting.least(200).tolist() == [0, 100, 0, 150, 0, 0]
    assert [lasting.dying(200, retention).tolist() for retention in (99, 100, 0)] == [[4], [], [4]]
    found = lasting.lost_from(20)
    assert (found.type, found.to_pylist()) == (pa.int64(), [None, 120, 320, None, LATEST, None])


FED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors", "changeDataFeed"),
)
ON, OFF = (small_logs.metadata({"id": "long"}, (), {"delta.enableChangeDataFeed": text}) for text in ("true", "false"))
MERGE = commit_info("MERGE", operation_metrics={f"numTargetRows{k}": "0" for k in ("Inserted", "Updated", "Deleted")})
FED_FILES: dict[int, list[Any]] = {
    0: [FED, ON, add("a"), add("b"), add("m")],
    1: [add("c"), add("q", data_change=False)],
    2: [gone("a", 1), gone("q", 1, data_change=False)],
    3: [
        *(gone("b", 1, data_change=False), add("b", 9, vector=ONE)),
        *(gone("m", 1, data_change=False), add("m", 9, vector=TWO, data_change=False)),
    ],
    4: [AddCDCFile(path="_change_data/c", size=1), add("d")],
    5: [MERGE, gone("c", 1), add("e")],
    6: [OFF, add("f")],
    7: [ON, gone("b", 1, ONE), add("b", 9, vector=vector("w"), data_change=False)],
}
NEEDED = {0: (0, 1, 2), 1: (3,), 2: (0,), 3: (1, 5), 4: (), 5: (), 7: (5, 10)}
"""The files, in the order in which they came, that hold the changes of each version."""


def recorded(record: CommitRecord) -> tuple[int, bool]:
    return 4_000 + record.version, True


@pytest.mark.parametrize("descends", [True, False])
def test_changes_last_as_long_as_the_files_that_hold_them(descends: bool) -> None:
    history = small_logs.table(FED_FILES).history_record()
    until = np.arange(11, dtype=np.int64)[:: -1 if descends else 1] + 100
    for lost in range(11):
        found = feed_readable_until(history, until, np.arange(11) == lost, recorded)
        assert found.versions.tolist() == [0, 1, 2, 3, 4, 5, 7]
        ends = {version: min((int(until[row]) for row in rows), default=FOREVER) for version, rows in NEEDED.items()}
        assert found.until.tolist() == [*(ends | {4: 4_004}).values()]
        assert found.lost.tolist() == [version == 4 or lost in rows for version, rows in NEEDED.items()]


def test_changes_are_told_from_the_first_version_that_can_be_read() -> None:
    live: list[Any] = [FED, ON, add("b"), add("m"), add("c"), add("q", data_change=False)]
    history = begun_late(FED_FILES, 2, live, gone=1).history_record()
    count = len(history.lifetimes.added)
    found = feed_readable_until(history, np.full(count, 7), np.ones(count, bool), recorded)
    assert found.versions.tolist() == [2, 3, 4, 5, 7]
    assert found.until.tolist() == [7, 7, 4_004, FOREVER, 7]
    assert found.lost.tolist() == [True, True, True, False, True]


def record(version: int, timestamp: int = 9, stated: int | None = None, **more: Any) -> CommitRecord:
    return CommitRecord(version, timestamp, commit_info(timestamp=stated), None, None, True, **more)


@pytest.mark.parametrize(
    ("stated", "in_commit", "time"),
    [
        (None, False, 9),
        (5, False, 5),
        (5, True, 9),
        (-1, False, 0),
        (LATEST, False, LATEST),
        (LATEST + 1, False, LATEST),
    ],
)
def test_a_commit_was_written_when_its_writer_says(stated: int | None, in_commit: bool, time: int) -> None:
    assert written(record(3, stated=stated, time_in_commit=in_commit)) == time
    assert written(msgspec.structs.replace(record(3), info=None)) == 9


def test_changes_that_are_recorded_last_by_the_log_or_by_the_folder() -> None:
    history = small_logs.table({0: [PROTOCOL, METADATA]}).history_record()
    risks = VersionRisks(history, small_logs.listed({}, {0: 1, 3: 700}))
    for before, took in ((5, False), (6, True)):
        taken = TakenFiles([RecordedVacuum(3, before)])
        assert recorded_by_log(risks, taken, record(3, stated=5)) == (700, took)
        assert recorded_by_log(risks, taken, record(4, stated=5)) == (FOREVER, False)
    look = look_of(ROWS, changes={3: 60, 4: 0})
    assert [recorded_by_scan(look, record(version)) for version in (3, 4, 5)] == [
        *((60, False), (0, False), (FOREVER, True)),
    ]
