"""Random valid histories, built from a plain model, replay to the model at every version and in every way."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import LogListing, list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.log.writing.checkpoint import write_checkpoint as write_own
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.log.writing.checksum import next_checksum, version_checksum
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.protocol.actions import (
    Action,
    Add,
    DeletionVectorDescriptor,
    DomainMetadata,
    Protocol,
    TransactionAction,
)
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, add, lines, new_store, paths, remove, vector

PATHS = ["a", "b/c", "d e", "ä", "p=1/x+y", "100%"]
ENCODED = {"d e": "d%20e", "100%": "100%25"}
COUNTER = iter(range(10**9))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""By this clock no tombstone has expired."""
EVERYTHING = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors", "v2Checkpoint"),
    writer_features=("deletionVectors", "v2Checkpoint", "domainMetadata"),
)
LAYOUTS = {
    "own-v1": CheckpointLayout("v1"),
    "own-v2": CheckpointLayout("v2"),
    "own-sidecars": CheckpointLayout("v2", most_inline=0, sidecar_rows=2),
    "own-json": CheckpointLayout("v2", top_level="json", sidecar_rows=3),
}


class Model:
    """The table as a dict, and the commits that lead to each of its states."""

    def __init__(self, protocol: Protocol = MASKED) -> None:
        self.protocol = protocol
        self.files: dict[str, Add] = {}
        self.transactions: dict[str, int] = {}
        self.domains: dict[str, str] = {}
        self.commits: list[list[Action]] = []
        self.states: list[tuple[dict[str, Add], dict[str, int], dict[str, str]]] = []

    def commit(self, actions: list[Action]) -> None:
        self.commits.append(actions)
        self.states.append((dict(self.files), dict(self.transactions), dict(self.domains)))

    def step(self, draw: st.DataObject) -> None:
        """One commit: each path is left alone, added, removed, re-masked or rewritten in place."""
        actions: list[Action] = [] if self.commits else [self.protocol, METADATA]
        for path in PATHS:
            actions += self._touch(path, draw.draw(st.sampled_from(["", "", "add", "remove", "mask", "again"])))
        app = draw.draw(st.sampled_from(["", "", "one", "two"]))
        if app:
            self.transactions[app] = draw.draw(st.integers(0, 5))
            actions.append(TransactionAction(app_id=app, version=self.transactions[app]))
        actions += self._domain(draw.draw(st.sampled_from(["", "", "set", "drop"])))
        if draw.draw(st.booleans()):
            draw.draw(st.randoms(use_true_random=False)).shuffle(actions)
        self.commit(actions)

    def _touch(self, path: str, what: str) -> list[Action]:
        raw, live = ENCODED.get(path, path), self.files.get(path)
        if what == "add" and live is None:
            self.files[path] = add(raw, records=next(COUNTER) % 97)
            return [self.files[path]]
        if what == "remove" and live is not None:
            del self.files[path]
            return [remove(raw, vector=live.deletion_vector)]
        if what == "mask" and live is not None:
            self.files[path] = add(raw, records=100, vector=vector(f"v{next(COUNTER)}", 2))
            return [remove(raw, vector=live.deletion_vector), self.files[path]]
        if what == "again" and live is not None:
            self.files[path] = add(raw, records=None, vector=live.deletion_vector)
            return [self.files[path]]
        return []

    def _domain(self, what: str) -> list[Action]:
        if what == "set":
            self.domains["d"] = str(next(COUNTER))
            return [DomainMetadata(domain="d", configuration=self.domains["d"])]
        if what == "drop" and "d" in self.domains:
            return [DomainMetadata(domain="d", configuration=self.domains.pop("d"), removed=True)]
        return []

    def checkpoint(self, version: int) -> list[Action]:
        """The actions of a checkpoint of a version, in no particular order."""
        files, transactions, domains = self.states[version]
        actions: list[Action] = [self.protocol, METADATA, *files.values(), remove("long gone")]
        actions += [TransactionAction(app_id=app, version=number) for app, number in transactions.items()]
        actions += [DomainMetadata(domain=name, configuration=text) for name, text in domains.items()]
        random.Random(version).shuffle(actions)
        return actions


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(draw=st.data(), length=st.integers(1, 9))
@pytest.mark.conformance("LOG-020", "REPLAY-001", "REPLAY-003", "TXN-001", "TXN-002")
def test_every_version_is_the_model_by_every_way(draw: st.DataObject, length: int) -> None:
    model, store = Model(), new_store()
    for _ in range(length):
        model.step(draw)
    checkpoints: dict[int, Shape] = draw.draw(
        st.dictionaries(st.integers(0, length - 1), st.sampled_from(SHAPES), max_size=3)
    )
    for version, actions in enumerate(model.commits):
        store.put_if_absent(commit_name(version), lines(actions))
    for version, shape in checkpoints.items():
        write_checkpoint(store, version, model.checkpoint(version), shape)
    first = 0
    if checkpoints and draw.draw(st.booleans()):
        first = draw.draw(st.sampled_from(sorted(checkpoints)))
        for version in range(draw.draw(st.integers(0, first + 1))):
            store.delete(commit_name(version))
        if commit_name(0) in {found.path for found in store.list_from("_delta_log")}:
            first = 0
    _is_the_model(explorer.Table(store), model, first)


