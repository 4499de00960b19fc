"""When files came and went, in many small logs made at random, beside a plain model that keeps the live files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import LimitExceeded, MalformedAction, VersionNotFound
from explorer.core.log import alike_lines, decoded_parts
from explorer.core.protocol.actions import Action, Add, Remove
from explorer.core.versions.lifetimes.builder import LifetimesBuilder
from explorer.core.versions.lifetimes.codes import VectorCodes
from explorer.core.versions.lifetimes.events import NEVER, Intervals
from tests.support.logs.checkpoint_shapes import Shape, begun_late
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, remove, table, vector

PATHS = ("a", "b", "c%20d", "e")
SUMS = ("bytes_added", "bytes_removed", "rows_added", "rows_removed", "num_bytes", "num_rows", "rows_rewritten")
COUNTS = (
    *("num_files_added", "num_files_removed", "num_files_remasked", "rows_masked", "num_files", "num_deleted_rows"),
    "data_change",
)


@dataclass
class Model:
    """The live files after each commit, and what history says of it."""

    chance: random.Random
    live: dict[str, Add] = field(default_factory=dict)
    commits: list[list[Action]] = field(default_factory=list)
    states: list[dict[str, Add]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    made: int = 0

    def commit(self) -> None:
        """Touch some paths; a path has at most one removal and one add, in either order."""
        actions: list[Action] = [] if self.commits else [MASKED, METADATA]
        before = dict(self.live)
        quiet_adds, quiet_removals = set(), set()
        for path in PATHS:
            old, what = self.live.get(path), self.chance.choice(("", "", "add", "remove", "mask", "again"))
            gone = None if old is None else self._removal(old)
            if what == "add" and old is None:
                new = self._add(path, None)
            elif what == "remove" and gone is not None:
                actions.append(gone)
                del self.live[path]
                if gone.data_change is False:
                    quiet_removals.add(path)
                continue
            elif what == "mask" and gone is not None:
                new = self._add(path, vector(f"v{self.made}", self.made % 5))
                actions.append(gone)
            elif what == "again" and old is not None:
                new = self._add(path, old.deletion_vector)
            else:
                continue
            actions.append(new)
            self.live[path] = new
            if new.data_change is False:
                quiet_adds.add(path)
        self.chance.shuffle(actions)
        self.commits.append(actions)
        self.states.append(dict(self.live))
        self.told.append(_told(before, self.live, quiet_adds, quiet_removals))

    def _add(self, path: str, masked: Any) -> Add:
        self.made += 1
        return add(
            path,
            self.chance.choice((None, self.made * 10, self.made * 10)),
            size=self.made,
            vector=masked,
            data_change=self.chance.random() < 0.8,
        )

    def _removal(self, file: Add) -> Remove:
        self.made += 1
        return msgspec.structs.replace(
            remove(file.path, vector=file.deletion_vector),
            data_change=self.chance.random() < 0.8,
            deletion_timestamp=self.chance.choice((None, self.made)),
        )


def _told(before: Mapping[str, Add], after: Mapping[str, Add], quiet_adds: set[str], gone: set[str]) -> dict[str, Any]:
    came, went = [*(after.keys() - before.keys())], [*(before.keys() - after.keys())]
    masked = [path for path in before.keys() & after.keys() if _vector(before[path]) != _vector(after[path])]
    return {
        "num_files_added": len(came),
        "num_files_removed": len(went),
        "num_files_remasked": len(masked),
        "bytes_added": _sum(after[path].size for path in came),
        "bytes_removed": _sum(before[path].size for path in went),
        "rows_added": _sum(_rows(after[path]) for path in came),
        "rows_removed": _sum(_rows(before[path]) for path in went),
        "rows_masked": sum(_hidden(after[path]) - _hidden(before[path]) for path in masked),
        "rows_rewritten": _sum(_rows(after[path]) for path in came if path in quiet_adds),
        "num_files": len(after),
        "num_bytes": _sum(file.size for file in after.values()),
        "num_rows": _sum(map(_rows, after.values())),
        "num_deleted_rows": sum(map(_hidden, after.values())),
        "data_change": bool(masked) or bool({*came} - quiet_adds) or bool({*went} - gone),
    }


def _sum(values: Iterator[int | None]) -> int | None:
    found = [*values]
    return None if None in found else sum(value for value in found if value is not None)


def _vector(file: Add) -> str | None:
    return None if file.deletion_vector is None else file.deletion_vector.unique_id


def _hidden(file: Add) -> int:
    return 0 if file.deletion_vector is None else file.deletion_vector.cardinality


def _rows(file: Add) -> int | None:
    records = None if file.stats is None else msgspec.json.decode(file.stats)["numRecords"]
    return None if records is None else records - _hidden(file)


def _made(seed: int, length: int = 9) -> Model:
    model = Model(random.Random(seed))
    for _ in range(length):
        model.commit()
    return model


def _history(found: explorer.Table) -> dict[int, dict[str, Any]]:
    rows = found.history().select(["version", *COUNTS, *SUMS]).to_pylist()
    return {row.pop("version"): row for row in rows}


def _files(found: explorer.Table, version: int) -> set[tuple[Any, ...]]:
    life = found.history_record().lifetimes
    rows = life.files_at(version).select(["raw_path", "size", "num_records", "dv_cardinality"]).to_pylist()
    return {tuple(row.values()) for row in rows}


def _expected(state: Mapping[str, Add]) -> set[tuple[Any, ...]]:
    return {
        (
            path,
            file.size,
            None if file.stats is None else msgspec.json.decode(file.stats)["numRecords"],
            None if file.deletion_vector is None else file.deletion_vector.cardinality,
        )
        for path, file in state.items()
    }


@pytest.mark.parametrize("seed", range(30))
def test_a_history_tells_what_the_model_does(seed: int) -> None:
    model = _made(seed)
    found = table(dict(enumerate(model.commits)))
    assert _history(found) == dict(enumerate(model.told))
    for version, state in enumerate(model.states):
        assert _files(found, version) == _expected(state)
    assert found.history_record().lifetimes.contradictions == ()


@pytest.mark.parametrize("seed", range(30))
def test_a_history_that_begins_with_a_checkpoint_tells_the_rest(seed: int) -> None:
    model = _made(seed)
    chance = random.Random(-seed)
    base, gone = chance.randrange(1, 8), chance.randrange(1, 9)
    first = min(gone, base + 1)
    # A checkpoint also holds removals of long ago.
    live = [MASKED, METADATA, *model.states[base].values(), remove("long gone")]
    shape: Shape = chance.choice(("classic", "multi-part"))
    found = begun_late(dict(enumerate(model.commits)), base, live, gone=first, shape=shape)
    told = _history(found)
    assert sorted(told) == [*range(first, 9)]
    running = ("num_files", "num_bytes", "num_rows", "num_deleted_rows")
    # Of a file from before the record nobody knows whether an add replaced it.
    certain = ("num_files_removed", "num_files_remasked")
    for version, row in told.items():
        expected = model.told[version]
        if version > base:
            assert row == expected
            assert _files(found, version) == _expected(model.states[version])
            continue
        assert {name: row[name] for name in certain} == {name: expected[name] for name in certain}
        known = {name: expected[name] for name in running} if version == base else dict.fromkeys(running)
        assert {name: row[name] for name in running} == known
    assert _files(found, base) == _expected(model.states[base])
    for later in range(base, 9):
        totals, expected = found.diff(base, later).totals, _told(model.states[base], model.states[later], set(), set())
        assert (totals.files_added, totals.files_removed, totals.files_remasked, totals.rows_masked) == (
            *(expected[f"num_files_{what}"] for what in ("added", "removed", "remasked")),
            expected["rows_masked"],
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_diff_of_any_two_versions_is_that_of_the_model(seed: int) -> None:
    model = _made(seed, 6)
    found = table(dict(enumerate(model.commits)))
    for earlier in range(6):
        for later in range(6):
            before, after = model.states[earlier], model.states[later]
            told = _told(before, after, set(), set())
            totals = found.diff(earlier, later).totals
            assert (totals.files_added, totals.files_removed, totals.files_remasked) == tuple(
                told[name] for name in ("num_files_added", "num_files_removed", "num_files_remasked")
            )
            assert (totals.bytes_added, totals.bytes_removed, totals.rows_added, totals.rows_removed) == tuple(
                told[name] for name in ("bytes_added", "bytes_removed", "rows_added", "rows_removed")
            )
            assert totals.rows_masked == told["rows_masked"]


def _life(*commits: list[Any]) -> list[tuple[str, int, int, int, int, bool]]:
    """Path, version added and removed, the file it replaced, its tombstone's time, whether its removal changed data."""
    life = table(dict(enumerate(commits))).history_record().lifetimes
    names = life.take(np.arange(len(life.added)), ["path"]).column(0).to_pylist()
    columns = (life.added, life.removed, life.previous, life.deletion_times, life.removed_data_change)
    return [*zip(names, *(column.tolist() for column in columns), strict=True)]


