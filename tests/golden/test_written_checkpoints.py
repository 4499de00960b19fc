"""Checkpoints of our own on tables of others: the state that they give is the one the log gave without them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.core.errors import ExplorerError
from explorer.core.log.log_segment import LogListing, list_log
from explorer.core.log.replay import checkpoint_reader, replay_files, replay_state
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.log.writing.writer_state import CarriedActions, carry_actions
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.raw_actions import unknown_members
from explorer.core.protocol.table_properties.values import flag
from explorer.core.versions.snapshot import Snapshot
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import REFUSED, agrees, expected
from tests.support.logs.small_logs import new_store
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.golden, pytest.mark.reference]

GOLDEN, REFERENCE = golden_root(), reference_root()
EXPECTED = expected(GOLDEN)
LONG_AGO = datetime(1960, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAYOUTS = {
    "v1": CheckpointLayout("v1"),
    "v2": CheckpointLayout("v2"),
    "v2-json": CheckpointLayout("v2", top_level="json", sidecar_rows=3),
    "v2-sidecars": CheckpointLayout("v2", most_inline=0, sidecar_rows=2),
}
UNREADABLE = {*REFUSED, "deltars__err_logs__table_c", "deltars__err_logs__table_h", "deltars__err_logs__table_i"}
"""Tables whose newest version cannot be read."""
BASE_ALONE = {"deltars__table-with-domain-metadata", "deltars__checkpoint_with_partitions"}
"""Tables of which no more is left than the checkpoint of the newest version."""


def _tables() -> Iterator[Any]:
    for kind, root in (("golden", GOLDEN), ("reference", REFERENCE)):
        for path in sorted((root / "tables").iterdir()):
            if path.name not in UNREADABLE:
                yield pytest.param(path, id=f"{kind}-{path.name}")


@pytest.mark.sampled(cases=80)
@pytest.mark.parametrize("path", list(_tables()))
@pytest.mark.conformance("CKPT-007", "CKPT-022", "CKPT-025", "CKPT-027", "TXN-005", "DOMAIN-003", "ROWTRACK-003")
def test_a_checkpoint_of_ours_gives_the_state_that_it_was_made_of(path: Path) -> None:
    store = _copied_log(path)
    listing = list_log(store)
    plain, before = _with_fewest_checkpoints(store, listing)
    for checkpoint in set(listing.checkpoints) - set(plain.checkpoints):
        for part in checkpoint.parts:
            store.delete(part.path)
    for name in at_least_one(LAYOUTS if _has_v2(before) else ("v1",)):
        # By this clock no tombstone has expired.
        written = write_checkpoint(store, plain, now=LONG_AGO, new_uuid=uuid.uuid4, layout=LAYOUTS[name])
        if path.name in BASE_ALONE:
            assert written.hint is None
            return
        assert written.hint is not None
        found = list_log(store)
        (own,) = (each for each in found.checkpoints if each.parts[0].path == written.path)
        alone = msgspec.structs.replace(found, checkpoints=(own,), commits={}, compactions=())
        _same(carry_actions(store, alone.segment()), before)
        if path.parent.parent == GOLDEN and path.name != "dat__no_stats":
            _as_expected(store, alone, path.name)
        store.delete(written.path)


def _copied_log(path: Path) -> LogStore:
    """The log alone, in memory."""
    store = new_store()
    for file in sorted((path / "_delta_log").rglob("*")):
        if file.is_file():
            store.put(file.relative_to(path).as_posix(), file.read_bytes())
    return store


def _with_fewest_checkpoints(store: LogStore, listing: LogListing) -> tuple[LogListing, CarriedActions]:
    """The state of the newest version by commits alone if they are there, else with the fewest checkpoints."""
    checkpoints = sorted({found.version for found in listing.checkpoints})
    for kept in range(len(checkpoints) + 1):
        plain = listing.without_checkpoints(checkpoints[kept:])
        try:
            return plain, carry_actions(store, plain.segment(listing.latest))
        except ExplorerError:
            if kept == len(checkpoints):
                raise
    raise AssertionError


def _has_v2(carried: CarriedActions) -> bool:
    return "v2Checkpoint" in (carried.state.protocol.reader_features or ())


def _same(found: CarriedActions, meant: CarriedActions) -> None:
    assert found.state.transactions == meant.state.transactions
    assert found.state.domains == meant.state.domains
    assert found.state.metadata.to_wire() == meant.state.metadata.to_wire()
    assert found.state.protocol.to_wire() == meant.state.protocol.to_wire()
    adds, others = _rows(found.adds(7)), _rows(meant.adds(5))
    as_json = flag(meant.state.metadata.configuration, "delta.checkpoint.writeStatsAsJson", default=True)
    for key, add in others.items():
        stats = add.pop("stats", None)
        if stats is not None:
            assert adds[key].get("stats") == (stats if as_json else None)
        if key in adds:
            adds[key].pop("stats", None)
    assert adds == others
    removes, others = _rows(found.removes(7)), _rows(meant.removes(5))
    for remove in others.values():
        remove.pop("stats", None)
        remove.pop("tags", None)
    assert removes == others


def _rows(chunks: Iterator[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """File actions as plain objects, however they were stored."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for chunk in chunks:
        rows = (
            [_plain(line) | unknown_members(line) for line in chunk]
            if isinstance(chunk, list)
            else chunk.to_pylist(maps_as_pydicts="strict")
        )
        for row in rows:
            action = {name: item for name, item in row.items() if item is not None and name not in _NOT_COMPARED}
            vector = action.pop("deletionVector", None)
            if vector is not None:
                action["deletionVector"] = {name: item for name, item in sorted(vector.items()) if item is not None}
            found[canonical_key(action["path"]), str(action.get("deletionVector"))] = action
    return found


_NOT_COMPARED = {"dataChange", "stats_parsed", "partitionValues_parsed"}


def _plain(line: Any) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(_whole(line)))
    return value


def _whole(line: Any) -> dict[str, Any]:
    fields = zip(line.__struct_fields__, line.__struct_encode_fields__, strict=True)
    values = {encoded: getattr(line, name) for name, encoded in fields if name != "unknown"}
    return {name: item for name, item in values.items() if item is not None and item != msgspec.Raw()}


def _as_expected(store: LogStore, alone: LogListing, name: str) -> None:
    """What others computed for the version is what our checkpoint says."""
    version = next((each for each in EXPECTED[name]["versions"] if each["version"] == alone.latest), None)
    replay = None if version is None else version.get("replay")
    if replay is None or "error" in replay:
        return
    segment = alone.segment()
    base = checkpoint_reader(store, segment)
    state = replay_state(base, [], segment.version)
    agrees(Snapshot(store, alone.latest, state, lambda: replay_files(base, []), lambda: EPOCH), replay)