@pytest.mark.whole("test_every_version_is_the_model_by_every_way, and tests/golden/test_written_checkpoints.py")
@settings(
    max_examples=max(30, settings().max_examples // 4),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(draw=st.data(), length=st.integers(1, 9))
@pytest.mark.conformance("CKPT-007", "CKPT-027", "COMPACT-002", "CRC-004", "V2CKPT-004")
def test_what_we_write_beside_a_history_tells_the_same(draw: st.DataObject, length: int) -> None:
    """Checkpoints on checkpoints, of us and of others, compactions, and commits that are gone because of them."""
    model, store = Model(protocol=EVERYTHING), new_store()
    for version in range(length):
        model.step(draw)
        store.put_if_absent(commit_name(version), lines(model.commits[version]))
        chosen = draw.draw(st.sampled_from(["", "", *LAYOUTS, *SHAPES]))
        if chosen in LAYOUTS:
            write_own(store, list_log(store), now=EPOCH, new_uuid=uuid.uuid4, layout=LAYOUTS[chosen])
        elif chosen:
            write_checkpoint(store, version, model.checkpoint(version), chosen)
        if version and draw.draw(st.integers(0, 3)) == 0:
            first = draw.draw(st.integers(0, version - 1))
            write_compaction(store, list_log(store), first, version)
    _checksums(model, store)
    listing = list_log(store)
    _is_the_model(explorer.Table(store), model, 0)
    for checkpoint in listing.checkpoints:
        alone = msgspec.structs.replace(listing, checkpoints=(checkpoint,), commits={}, compactions=())
        _holds(store, alone, model, checkpoint.version)
    for compaction in listing.compactions:
        # A compaction makes no version, so the commit that it ends with stays.
        stands_for = range(compaction.version, compaction.last_version)
        fewer = {version: path for version, path in listing.commits.items() if version not in stands_for}
        without = msgspec.structs.replace(listing, checkpoints=(), commits=fewer, compactions=(compaction,))
        _holds(store, without, model, length - 1)


VECTORS = (None, vector("one"), vector("two", 2))
LINES = st.lists(st.tuples(st.sampled_from(PATHS[:3]), st.booleans(), st.sampled_from(VECTORS)), max_size=5)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(LINES, min_size=1, max_size=7), draw=st.data())
@pytest.mark.conformance("REPLAY-012")
def test_commits_of_any_lines_in_any_order_replay_to_the_files_that_live(
    steps: list[list[tuple[str, bool, DeletionVectorDescriptor | None]]], draw: st.DataObject
) -> None:
    """Also commits that contradict themselves, removals of what is not there, and a log that was cleaned up."""
    store, last = new_store(), len(steps)
    for version, step in enumerate([[], *steps]):
        actions: list[Action] = [] if version else [EVERYTHING, METADATA]
        actions += [(add if comes else remove)(ENCODED.get(path, path), vector=mask) for path, comes, mask in step]
        store.put_if_absent(commit_name(version), lines(actions))
    expected = _live_at_every_version(explorer.Table(store), 0)
    cut, gone = draw.draw(st.integers(0, last)), draw.draw(st.integers(0, last))
    write_own(
        store,
        list_log(store),
        cut,
        now=EPOCH,
        new_uuid=uuid.uuid4,
        layout=draw.draw(st.sampled_from([*LAYOUTS.values()])),
    )
    for version in range(min(gone, cut + 1)):
        store.delete(commit_name(version))
    assert _live_at_every_version(explorer.Table(store), cut) == expected[cut:]


def _live_at_every_version(table: explorer.Table, first: int) -> list[set[tuple[str, str | None]]]:
    """The files of every version, which replay and lifetimes tell alike."""
    life, found = table.history_record().lifetimes, []
    for version in range(first, table.latest_version() + 1):
        known = life.files_at(version)
        found.append(set(zip(known["path"].to_pylist(), known["dv_unique_id"].to_pylist(), strict=True)))
        assert found[-1] == paths(table.snapshot(version))
        assert known.num_rows == len(found[-1])
    return found


def _holds(store: LogStore, listing: LogListing, model: Model, version: int) -> None:
    """The files and small actions of a version, by some files of the log alone, and no tombstone of a live file."""
    carried = carry_actions(store, listing.segment(version))
    files, transactions, domains = model.states[version]
    found = carried.files.select(["path", "dv_unique_id"])
    live = set(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert live == {(path, _id(file)) for path, file in files.items()}
    assert {app: txn.version for app, txn in carried.state.transactions.items()} == transactions
    assert {name: domain.configuration for name, domain in carried.state.domains.items()} == domains


def _checksums(model: Model, store: LogStore) -> None:
    """By the step with the files before, and by the word of the commit where that tells: as by the whole state."""
    listing = list_log(store).without_checkpoints(range(len(model.commits)))
    before = None
    for version in range(len(model.commits)):
        segment = listing.segment(version)
        commits = list(read_commits(store, segment.commits))
        base = checkpoint_reader(store, segment)
        state, files = replay_state(base, commits, segment.version), replay_files(base, commits)
        full = version_checksum(state, files, None)
        assert full is not None
        assert full.num_files == len(model.states[version][0])
        if before is not None:
            assert next_checksum(before[0], commits[-1], state, before[1]) == full
        before = msgspec.json.encode(full), files


def _is_the_model(table: explorer.Table, model: Model, first: int) -> None:
    last = len(model.commits) - 1
    assert table.version_range()[0] <= first
    history = {row["version"]: row for row in table.history().to_pylist()}
    life = table.history_record().lifetimes
    for version in range(first, last + 1):
        files, transactions, domains = model.states[version]
        expected = {(path, _id(file)) for path, file in files.items()}
        snapshot = table.snapshot(version)
        assert paths(snapshot) == expected
        assert snapshot.transactions == transactions
        assert snapshot.domain_metadata == domains
        known = life.files_at(version)
        assert set(zip(known["path"].to_pylist(), known["dv_unique_id"].to_pylist(), strict=True)) == expected
        if version in history:
            assert history[version]["num_files"] == len(files)
            assert history[version]["num_bytes"] == 100 * len(files)
            masked = sum(file.deletion_vector.cardinality for file in files.values() if file.deletion_vector)
            assert history[version]["num_deleted_rows"] == masked
        _diffs(table, model, first, version)


def _diffs(table: explorer.Table, model: Model, first: int, version: int) -> None:
    """Every pair up to this version: the diff is that of the two dicts."""
    for other in range(first, version + 1):
        before, after = model.states[other][0], model.states[version][0]
        diff = table.diff(other, version)
        rows = {kind: set() for kind in ("added", "removed", "remasked")}
        for row in diff.files.to_pylist():
            rows[row["change"]].add(row["path"])
        assert rows["added"] == set(after) - set(before)
        assert rows["removed"] == set(before) - set(after)
        both = set(before) & set(after)
        assert rows["remasked"] == {path for path in both if _id(before[path]) != _id(after[path])}
        assert diff.totals.files_added == len(rows["added"])
        assert diff.totals.files_remasked == len(rows["remasked"])


def _id(file: Add) -> str | None:
    return None if file.deletion_vector is None else file.deletion_vector.unique_id
