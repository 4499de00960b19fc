"""What VACUUM may delete of every shared table, beside what deltalake would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

import explorer
from explorer.core.errors import CorruptTable, ExplorerError, MalformedAction, UnsupportedFeature, VersionGap
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.golden, pytest.mark.reference]

FOLDERS = {path.name: path for root in (golden_root(), reference_root()) for path in (root / "tables").iterdir()}
AT_LAST: Final = {"kind": "vacuum", "olderThan": "2100-01-01T00:00:00Z"}
REFUSED: Final[dict[str, type[ExplorerError]]] = {
    "delta__bench-basic_catalog_managed__delta": UnsupportedFeature,
    "delta__canonicalized-paths-normal-a": CorruptTable,
    "delta__data-reader-absolute-paths-escaped-chars": CorruptTable,
    "delta__deltalog-commit-info": CorruptTable,
    "delta__deltalog-invalid-protocol-version": UnsupportedFeature,
    "delta__deltalog-state-reconstruction-without-metadata": CorruptTable,
    "delta__deltalog-state-reconstruction-without-protocol": CorruptTable,
    "delta__spark-table-with-dv-special-char": MalformedAction,
    "deltars__err_logs__table_c": VersionGap,
    "deltars__err_logs__table_d": UnsupportedFeature,
    "deltars__err_logs__table_e": UnsupportedFeature,
    "deltars__err_logs__table_h": UnsupportedFeature,
    "deltars__err_logs__table_i": UnsupportedFeature,
    "deltars__simple_table_features": UnsupportedFeature,
    "kernelrs__table-with-geo": UnsupportedFeature,
}
"""The tables of which we plan no vacuum, and as what we refuse them."""
REFUSED_BY_DELTALAKE: Final = {"protocol-features", *REFUSED} - {"delta__spark-table-with-dv-special-char"}


def _ours(path: Path) -> tuple[explorer.Table, set[str]]:
    """What we would delete if every removal and every file were old enough."""
    table = explorer.open_table(str(path))
    plan = table.plan(AT_LAST)
    return table, {file.path for file in plan.files}


def _theirs(path: Path) -> set[str]:
    """What deltalake would delete, of what is there."""
    found = DeltaTable(str(path)).vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
    return {key for key in found if (path / key).exists() and not key.startswith("_delta_log/")}


@pytest.mark.sampled(cases=60)
@pytest.mark.conformance("VACUUM-001", "VACUUM-003")
@pytest.mark.parametrize("name", [name for name in FOLDERS if name not in REFUSED])
def test_what_is_unused_is_what_deltalake_finds_unused_and_never_a_live_file(name: str) -> None:
    """It knows no deletion vectors: of a file whose vector changed it takes the removal for one of the file."""
    table, ours = _ours(FOLDERS[name])
    live = _live(table)
    assert ours.isdisjoint(live)
    if name in REFUSED_BY_DELTALAKE:
        with pytest.raises(DeltaError):
            _theirs(FOLDERS[name])
    else:
        theirs = _theirs(FOLDERS[name])
        assert (ours - theirs, theirs - ours - live) == (set(), set())


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_read_gives_no_list_of_unused_files(name: str) -> None:
    with pytest.raises(REFUSED[name]):
        _ours(FOLDERS[name])
    if name in REFUSED_BY_DELTALAKE:
        with pytest.raises(DeltaError):
            _theirs(FOLDERS[name])


def _live(table: explorer.Table) -> set[str]:
    """The live data files, and the files of their vectors."""
    snapshot = table.snapshot()
    vectors = snapshot.deletion_vectors().column("file").to_pylist()
    return {*snapshot.files().column("path").to_pylist(), *(place for place in vectors if place is not None)}


def test_the_commits_that_the_reference_writes_around_a_vacuum_hold_provenance_alone() -> None:
    """VACUUM START and VACUUM END: no rule asks for them, and they change nothing; a vacuum here writes the same."""
    table = explorer.open_table(str(reference_root() / "tables" / "vacuum"))
    operations = dict(
        zip(*(table.history().column(name).to_pylist() for name in ("version", "operation")), strict=True)
    )
    found = {version: name for version, name in operations.items() if (name or "").startswith("VACUUM")}
    assert set(found.values()) == {"VACUUM START", "VACUUM END"}
    for version in found:
        (line,) = [json.loads(line) for line in table.commit_actions(version)]
        assert list(line) == ["commitInfo"]
        assert line["commitInfo"]["isBlindAppend"]
