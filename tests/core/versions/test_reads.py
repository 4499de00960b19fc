"""What somebody read of a version, and whether what came later touches it."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.protocol.actions import (
    Add,
)
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.sql.predicates import And, Constant, IsNull, Like, LiteralValue, Not, Or, SqlComparison
from explorer.core.versions.reads import (
    Reads,
    first_read,
    partitions_of,
    reads_of_files,
    reuse_unchanged,
    rows_matched,
    rows_meeting,
)
from tests.core.versions.test_snapshots import FILES, FIRST, SECOND, file, meta, opened, state_of
from tests.support.logs import small_logs
from tests.support.logs.small_logs import MASKED, add, remove
from tests.support.logs.small_schemas import MAPPED, NAME, field, mapped, struct

ID_5 = SqlComparison(("id",), "=", LiteralValue("integer", "5"))
ID_1 = SqlComparison(("id",), "=", LiteralValue("integer", "1"))
FIVE = And((ID_5,))
IN_A = SqlComparison(("p",), "=", LiteralValue("string", "a"))


@pytest.mark.parametrize(
    ("where", "as_core", "reads"),
    [
        ("id = 5", True, Reads(frozenset({"p=a/1", "p=a/2 2"}), ID_5)),
        ("id = 1", True, Reads(frozenset({"p=a/1"}), ID_1)),
        ("id = 100", True, Reads(frozenset(), SqlComparison(("id",), "=", LiteralValue("integer", "100")))),
        ("id > 0", True, Reads(None, SqlComparison(("id",), ">", LiteralValue("integer", "0")))),
        ("id = 5", False, Reads()),
        (None, True, Reads()),
        (None, False, Reads()),
        ("id = ", True, Reads()),
        ("nothing = 5", True, Reads()),
    ],
)
def test_rows_that_meet_a_condition_are_in_the_files_that_may_hold_them(
    where: str | None, as_core: bool, reads: Reads
) -> None:
    assert rows_meeting(state_of(*FILES), where, as_core=as_core) == reads
    assert Reads() == Reads(None, None, None)


IN_P_A = frozenset({"p=a/1", "p=a/2 2"})


@pytest.mark.parametrize(
    ("on", "reads"),
    [
        ("target.id = 5", Reads(IN_P_A, FIVE)),
        ("TARGET.id = 5 AND target.k = source.k", Reads(IN_P_A, FIVE)),
        ("target.id = 5 AND id = 1", Reads(IN_P_A, FIVE)),
        ("target.id = 5 AND source.id = 1", Reads(IN_P_A, FIVE)),
        ("target = 5", Reads()),
        ("source.id = 5", Reads()),
        ("NOT target.id = 5", Reads(None, And((Not(ID_5),)))),
        ("NOT source.id = 5", Reads()),
        ("target.id = 5 OR target.id = 1", Reads(IN_P_A, And((Or((ID_5, ID_1)),)))),
        ("target.id = 5 OR source.id = 1", Reads()),
        (
            "(target.id = 5 AND target.id = 1) OR target.p = 'a'",
            Reads(IN_P_A, And((Or((And((ID_5, ID_1)), IN_A)),))),
        ),
        ("target.id IS NULL", Reads(frozenset(), And((IsNull(("id",)),)))),
        ("target.s.x IS NULL", Reads(None, And((IsNull(("s", "x")),)))),
        ("source.id IS NULL", Reads()),
        ("target.Name LIKE 'a%'", Reads(None, And((Like(("Name",), "a%"),)))),
        ("TRUE AND target.id = 5", Reads(IN_P_A, And((Constant(True), ID_5)))),
        ("target.id = ", Reads()),
        ("target.nothing = 5", Reads()),
    ],
)
def test_a_merge_looks_for_what_its_condition_asks_of_the_target_alone(on: str, reads: Reads) -> None:
    assert rows_matched(state_of(*FILES), on, as_core=True) == reads
    assert rows_matched(state_of(*FILES), on, as_core=False) == Reads()


def test_a_look_into_some_files_is_at_them_alone() -> None:
    assert reads_of_files(FILES[:2]) == Reads(frozenset({"p=a/1", "p=a/2 2"}))
    assert reads_of_files([]) == Reads(frozenset())


def lines(*adds: Add) -> list[AddLine]:
    return [msgspec.json.decode(msgspec.json.encode(each.to_wire()), type=AddLine) for each in adds]


LATER = lines(
    file("b9", 2, 9, 9, "b"),
    file("a9", 2, 9, 9, "a"),
    file("b5", 2, 5, 5, "b"),
    file("a5", 2, 5, 5),
    file("none", 2, 5, 5, None),
)


@pytest.mark.parametrize(
    ("reads", "path"),
    [
        (Reads(), "b9"),
        (Reads(frozenset({"p=a/1"})), "b9"),
        (Reads(condition=ID_5), "b5"),
        (Reads(condition=ID_1), None),
        (Reads(partitions=frozenset({("a",)})), "a9"),
        (Reads(partitions=frozenset({("a",)}), condition=ID_5), "a5"),
        (Reads(partitions=frozenset({(None,)})), "none"),
        (Reads(partitions=frozenset({("c",)})), None),
        (Reads(partitions=frozenset()), None),
    ],
)
def test_the_first_of_later_files_that_may_hold_what_was_read_is_told(reads: Reads, path: str | None) -> None:
    before = state_of(*FILES)
    found = first_read(reads, LATER, before)
    assert (None if found is None else found.path) == path
    assert first_read(reads, [], before) is None
    assert first_read(reads, LATER, None) is LATER[0]
    assert first_read(reads, [], None) is None


def test_a_later_file_that_cannot_be_read_may_hold_anything() -> None:
    broken = msgspec.json.decode(b'{"path":"x","partitionValues":{"p":[7]}}', type=AddLine)
    found = first_read(Reads(partitions=frozenset({("c",)})), [*LATER, broken], state_of(*FILES))
    assert found is LATER[0]


def test_partitions_are_told_in_the_order_of_their_columns_by_the_names_of_the_files() -> None:
    schema = mapped(struct(field("q", "string"), field("p", "string"), field("id", "long")))
    found, _ = opened(protocol=MAPPED, metadata=meta(schema, NAME, partition_columns=("p", "q")))
    kind = pa.map_(pa.string(), pa.string())
    values = [[("col-1", "x"), ("col-2", "y")], [("col-2", "")], None, [("p", "z"), ("col-1", None)]]
    expected = [("y", "x"), (None, None), (None, None), (None, None)]
    assert partitions_of(found, pa.array(values, kind)) == expected
    assert partitions_of(found, pa.chunked_array([pa.array(values, kind)])) == expected
    assert partitions_of(state_of(metadata=meta()), pa.array(values, kind)) == [()] * 4


OWN: dict[str, Any] = {"base_row_id": 1, "default_row_commit_version": 2, "vector": FIRST}
GONE = remove("a", vector=FIRST)
PLAIN = meta(struct(field("id", "long")))


def versions_found(table: explorer.Table, changed: tuple[Add, ...]) -> tuple[list[int], list[int]]:
    """What is found at versions 0, 0 and 1 where a finding is its version, and of which it was sought."""
    sought: list[int] = []

    def find(snapshot: explorer.Snapshot) -> int:
        sought.append(snapshot.version)
        return snapshot.version

    found = reuse_unchanged(find, lambda _: changed)
    return [found(table.snapshot(version)) for version in (0, 0, 1)], sought


@pytest.mark.parametrize(
    ("after", "holds"),
    [
        ([add("other")], (True, True)),
        ([remove("b")], (True, True)),
        ([GONE], (False, True)),
        ([GONE, add("a", 9, **OWN | {"vector": SECOND})], (False, True)),
        ([GONE, add("a", 9, **OWN | {"vector": None})], (False, True)),
        ([add("a", 9, **OWN | {"base_row_id": 5})], (False, True)),
        ([add("a", 9, **OWN | {"default_row_commit_version": 5})], (False, True)),
        ([add("a", 8, **OWN)], (True, True)),
        ([msgspec.structs.replace(PLAIN, configuration={"x": "1"})], (False, False)),
        ([msgspec.structs.replace(MASKED, writer_features=("deletionVectors", "appendOnly"))], (False, False)),
        ([MASKED, PLAIN], (True, True)),
    ],
)
def test_what_was_found_holds_while_its_own_files_are_as_they_were(after: list[Any], holds: tuple[bool, bool]) -> None:
    own = add("a", 9, **OWN)
    table = small_logs.table({0: [MASKED, PLAIN, own, add("b")], 1: after})
    plain = small_logs.table({0: [MASKED, PLAIN, add("b")], 1: [add("c")]})
    assert versions_found(plain, (add("b"),)) == ([0, 0, 0], [0])
    for changed, stays in (((own,), holds[0]), ((), holds[1])):
        assert versions_found(table, changed) == (([0, 0, 0], [0]) if stays else ([0, 0, 1], [0, 1]))
