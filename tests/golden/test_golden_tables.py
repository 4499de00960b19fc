"""Every golden table at every version with an expectation: right, or refused for a named reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import CorruptTable, UnsupportedFeature, VersionGap, VersionNotFound
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import REFUSED, agrees, expected, found_files, parsed_schema
from tests.support.shared_tables import golden_root

pytestmark = pytest.mark.golden

ROOT = golden_root()
EXPECTED = expected(ROOT)

REFUSED_LATER = {("deltars__err_logs__table_h", 9999), ("deltars__err_logs__table_i", 9999)}
"""Versions whose own protocol asks for catalogOwned, in tables whose earlier versions do not."""


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.conformance("REPLAY-001", "REPLAY-003")
def test_every_version_agrees_or_is_refused_by_name(name: str) -> None:
    for version in at_least_one(EXPECTED[name]["versions"]):
        replay = version.get("replay") or {"error": "none"}
        if name in REFUSED and REFUSED[name][1] == "no schemaString":
            found = _snapshot(name, version["version"])
            agrees(found, replay)
            with pytest.raises(CorruptTable, match="no schemaString"):
                found.require_schema()
        elif name in REFUSED:
            kind, reason = REFUSED[name]
            with pytest.raises(kind, match=reason):
                _snapshot(name, version["version"])
        elif (name, version["version"]) in REFUSED_LATER:
            with pytest.raises(UnsupportedFeature, match="catalogOwned"):
                _snapshot(name, version["version"])
        elif "error" in replay:
            with pytest.raises((VersionGap, VersionNotFound)):
                _snapshot(name, version["version"])
        else:
            agrees(_snapshot(name, version["version"]), replay)


def test_at_most_the_refused_tables_are_not_read() -> None:
    assert set(EXPECTED) >= set(REFUSED)
    assert len(EXPECTED) - len(REFUSED) >= 150


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in REFUSED])
def test_lifetimes_give_the_same_files_as_replay_at_every_version(name: str) -> None:
    table = explorer.open_table(str(ROOT / "tables" / name))
    try:
        first, last = table.version_range()
    except VersionGap:
        assert name == "deltars__err_logs__table_c"
        return
    if name in {"deltars__err_logs__table_h", "deltars__err_logs__table_i"}:
        with pytest.raises(UnsupportedFeature, match="A catalog manages the commits of this table"):
            table.history_record()
        return
    life = table.history_record().lifetimes
    for version in at_least_one(range(first, last + 1)):
        if (name, version) in REFUSED_LATER:
            continue
        files = table.snapshot(version).files()
        by_replay, by_lifetimes = found_files(files), found_files(life.files_at(version))
        without_counts = {key: value[:3] + value[4:] for key, value in by_replay.items()}
        assert without_counts == {key: value[:3] + value[4:] for key, value in by_lifetimes.items()}
        # A checkpoint may have lost statistics that the commits still have; what both know agrees.
        for key, value in by_replay.items():
            assert value[3] in (None, by_lifetimes[key][3])


def _with_checkpoints_over_commits() -> list[str]:
    """Tables that hold a checkpoint and every commit up to it."""
    names = []
    for name, record in EXPECTED.items():
        listing = record["listing"]
        versions = [*listing["single"], *(multi[0] for multi in listing["multi"]), *map(int, listing["v2"])]
        whole = [version for version in versions if set(range(version + 1)) <= set(listing["commits"])]
        if whole and name not in REFUSED:
            names.append(name)
    return names


@pytest.mark.parametrize("name", _with_checkpoints_over_commits())
@pytest.mark.conformance("REPLAY-001")
def test_commits_alone_give_the_same_state_as_checkpoints(name: str) -> None:
    table = explorer.open_table(str(ROOT / "tables" / name))
    listing = list_log(table.store)
    compared = 0
    for checkpoint in listing.checkpoints:
        if not set(range(checkpoint.version + 1)) <= set(listing.commits):
            continue
        segment = listing.segment(checkpoint.version)
        plain = listing.segment(checkpoint.version, use_checkpoints=False)
        commits = list(read_commits(table.store, plain.commits))
        base, start = checkpoint_reader(table.store, segment), checkpoint_reader(table.store, plain)
        assert found_keys(replay_files(base, [])) == found_keys(replay_files(start, commits))
        one, other = replay_state(base, [], segment.version), replay_state(start, commits, plain.version)
        assert one.protocol == other.protocol
        assert one.metadata.configuration == other.metadata.configuration
        assert parsed_schema(one.metadata.schema_string) == parsed_schema(other.metadata.schema_string)
        assert one.transactions == other.transactions
        assert one.domains == other.domains
        compared += 1
    assert compared


def found_keys(files: Any) -> set[tuple[Any, ...]]:
    """What of the files every way of replay must give, statistics aside."""
    return {
        (*key, *value[:2], tuple(sorted(value[2].items())), *value[4:]) for key, value in found_files(files).items()
    }


def _snapshot(name: str, version: int) -> explorer.Snapshot:
    snapshot = explorer.open_table(str(ROOT / "tables" / name)).snapshot(version)
    snapshot.files()
    return snapshot


def test_the_schema_is_written_back_as_it_was_read() -> None:
    for name in at_least_one(EXPECTED):
        version = 13 if name.startswith("deltars__err_logs__table_") else None
        if name in REFUSED or name == "deltars__err_logs__table_c":
            continue
        snapshot = explorer.open_table(str(ROOT / "tables" / name)).snapshot(version)
        assert _normal(json.loads(snapshot.schema.to_json())) == _normal(json.loads(snapshot.metadata.schema_string))


def _normal(value: Any) -> Any:
    """Spellings that mean the same: a decimal with a space after its comma."""
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return value.replace(", ", ",") if isinstance(value, str) and value.startswith("decimal(") else value