CREATED: list[Any] = [MASKED, METADATA]
V, W = vector("v", 1), vector("w", 2)


def test_a_file_lives_until_it_is_removed_or_replaced() -> None:
    assert _life(
        [*CREATED, add("a"), add("b"), add("c")],
        [remove("a", deletion_timestamp=5)],
        [add("a"), msgspec.structs.replace(remove("b", deletion_timestamp=6), data_change=False), add("b", vector=V)],
        [add("c", size=7)],
    ) == [
        ("a", 0, 1, -1, 5, True),
        ("b", 0, 2, -1, 6, False),
        ("c", 0, 3, -1, 0, True),
        ("a", 2, NEVER, -1, 0, True),
        ("b", 2, NEVER, 1, 0, True),
        ("c", 3, NEVER, 2, 0, True),
    ]


def test_ordinary_paths_are_worked_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one they would take longer, and say the same."""
    read = Intervals._apply_irregular
    walked = []

    def apply_odd(self: Intervals, events: list[Any], vectors: VectorCodes) -> None:
        walked.append(events[0].path)
        read(self, events, vectors)

    monkeypatch.setattr(Intervals, "_apply_irregular", apply_odd)
    commits: dict[int, list[Any]] = {
        0: [*CREATED, *map(add, "abcdef")],
        1: [remove("a"), remove("f")],
        2: [add("a"), remove("b"), add("b", vector=V), add("c", vector=V), remove("c"), add("e", size=7)],
        3: [add("b"), remove("b", vector=V), remove("c", vector=V), add("c"), remove("a"), remove("e")],
        4: [add("f"), add("g")],
    }
    whole = table(commits).history_record().lifetimes
    assert (walked, whole.contradictions) == ([], ())
    assert sorted(whole.files_at(4).column("path").to_pylist()) == ["b", "c", "d", "f", "g"]
    rest = begun_late(commits, 1, [*CREATED, *map(add, "bcde")], gone=2).history_record().lifetimes
    assert (walked, rest.contradictions) == ([], ())
    assert sorted(rest.files_at(4).column("path").to_pylist()) == ["b", "c", "d", "f", "g"]
    _life([*CREATED, add("x"), add("y"), add("y")])
    assert walked == [1]


def test_a_second_removal_of_a_version_adds_only_its_facts() -> None:
    quiet = msgspec.structs.replace(remove("a", deletion_timestamp=9), data_change=False)
    loud = remove("a", deletion_timestamp=8)
    assert _life([*CREATED, add("a")], [quiet, quiet])[0] == ("a", 0, 1, -1, 9, False)
    assert _life([*CREATED, add("a")], [loud, quiet])[0] == ("a", 0, 1, -1, 9, False)
    assert _life([*CREATED, add("a")], [quiet, loud])[0] == ("a", 0, 1, -1, 8, False)
    assert _life([*CREATED, add("a")], [loud, loud])[0] == ("a", 0, 1, -1, 8, True)


@pytest.mark.parametrize("masked", [None, V])
def test_a_file_of_a_checkpoint_is_ended_by_a_removal_with_its_vector(masked: Any) -> None:
    commits: dict[int, list[Any]] = {
        0: [*CREATED, add("a", vector=masked), add("b")],
        1: [],
        2: [remove("a", vector=masked)],
    }
    life = begun_late(commits, 1, [*CREATED, add("a", vector=masked), add("b")]).history_record().lifetimes
    assert (life.added.tolist(), life.removed.tolist()) == ([0, 0], [2, NEVER])
    assert life.files_at(2).column("path").to_pylist() == ["b"]


def test_a_removal_of_what_was_never_there_makes_no_file() -> None:
    assert [each[0] for each in _life([*CREATED, remove("ghost"), add("a")], [remove("ghost")])] == ["a"]
    assert [each[0] for each in _life([*CREATED, remove("ghost"), add("a")])] == ["a"]
    commits: dict[int, list[Any]] = {0: [*CREATED, add("a")], 1: [], 2: [remove("ghost")]}
    life = begun_late(commits, 1, [*CREATED, add("a")]).history_record().lifetimes
    assert life.take(np.arange(len(life.added)), ["path"]).column(0).to_pylist() == ["a"]


@pytest.mark.parametrize("lines", [1, 2, 5])
@pytest.mark.parametrize("fewest", [0, 1 << 30])
def test_a_history_is_the_same_however_many_lines_become_columns_at_once(
    lines: int, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_parts, "_PART", lines * 100)
    monkeypatch.setattr(decoded_parts, "_FEWEST", fewest)
    monkeypatch.setattr(alike_lines, "_FEWEST", 1)
    for seed in range(5):
        model = _made(seed)
        found = table(dict(enumerate(model.commits)))
        assert _history(found) == dict(enumerate(model.told))
        assert _files(found, 8) == _expected(model.states[8])


def test_a_file_of_a_checkpoint_ends_with_the_first_of_two_removals() -> None:
    commits: dict[int, list[Any]] = {0: [*CREATED, add("a")], 1: [], 2: [remove("a", deletion_timestamp=5)] * 2}
    life = begun_late(commits, 1, [*CREATED, add("a")]).history_record().lifetimes
    assert (life.added.tolist(), life.removed.tolist(), life.deletion_times.tolist()) == ([0], [2], [5])


def test_of_a_file_from_before_the_record_only_what_its_removal_says_is_known() -> None:
    stats = '{"numRecords":4}'
    said = {"partition_values": {"p": "1"}, "size": 9, "stats": stats}
    commits: dict[int, list[Any]] = {
        0: [*CREATED, *map(add, "xyz")],
        1: [
            msgspec.structs.replace(remove("x", extended_file_metadata=True), **said),
            msgspec.structs.replace(remove("y", extended_file_metadata=False), **said),
            remove("z"),
        ],
        2: [add("n", 1, size=1)],
    }
    life = begun_late(commits, 2, [*CREATED, add("n", 1, size=1)]).history_record().lifetimes
    assert life.contradictions == ()
    left = np.flatnonzero(life.removed == 1)
    rows = life.take(left, ["path", "size", "num_records", "partition_values", "modification_time"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        ("x", 9, 4, [("p", "1")], None),
        ("y", None, 4, [], None),
        ("z", None, None, [], None),
    ]


def test_a_removal_of_the_record_s_own_file_before_its_checkpoint_makes_no_file_of_before() -> None:
    again = add("n", vector=V)
    commits: dict[int, list[Any]] = {
        0: CREATED,
        1: [add("n")],
        2: [remove("n", deletion_timestamp=5), again],
        3: [add("o")],
    }
    life = begun_late(commits, 3, [*CREATED, again, add("o")]).history_record().lifetimes
    rows = np.flatnonzero(life.added >= 1)
    names = life.take(rows, ["path"]).column(0).to_pylist()
    columns = (life.added, life.removed, life.deletion_times, life.previous >= 0)
    assert [*zip(names, *(column[rows].tolist() for column in columns), strict=True)] == [
        ("n", 1, 2, 5, False),
        ("n", 2, NEVER, 0, True),
        ("o", 3, NEVER, 0, False),
    ]
    replaced = life.previous[rows[1]]
    assert (replaced, life.added[replaced]) == (rows[0], 1)
    assert life.files_at(3).column("path").to_pylist() == ["n", "o"]


def test_the_first_file_of_a_record_without_files_of_before_may_be_replaced() -> None:
    masks = [remove("n", deletion_timestamp=5), add("n", vector=V)]
    ends = remove("n", vector=V, deletion_timestamp=6)
    commits: dict[int, list[Any]] = {0: CREATED, 1: [add("n")], 2: masks, 3: [ends], 4: []}
    life = begun_late(commits, 3, CREATED).history_record().lifetimes
    columns = (life.added, life.removed, life.previous, life.deletion_times)
    assert [column.tolist() for column in columns] == [[1, 2], [2, 3], [-1, 0], [5, 6]]


def test_a_removal_ends_the_file_with_its_vector_alone() -> None:
    assert _life([*CREATED, add("a", vector=V)], [remove("a", vector=W, deletion_timestamp=5)]) == [
        ("a", 0, NEVER, -1, 0, True)
    ]
    assert _life([*CREATED, add("a", vector=V)], [remove("a", vector=V, deletion_timestamp=5)]) == [
        ("a", 0, 1, -1, 5, True)
    ]
    # In one commit the removal of another file of the path comes first, wherever its line is.
    assert _life([*CREATED, add("a", vector=V)], [add("a", vector=W), remove("a", vector=V, deletion_timestamp=5)]) == [
        ("a", 0, 1, -1, 5, True),
        ("a", 1, NEVER, 0, 0, True),
    ]


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        pytest.param([[add("a")], [remove("a"), add("a")]], [(1, "added and removed", "a")], id="added and removed"),
        pytest.param([[add("a"), add("a")]], [(0, "added twice", "a")], id="added twice"),
        pytest.param([[add("a")], [remove("a"), remove("a")]], [(1, "removed twice", "a")], id="removed twice"),
        pytest.param([[remove("a")]], [(0, "removed but not live", "a")], id="never there"),
        pytest.param(
            [[add("a")], [remove("a")], [remove("a")]], [(2, "removed but not live", "a")], id="removed again later"
        ),
        pytest.param(
            [[add("a", vector=V)], [remove("a", vector=W)]], [(1, "removed but not live", "a")], id="another vector"
        ),
        pytest.param([[add("b"), add("a")], [add("a")], [remove("a")]], [], id="replaced"),
        pytest.param(
            [[add("a", vector=V)], [remove("a", vector=W)], [remove("a", vector=V)]],
            [(1, "removed but not live", "a")],
            id="another vector before its own",
        ),
        pytest.param(
            [[add("a", vector=V)], [add("a", vector=W)], [remove("a", vector=V)]],
            [(2, "removed but not live", "a")],
            id="of a file that another took the place of",
        ),
        pytest.param(
            [[add("b"), add("b"), remove("c"), remove("c")]],
            [(0, "added twice", "b"), (0, "removed but not live", "c"), (0, "removed twice", "c")],
            id="two paths",
        ),
    ],
)
def test_a_commit_that_contradicts_itself_is_told(commits: list[list[Any]], said: list[tuple[int, str, str]]) -> None:
    first, *rest = commits
    life = table({0: [*CREATED, *first], **dict(enumerate(rest, 1))}).history_record().lifetimes
    assert [*life.contradictions] == said


def test_versions_that_cannot_be_read_are_refused_with_the_nearest() -> None:
    life = table({0: [PROTOCOL, METADATA], 1: [add("a")]}).history_record().lifetimes
    for version, nearest in ((-1, 0), (2, 1)):
        with pytest.raises(VersionNotFound, match=rf"versions 0 to 1 that the history has\. The nearest is {nearest}"):
            life.live(version)


def test_versions_of_very_high_numbers_are_refused() -> None:
    highest = 1 << 30
    LifetimesBuilder(highest, highest)
    with pytest.raises(
        LimitExceeded, match="begins with version 1,073,741,825; versions up to 1,073,741,824 are"
    ) as error:
        LifetimesBuilder(highest + 1, highest + 1)
    assert (error.value.version, error.value.allowed) == (highest + 1, highest)


def test_a_line_with_two_file_actions_is_refused_with_its_number() -> None:
    both = b'{"add":{"path":"a"},"remove":{"path":"b"}}'
    with pytest.raises(MalformedAction, match="contains both an add and a remove") as error:
        table({0: [PROTOCOL, METADATA], 1: [add("c"), both]}).history()
    assert (error.value.version, error.value.line) == (1, 2)


@pytest.mark.parametrize(
    ("time", "kept"),
    [(None, 0), (-5, 0), (7, 7), (1 << 60, 1 << 60), ((1 << 60) - 1, (1 << 60) - 1), (10**30, 1 << 60)],
)
def test_a_tombstone_without_a_time_is_long_expired_and_one_past_all_dates_never(time: int | None, kept: int) -> None:
    text = "" if time is None else f',"deletionTimestamp":{time}'
    gone = f'{{"remove":{{"path":"a"{text}}}}}'.encode()
    also = [b'{"remove":{"path":"b","deletionTimestamp":3}}', b'{"remove":{"path":"c"}}']
    found = _life([*CREATED, add("a"), add("b"), add("c")], [gone, *also])
    assert [each[4] for each in found] == [kept, 3, 0]
