"""Tables whose commits a catalog manages: read with what the catalog says, refused without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError, UnsupportedFeature
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.protocol.actions import CommitInfo, Protocol
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, add, lines, new_store, paths, write
from tests.support.shared_tables import golden_root

FEATURES = ("catalogManaged",)
MANAGED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=FEATURES,
    writer_features=(*FEATURES, "inCommitTimestamp"),
)
UUIDS = {name: f"0000000{name}-0000-4000-8000-000000000000" for name in "123"}


def _name(version: int, which: str) -> str:
    return f"{version:020d}.{UUIDS[which]}.json"


def _sample() -> explorer.Table:
    """Published to 7, a checkpoint at 2, staged 7 and 8 with a rejected 8 and 10 beside them; 9 comes inline."""
    store = new_store()
    first = (CommitInfo(in_commit_timestamp=1), MANAGED, METADATA, add("f0"))
    write(store, {0: first} | {version: (add(f"f{version}"),) for version in range(1, 7)} | {7: (add("published"),)})
    write_checkpoint(store, 2, (MANAGED, METADATA, add("f0"), add("f1"), add("f2")), "classic")
    for version, which, file in ((7, "1", "ratified"), (8, "1", "f8"), (8, "2", "rejected"), (10, "3", "beyond")):
        store.put_if_absent(f"_delta_log/_staged_commits/{_name(version, which)}", lines([add(file)]))
    catalog = CatalogCommits(9, {7: _name(7, "1"), 8: _name(8, "1"), 9: lines([add("inline")])})
    return explorer.Table(store, catalog)


@pytest.mark.conformance("CATALOG-002", "CATALOG-003")
def test_the_catalog_s_commits_count_and_nothing_beyond_its_latest_version() -> None:
    table = _sample()
    assert table.latest_version() == 9
    everything = {f"f{version}" for version in range(7)} | {"ratified", "f8", "inline"}
    assert {path for path, _ in paths(table.snapshot())} == everything
    assert {path for path, _ in paths(table.snapshot(7))} == everything - {"f8", "inline"}
    assert table.history().column("version").to_pylist()[:3] == [9, 8, 7]
    assert table.diff(6, 9).totals.files_added == 3


@pytest.mark.conformance("CATALOG-005")
def test_its_data_files_are_not_cleaned_up_here() -> None:
    table = _sample()
    table.store.put_if_absent("unused", b"1")
    plan = table.plan({"kind": "vacuum", "olderThan": "2100-01-01T00:00:00Z"})
    assert plan.files == ()
    assert "catalog-managed" in {guard.name for guard in plan.guards if guard.status == "fail"}
    assert table.commit(plan).outcome == "rejected"
    assert "unused" in set(table.store.list_tree())


@pytest.mark.conformance("CATALOG-004")
@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "set-description", "description": "x"},
        {"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "true"}},
        {"kind": "restore", "version": 3},
    ],
    ids=lambda intent: intent["kind"],
)
def test_nothing_is_committed_past_the_catalog(intent: dict[str, Any]) -> None:
    table = _sample()
    before = {found.path for found in table.store.list_from("_delta_log")}
    plan = table.plan(intent)
    (guard,) = [guard for guard in plan.blocking if guard.name == "protocol-allows-writer"]
    assert guard.evidence["missing"] == ["catalogManaged"]
    assert table.commit(plan).outcome == "rejected"
    assert {found.path for found in table.store.list_from("_delta_log")} == before


@pytest.mark.conformance("CATALOG-005", "CKPT-006")
def test_a_version_that_is_not_published_gets_no_checkpoint() -> None:
    table = _sample()
    plan = table.plan({"kind": "checkpoint"})
    assert [(guard.name, guard.evidence["version"]) for guard in plan.blocking] == [("published", 8)]
    assert table.commit(plan).outcome == "rejected"


@pytest.mark.conformance("CATALOG-001")
def test_without_its_catalog_the_table_is_refused() -> None:
    table = explorer.Table(_sample().store)
    with pytest.raises(UnsupportedFeature, match="catalogManaged"):
        table.snapshot()


@pytest.mark.parametrize(
    "catalog",
    [
        CatalogCommits(9, {8: _name(7, "1")}),
        CatalogCommits(9, {8: "00000000000000000008.json"}),
        CatalogCommits(7, {8: _name(8, "1")}),
        CatalogCommits(9, {8: f"../../{_name(8, '1')}"}),
    ],
    ids=["another version", "no staged commit", "above the latest", "a path"],
)
def test_an_answer_that_cannot_be_is_refused(catalog: CatalogCommits) -> None:
    with pytest.raises(RequestError, match="staged commit"):
        explorer.Table(_sample().store, catalog)


@pytest.mark.golden
def test_a_managed_golden_table_reads_its_staged_commits() -> None:
    folder = golden_root() / "tables" / "delta__bench-basic_catalog_managed__delta"
    staged = sorted(path.name for path in (folder / "_delta_log" / "_staged_commits").iterdir())
    catalog = CatalogCommits(3, {int(name[:20]): name for name in staged})
    table = explorer.open_table(folder, catalog=catalog)
    assert table.latest_version() == 3
    live = {path for path, _ in paths(table.snapshot(1))}
    for name in staged:
        for line in (folder / "_delta_log" / "_staged_commits" / name).read_text("utf-8").splitlines():
            action = json.loads(line)
            live |= {action["add"]["path"]} if "add" in action else set()
            live -= {action["remove"]["path"]} if "remove" in action else set()
    assert {path for path, _ in paths(table.snapshot())} == live
