"""Which commits conflict: what one read, changed and removed, beside what the one that came first did to it.

The verdicts are those of the reference writer's conflict checker, argued beside each case. Where it looks at partition
values alone, statistics count here too, so that a file which provably holds nothing of what was read is no conflict.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, CommitInfo, DomainMetadata, TransactionAction
from explorer.core.transaction.commit.conflicts import conflict_with, holds_transaction
from explorer.core.transaction.commit_info import isolation_level
from explorer.core.transaction.proposal import Proposal, RowCheck
from explorer.core.versions.reads import Reads, reads_of_files, reuse_unchanged, rows_matched, rows_meeting
from tests.support.logs.small_logs import (
    MASKED,
    PROTOCOL,
    add,
    lines,
    metadata,
    new_store,
    remove,
    table,
    vector,
    write,
)

COLUMNS = {"id": "long", "p": "string"}
FILES = (
    add("p=a/1", 10, bounds={"id": (1, 10)}, partition_values={"p": "a"}),
    add("p=a/2", 10, bounds={"id": (11, 20)}, partition_values={"p": "a"}),
    add("p=b/3", 10, bounds={"id": (1, 10)}, partition_values={"p": "b"}),
)


def read(level: str | None = None) -> explorer.Snapshot:
    """Version 1 of a table of three files in two partitions."""
    properties = {} if level is None else {"delta.isolationLevel": level}
    return table({0: (PROTOCOL, metadata(COLUMNS, ["p"], properties)), 1: FILES}).snapshot()


def new(partition: str, low: int, high: int, **more: Any) -> Action:
    """A file of another writer."""
    return add(f"p={partition}/new", 5, bounds={"id": (low, high)}, partition_values={"p": partition}, **more)


def change(snapshot: explorer.Snapshot, where: str | None, *removed: str, **more: Any) -> Proposal:
    """A change of the rows that meet a condition, which removes or masks some files."""
    return Proposal(
        operation="DELETE",
        parameters={},
        removes=tuple(map(remove, removed)),
        is_blind_append=False,
        reads_files=True,
        reads=rows_meeting(snapshot, where, as_core=True),
        **more,
    )


def verdict(proposal: Proposal, winner: tuple[Action, ...], snapshot: explorer.Snapshot, *, blind: bool) -> str | None:
    info = CommitInfo(operation="WRITE", user_name="ada", is_blind_append=blind)
    found = conflict_with(proposal, decode_commit(lines([info, *winner]), 2, commit_name(2)), snapshot)
    if found is None:
        return None
    assert found.version == 2
    assert found.why.startswith("Version 2 (WRITE by ada) came first: ")
    return found.action


BLIND = (new("a", 5, 6),)
"""An append."""
IN_B = (new("b", 1, 10),)
"""An append in another partition."""
APART = (new("a", 30, 40),)
"""An append in the partition, of rows with other ids."""
UNTOLD = (add("p=a/untold", None, partition_values={"p": "a"}),)
"""An append of a file that says nothing of its rows."""
MASKS_1 = (
    remove("p=a/1"),
    add("p=a/1", 10, bounds={"id": (1, 10)}, partition_values={"p": "a"}, vector=vector("v")),
)
"""A deletion of some rows of a file."""
TAKES_2 = (remove("p=a/2"),)
TAKES_3 = (remove("p=b/3"),)
REWRITES_3 = (remove("p=b/3"), new("b", 1, 9))
"""A deletion in another partition that rewrites a file."""
IN_A, OF_5, ALL = "p = 'a'", "p = 'a' AND id = 5", None


@pytest.mark.conformance("LOG-023")
@pytest.mark.parametrize(
    ("where", "removed", "winner", "blind", "wanted"),
    [
        # concurrent append: a row that the condition names came first. WriteSerializable lets a blind one come after.
        (IN_A, ["p=a/1", "p=a/2"], BLIND, True, ("add", None)),
        # the same rows from a commit that read the table: they may depend on what is deleted here, so both levels mind.
        (IN_A, ["p=a/1", "p=a/2"], BLIND, False, ("add", "add")),
        # all rows were read, so any new file was missed
        (ALL, ["p=a/1"], IN_B, True, ("add", None)),
        (ALL, ["p=a/1"], IN_B, False, ("add", "add")),
        # another partition: the condition can name none of its rows, at any level
        (IN_A, ["p=a/1"], IN_B, False, (None, None)),
        # the same partition, and ids that the condition excludes: the reference looks at partitions alone here; the
        # bounds of the file prove that no row was missed
        (OF_5, ["p=a/1"], APART, False, (None, None)),
        (OF_5, ["p=a/1"], BLIND, False, ("add", "add")),
        # nothing is known of the rows: in doubt it is a conflict
        (OF_5, ["p=a/1"], UNTOLD, False, ("add", "add")),
        # concurrent delete-delete: both mask, or one masks and one removes, the same file
        (OF_5, ["p=a/1"], MASKS_1, False, ("remove", "remove")),
        (IN_A, ["p=a/2"], TAKES_2, False, ("remove", "remove")),
        # concurrent delete-read: the file was looked into, though nothing of it changes
        (IN_A, ["p=a/1"], TAKES_2, False, ("remove", "remove")),
        # the file was left out by its statistics, so it was not read
        (OF_5, ["p=a/1"], TAKES_2, False, (None, None)),
        # deletions in two partitions
        (OF_5, ["p=a/1"], TAKES_3, False, (None, None)),
        (IN_A, ["p=a/1"], REWRITES_3, False, (None, None)),
        # a condition that statistics cannot answer reads all files of its partition, and those alone
        ("p = 'a' AND id % 2 = 0", ["p=a/1"], APART, False, ("add", "add")),
        ("p = 'a' AND id % 2 = 0", ["p=a/1"], REWRITES_3, False, (None, None)),
        ("id % 2 = 0", ["p=a/1"], IN_B, False, ("add", "add")),
    ],
)
def test_a_change_of_rows_beside_one_that_came_first(
    where: str | None,
    removed: list[str],
    winner: tuple[Action, ...],
    blind: bool,
    wanted: tuple[str | None, str | None],
) -> None:
    """``wanted`` is the verdict where the table asks for Serializable or nothing, and for WriteSerializable."""
    strict, lenient = wanted
    for level, each in ((None, strict), ("Serializable", strict), ("WriteSerializable", lenient), ("new", strict)):
        snapshot = read(level)
        assert verdict(change(snapshot, where, *removed), winner, snapshot, blind=blind) == each, level


@pytest.mark.conformance("LOG-023")
@pytest.mark.parametrize(
    ("winner", "wanted"),
    [
        # it read no row, so whatever came or went is as if it came later
        (BLIND, None),
        (TAKES_2, None),
        (MASKS_1, None),
        ((metadata(COLUMNS, ["p"]),), "metaData"),
    ],
)
def test_an_append_beside_one_that_came_first(winner: tuple[Action, ...], wanted: str | None) -> None:
    append = Proposal(operation="WRITE", parameters={}, adds=(add("p=a/mine", partition_values={"p": "a"}),))
    for level in ("Serializable", "WriteSerializable"):
        assert verdict(append, winner, read(level), blind=False) == wanted


@pytest.mark.conformance("LOG-023")
@pytest.mark.parametrize(
    ("winner", "wanted"),
    [
        # no row changes, so new rows do not matter: SnapshotIsolation
        (BLIND, None),
        (UNTOLD, None),
        # rows of a file that is rewritten went or were masked: the rewritten file would bring them back
        (MASKS_1, "remove"),
        ((remove("p=a/1"),), "remove"),
        # a file that is not rewritten
        (TAKES_2, None),
    ],
)
def test_a_compaction_beside_one_that_came_first(winner: tuple[Action, ...], wanted: str | None) -> None:
    made = Proposal(operation="OPTIMIZE", parameters={}, removes=(remove("p=a/1"),), isolation="SnapshotIsolation")
    for level in ("Serializable", "WriteSerializable"):
        assert isolation_level(made, read(level)) == "SnapshotIsolation"
        assert verdict(made, winner, read(level), blind=False) == wanted


@pytest.mark.parametrize(("winner", "wanted"), [(BLIND, None), (MASKS_1, "remove"), (TAKES_2, None)])
def test_statistics_written_again_beside_one_that_came_first(winner: tuple[Action, ...], wanted: str | None) -> None:
    """The action of a file that went would bring the file back."""
    again = FILES[0]
    made = Proposal(
        operation="COMPUTE STATS",
        parameters={},
        adds=(again,),
        isolation="SnapshotIsolation",
        reads_files=True,
        reads=reads_of_files([again]),
    )
    assert verdict(made, winner, read(), blind=False) == wanted


@pytest.mark.parametrize(
    ("winner", "wanted"), [(BLIND, "add"), (IN_B, None), (TAKES_2, "remove"), (TAKES_3, None), (REWRITES_3, None)]
)
def test_an_overwrite_of_partitions_depends_on_these_alone(winner: tuple[Action, ...], wanted: str | None) -> None:
    reads = Reads(frozenset(["p=a/1", "p=a/2"]), partitions=frozenset([("a",)]))
    made = Proposal(operation="WRITE", parameters={}, removes=(remove("p=a/1"),), reads_files=True, reads=reads)
    assert verdict(made, winner, read(), blind=False) == wanted


def test_rows_that_must_obey_a_new_constraint_are_all_rows_even_blind_ones() -> None:
    check = RowCheck("rows", "positive", "id > 0", "Fix them.")
    made = Proposal(operation="ADD CONSTRAINT", parameters={}, metadata=metadata(COLUMNS, ["p"]), row_checks=(check,))
    for level in ("Serializable", "WriteSerializable"):
        assert verdict(made, IN_B, read(level), blind=True) == "add"


@pytest.mark.parametrize(
    ("on", "winner", "wanted"),
    [
        ("target.p = 'a' AND target.id = source.id", IN_B, None),
        ("target.p = 'a' AND target.id = source.id", BLIND, "add"),
        ("TARGET.p = 'a' AND target.id = 5 AND source.k = 1", APART, None),
        ("target.id = source.id", IN_B, "add"),
        ("target.p = 'a' OR source.k = 1", IN_B, "add"),
        # whose column p is without a name in front: in doubt the source's
        ("p = 'a' AND target.id = source.id", IN_B, "add"),
        ("NOT (target.p = 'b') AND target.id = source.id", IN_B, None),
    ],
)
def test_a_merge_reads_what_its_condition_asks_of_the_target(
    on: str, winner: tuple[Action, ...], wanted: str | None
) -> None:
    snapshot = read()
    reads = rows_matched(snapshot, on, as_core=True)
    made = Proposal(operation="MERGE", parameters={}, is_blind_append=False, reads_files=True, reads=reads)
    assert verdict(made, winner, snapshot, blind=False) == wanted
    assert rows_matched(snapshot, on, as_core=False) == Reads()


def test_an_engine_that_reads_conditions_in_its_own_way_reads_every_file() -> None:
    snapshot = read()
    assert rows_meeting(snapshot, IN_A, as_core=False) == Reads()
    assert rows_meeting(snapshot, IN_A, as_core=True).files == {"p=a/1", "p=a/2"}
    assert rows_meeting(snapshot, "unknown = 1", as_core=True) == Reads()


def test_statistics_that_cannot_be_read_prove_nothing() -> None:
    snapshot = read()
    broken = add("p=a/odd", 1, partition_values={"p": "a"})
    odd = msgspec.structs.replace(broken, stats='{"numRecords": 1, "minValues": {"id": ')
    assert verdict(change(snapshot, OF_5, "p=a/1"), (odd,), snapshot, blind=False) == "add"


def test_what_was_found_holds_as_long_as_the_files_that_change_are_the_same() -> None:
    store, sought = new_store(), []
    write(store, {0: (MASKED, metadata(COLUMNS, ["p"])), 1: FILES})
    first, *_ = FILES

    def find(snapshot: explorer.Snapshot) -> int:
        sought.append(snapshot.version)
        return snapshot.version

    found = reuse_unchanged(find, lambda _: (first,))
    assert found(explorer.Table(store).snapshot()) == 1
    for version, actions, wanted in (
        (2, BLIND, 1),
        (3, TAKES_2, 1),
        (4, MASKS_1, 4),
        (5, (metadata({**COLUMNS, "more": "long"}, ["p"]),), 5),
    ):
        write(store, {version: actions})
        assert found(explorer.Table(store).snapshot()) == wanted
    assert sought == [1, 4, 5]


# --- what a conflict tells --------------------------------------------------------------------------------------------

AT_2 = "Version 2 (WRITE) came first: "
DOMAIN = DomainMetadata(domain="mine", configuration="{}")


WRITE = CommitInfo(operation="WRITE", is_blind_append=False)


def came_first(*actions: Action, info: CommitInfo | None = WRITE) -> Commit:
    """A commit of version 2."""
    return decode_commit(lines([*([] if info is None else [info]), *actions]), 2, commit_name(2))


@pytest.mark.parametrize(
    ("proposal", "winner", "action", "why"),
    [
        (Proposal(operation="A", parameters={}, protocol=PROTOCOL), PROTOCOL, "protocol", "both change the protocol"),
        (
            Proposal(operation="A", parameters={}),
            metadata(COLUMNS),
            "metaData",
            "it changed the metadata that this commit depends on",
        ),
        (
            Proposal(operation="A", parameters={}, transactions=(TransactionAction(app_id="app", version=2),)),
            TransactionAction(app_id="app", version=1),
            "txn",
            "both write for the application 'app'",
        ),
        (
            Proposal(operation="A", parameters={}, domains=(DOMAIN,)),
            DOMAIN,
            "domainMetadata",
            "both set the domain 'mine'",
        ),
        (
            Proposal(operation="A", parameters={}, removes=(remove("p=a/1"),)),
            remove("p=a/1"),
            "remove",
            "it removed a file, or rows of a file, that this commit removes too: p=a/1",
        ),
        (
            Proposal(operation="A", parameters={}, reads_files=True, is_blind_append=False),
            remove("p=a/1"),
            "remove",
            "it removed a file, or rows of a file, that this commit read: p=a/1",
        ),
        (
            Proposal(operation="A", parameters={}, reads_files=True, is_blind_append=False),
            new("a", 1, 2),
            "add",
            "it added a file that this commit did not see, and would have read: p=a/new",
        ),
    ],
)
def test_a_conflict_tells_its_version_its_kind_and_why(
    proposal: Proposal, winner: Action, action: str, why: str
) -> None:
    found = conflict_with(proposal, came_first(winner), read())
    assert found is not None
    assert (found.version, found.action, found.why) == (2, action, f"{AT_2}{why}.")


@pytest.mark.parametrize(
    ("proposal", "winner"),
    [
        (Proposal(operation="A", parameters={}, protocol=PROTOCOL), TransactionAction(app_id="app", version=1)),
        (Proposal(operation="A", parameters={}), PROTOCOL),
        (Proposal(operation="A", parameters={}, domains=(DOMAIN,)), DomainMetadata(domain="other")),
        # the counter of row ids is no claim of either: it is counted again
        (
            Proposal(operation="A", parameters={}, domains=(DomainMetadata(domain="delta.rowTracking"),)),
            DomainMetadata(domain="delta.rowTracking"),
        ),
        (Proposal(operation="A", parameters={}, removes=(remove("p=a/1"),)), remove("p=a/2")),
    ],
)
def test_changes_of_different_things_are_no_conflict(proposal: Proposal, winner: Action) -> None:
    assert conflict_with(proposal, came_first(winner), read()) is None


@pytest.mark.parametrize(
    ("info", "told"),
    [
        (None, "Version 2 came first: "),
        (CommitInfo(), "Version 2 came first: "),
        (CommitInfo(user_name="ada"), "Version 2 (by ada) came first: "),
        (CommitInfo(operation="WRITE", user_name="a" * 300), f"Version 2 (WRITE by {'a' * 200}) came first: "),
    ],
)
def test_a_conflict_tells_what_is_known_of_the_commit(info: CommitInfo | None, told: str) -> None:
    proposal = Proposal(operation="A", parameters={}, protocol=PROTOCOL)
    found = conflict_with(proposal, came_first(PROTOCOL, info=info), read())
    assert found is not None
    assert found.why == f"{told}both change the protocol."


def test_a_commit_is_ours_by_its_identifier_alone() -> None:
    ours = came_first(info=CommitInfo(txn_id="mine"))
    assert holds_transaction(ours, "mine")
    assert not holds_transaction(ours, "other")
    assert not holds_transaction(came_first(PROTOCOL, info=None), "mine")
