"""Action reconciliation: which action counts for a file, an application, a domain, the protocol and the metadata."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import (
    Action,
    Add,
    AddCDCFile,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Remove,
    Sidecar,
    TransactionAction,
)
from explorer.core.versions.lifetimes.lifetimes import NEVER
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    SCHEMA,
    add,
    new_store,
    paths,
    remove,
    table,
    vector,
)

START = (MASKED, METADATA)
ONE, TWO = vector("one"), vector("two")


@pytest.mark.conformance("REPLAY-003")
def test_a_file_is_followed_from_mask_to_mask_by_path_and_vector() -> None:
    found = table(
        {
            0: (*START, add("p")),
            1: (remove("p"), add("p", vector=ONE)),
            2: (remove("p", vector=ONE), add("p", vector=TWO)),
            3: (remove("p", vector=ONE),),
        }
    )
    assert paths(found.snapshot(1)) == {("p", ONE.unique_id)}
    assert paths(found.snapshot(2)) == {("p", TWO.unique_id)}
    # Version 3 removes a pair that is no longer live: the file with the newer vector stays.
    assert paths(found.snapshot(3)) == {("p", TWO.unique_id)}


_STEP = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=4, unique_by=lambda pair: pair[0])


@pytest.mark.conformance("REPLAY-002", "REPLAY-007")
@given(history=st.lists(_STEP, min_size=1, max_size=6), shape=st.sampled_from(SHAPES), data=st.data())
def test_the_newest_action_of_a_path_decides_read_forwards_or_backwards(
    history: list[list[tuple[str, bool]]], shape: Shape, data: st.DataObject
) -> None:
    forwards: dict[str, bool] = {}
    states = [dict(forwards) for step in history if forwards.update(step) is None]
    backwards: dict[str, bool] = {}
    for step in reversed(history):
        for path, live in step:
            backwards.setdefault(path, live)
    assert forwards == backwards
    commits: dict[int, list[Action]] = {
        version: [add(path) if live else remove(path) for path, live in step] for version, step in enumerate(history)
    }
    commits[0] = [*START, *commits[0]]
    store = new_store()
    base = data.draw(st.integers(0, len(history) - 1))
    files = [add(path) for path, there in states[base].items() if there]
    write_checkpoint(store, base, [*START, *files], shape)
    found = table(commits, store)
    assert paths(found.snapshot()) == {(path, None) for path, live in backwards.items() if live}


@pytest.mark.conformance("REPLAY-004", "REPLAY-006")
@given(steps=st.lists(st.sampled_from(["add", "mask", "remove", "stray"]), min_size=1, max_size=12))
def test_no_pair_is_live_and_removed_at_once(steps: list[str]) -> None:
    commits: dict[int, list[Action]] = {0: [*START]}
    live: Add | None = None
    for version, step in enumerate(steps, 1):
        gone: list[Action] = [] if live is None else [remove("p", vector=live.deletion_vector)]
        mask = vector(f"v{version}") if step == "mask" else None
        live = live if step == "stray" else None if step == "remove" else add("p", vector=mask)
        stray: list[Action] = [remove("never added", vector=vector(f"s{version}"))]
        commits[version] = stray if step == "stray" else [*gone, *([] if live is None else [live])]
        if gone and live is not None and step == "add":
            commits[version] = [live]
    found = table(commits)
    life = found.history_record().lifetimes
    for version in range(len(commits)):
        lives = life.take(np.flatnonzero(life.live(version)))
        keys = list(zip(lives["path"].to_pylist(), lives["dv_unique_id"].to_pylist(), strict=True))
        assert len(set(keys)) == len(keys) <= 1
        assert set(keys) == paths(found.snapshot(version))
    last = None if live is None or live.deletion_vector is None else live.deletion_vector.unique_id
    assert paths(found.snapshot()) == (set() if live is None else {("p", last)})


@pytest.mark.conformance("REPLAY-005")
def test_a_removed_file_that_is_added_again_is_live_and_no_tombstone() -> None:
    found = table({0: (*START, add("p", vector=ONE)), 1: (remove("p", vector=ONE),), 2: (add("p", vector=ONE),)})
    assert paths(found.snapshot(1)) == set()
    assert paths(found.snapshot(2)) == {("p", ONE.unique_id)}
    life = found.history_record().lifetimes
    assert sorted(life.removed.tolist()) == [1, NEVER]
    assert life.live(2).tolist() == [False, True]


@pytest.mark.conformance("REPLAY-006")
@pytest.mark.parametrize("shape", SHAPES)
def test_removing_a_file_that_no_one_added_is_no_error(shape: Shape) -> None:
    store = new_store()
    write_checkpoint(store, 3, [*START, add("a")], shape)
    found = table({3: (), 4: (remove("gone long ago"), remove("a", vector=ONE))}, store)
    assert paths(found.snapshot()) == {("a", None)}
    assert found.history(1).to_pylist()[0]["num_files"] == 1


@pytest.mark.conformance("FILE-003")
def test_a_bare_removal_cancels_its_file_counts_as_a_change_and_has_no_time() -> None:
    found = table({0: (*START, add("a"), add("b")), 1: (b'{"remove":{"path":"a"}}',)})
    assert paths(found.snapshot()) == {("b", None)}
    assert found.history(1).to_pylist()[0]["data_change"] is True
    life = found.history_record().lifetimes
    assert life.deletion_times[life.removed == 1].tolist() == [0]


@pytest.mark.conformance("FILE-004")
@pytest.mark.parametrize(("extended", "size"), [(True, 70), (False, None), (None, None)])
def test_what_a_removal_says_of_its_file_counts_only_if_it_says_that_it_does(
    extended: bool | None, size: int | None
) -> None:
    store = new_store()
    write_checkpoint(store, 2, [*START, add("b")], "classic")
    said = Remove(
        path="from before the record", extended_file_metadata=extended, size=70, partition_values={}, stats="{}"
    )
    found = table({1: (said,), 2: (), 3: ()}, store)
    row = next(row for row in found.history().to_pylist() if row["version"] == 1)
    assert (row["num_files_removed"], row["bytes_removed"]) == (1, size)


@pytest.mark.conformance("FILE-004")
def test_the_size_of_a_known_file_is_that_of_its_add() -> None:
    lying = Remove(path="a", size=7, partition_values={"p": "x"})
    found = table({0: (*START, add("a")), 1: (lying,)})
    assert found.history(1).to_pylist()[0]["bytes_removed"] == 100


@pytest.mark.conformance("FILE-009")
@pytest.mark.parametrize("checkpointed", [False, True])
def test_adding_a_live_file_again_replaces_all_that_was_known_of_it(checkpointed: bool) -> None:
    store = new_store()
    first = add("a", records=5, tags={"k": "old"}, base_row_id=7)
    if checkpointed:
        write_checkpoint(store, 0, [*START, first], "classic")
    again = Add(path="a", size=200, modification_time=9, stats='{"numRecords":6}', data_change=False)
    found = table({0: (*START, first), 1: (again,)}, store)
    (row,) = found.snapshot().files().to_pylist()
    assert (row["size"], row["modification_time"], row["num_records"]) == (200, 9, 6)
    assert (row["tags"], row["base_row_id"]) == (None, None)


@pytest.mark.conformance("FILE-013")
@pytest.mark.parametrize("shape", SHAPES)
def test_tombstones_are_no_files(shape: Shape) -> None:
    store = new_store()
    gone = [Remove(path=f"gone {i}", deletion_timestamp=1, size=5, partition_values={}) for i in range(3)]
    write_checkpoint(store, 1, [*START, gone[0], add("a"), *gone[1:]], shape)
    found = table({1: (), 2: (remove("also gone"),)}, store)
    for version in (1, 2):
        snapshot = found.snapshot(version)
        assert paths(snapshot) == {("a", None)}
        assert (snapshot.num_files, snapshot.size_in_bytes) == (1, 100)


@pytest.mark.conformance("PATH-004")
@pytest.mark.parametrize(
    ("added", "removed"),
    [
        ("file:///t/p%20q", "/t/p%20q"),
        ("/t/p%20q", "file:/t/p%20q"),
        ("file:/t/p%40q", "file:///t/p@q"),
        ("a%2fb", "a%2Fb"),
        ("S3://bucket/k", "s3://bucket/k"),
    ],
)
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_file_removed_under_another_spelling_is_gone(added: str, removed: str, checkpointed: bool) -> None:
    store = new_store()
    if checkpointed:
        write_checkpoint(store, 0, [*START, add(added)], "classic")
    found = table({0: (*START, add(added)), 1: (remove(removed),)}, store)
    assert found.snapshot(0).num_files == 1
    assert paths(found.snapshot(1)) == set()


@pytest.mark.conformance("TXN-001", "TXN-002")
@pytest.mark.parametrize("checkpointed", [False, True])
def test_of_each_application_the_newest_number_counts_even_if_it_is_smaller(checkpointed: bool) -> None:
    store = new_store()
    first = TransactionAction(app_id="one", version=10)
    if checkpointed:
        write_checkpoint(store, 0, [*START, first], "classic")
    found = table({0: (*START, first), 1: (TransactionAction(app_id="two", version=7),)}, store)
    assert found.snapshot().transactions == {"one": 10, "two": 7}
    found.store.put_if_absent(commit_name(2), b'{"txn":{"appId":"one","version":4}}')
    found.refresh()
    assert found.snapshot(2).transactions == {"one": 4, "two": 7}
    assert found.snapshot(1).transactions == {"one": 10, "two": 7}


def _domain(text: str, *, removed: bool = False) -> DomainMetadata:
    return DomainMetadata(domain="d", configuration=text, removed=removed)


@pytest.mark.conformance("REPLAY-008", "DOMAIN-001")
def test_a_domain_is_what_was_last_said_of_it_and_unknown_ones_are_shown() -> None:
    other = DomainMetadata(domain="some.vendor's own", configuration="kept as it is")
    commits = {0: (*START, _domain("1"), other), 1: (_domain("1", removed=True),), 2: (_domain("2"),)}
    found = table(commits)
    kept = {"some.vendor's own": "kept as it is"}
    assert found.snapshot(0).domain_metadata == {"d": "1"} | kept
    assert found.snapshot(1).domain_metadata == kept
    assert found.snapshot(2).domain_metadata == {"d": "2"} | kept


@pytest.mark.conformance("DOMAIN-005")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_removed_domain_in_a_checkpoint_is_not_shown(shape: Shape) -> None:
    store = new_store()
    dead = DomainMetadata(domain="dead", configuration="x", removed=True)
    write_checkpoint(store, 0, [*START, _domain("1"), dead], shape)
    assert table({0: START}, store).snapshot().domain_metadata == {"d": "1"}


@pytest.mark.conformance("REPLAY-009", "CKPT-013")
def test_provenance_is_known_of_the_commits_that_are_left_and_of_no_other() -> None:
    store = new_store()
    write_checkpoint(store, 1, [*START, add("a")], "classic")
    found = table({1: (add("a"),), 2: (CommitInfo(operation="WRITE"), add("b"))}, store)
    rows = {row["version"]: row["operation"] for row in found.history().to_pylist()}
    assert rows == {2: "WRITE", 1: None}
    assert found.snapshot(1).num_files == 1


@pytest.mark.conformance("REPLAY-010")
def test_sidecars_and_checkpoint_metadata_in_a_commit_lead_nowhere() -> None:
    stray = (
        Sidecar(path="no-such-sidecar.parquet", size_in_bytes=1, modification_time=1),
        CheckpointMetadata(version=7),
        add("b"),
    )
    assert paths(table({0: (*START, add("a")), 1: stray}).snapshot()) == {("a", None), ("b", None)}


@pytest.mark.conformance("REPLAY-011")
def test_change_files_add_and_remove_nothing() -> None:
    changes = AddCDCFile(path="a", size=5), AddCDCFile(path="b", size=5)
    found = table({0: (*START, add("a")), 1: (add("b"), *changes), 2: (AddCDCFile(path="c", size=5),)})
    assert paths(found.snapshot()) == {("a", None), ("b", None)}
    assert found.snapshot().size_in_bytes == 200


@pytest.mark.conformance("REPLAY-012")
@pytest.mark.parametrize(
    ("commit", "live"),
    [
        ((add("a"), remove("a")), set[tuple[str, str | None]]()),
        ((remove("a"), add("a")), {("a", None)}),
        ((add("a", records=1), add("a", records=2)), {("a", None)}),
    ],
    ids=["added, then removed", "removed, then added", "added twice"],
)
def test_lines_of_a_commit_that_contradicts_itself_apply_in_their_order(
    commit: tuple[Action, ...], live: set[tuple[str, str | None]]
) -> None:
    found = table({0: START, 1: commit})
    assert paths(found.snapshot()) == live
    known = found.history_record().lifetimes.files_at(1)
    assert set(zip(known["path"].to_pylist(), known["dv_unique_id"].to_pylist(), strict=True)) == live
    last = commit[-1]
    assert [row["stats"] for row in found.snapshot().logical_files.to_pylist()] == (
        [last.stats] if isinstance(last, Add) else []
    )


@pytest.mark.conformance("REPLAY-013")
def test_what_a_checkpoint_says_of_data_change_is_not_taken_for_the_commits_word() -> None:
    store = new_store()
    write_checkpoint(store, 1, [*START, add("a", data_change=False), add("b", data_change=False)], "classic")
    found = table({0: (*START, add("a")), 1: (add("b"),), 2: (add("c", data_change=False),)}, store)
    assert paths(found.snapshot(1)) == {("a", None), ("b", None)}
    rows = {row["version"]: row["data_change"] for row in found.history().to_pylist()}
    assert rows == {0: True, 1: True, 2: False}


@pytest.mark.conformance("META-003")
def test_new_metadata_replaces_the_old_whole() -> None:
    partitioned = json.loads(SCHEMA)
    partitioned["fields"].append({"name": "p", "type": "string", "nullable": True, "metadata": {}})
    first = Metadata(
        id="x",
        name="orders",
        description="all of them",
        schema_string=json.dumps(partitioned),
        partition_columns=("p",),
        configuration={"delta.appendOnly": "true", "owner": "me"},
        created_time=5,
    )
    found = table({0: (PROTOCOL, first), 1: (Metadata(id="x", schema_string=SCHEMA, configuration={"k": "v"}),)})
    before, after = found.snapshot(0), found.snapshot(1)
    assert (before.metadata.name, before.partition_columns) == ("orders", ("p",))
    assert after.properties == {"k": "v"}
    assert (after.metadata.name, after.metadata.description, after.metadata.created_time) == (None, None, None)
    assert after.partition_columns == ()
    assert [field.name for field in after.schema.fields] == ["id"]
