"""What VACUUM may delete of every shared table, beside what deltalake would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

import explorer
from explorer.core.errors import ExplorerError
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.golden, pytest.mark.reference]

FOLDERS = {path.name: path for root in (golden_root(), reference_root()) for path in (root / "tables").iterdir()}
AT_LAST: Final = {"kind": "vacuum", "olderThan": "2100-01-01T00:00:00Z"}


def _ours(path: Path) -> tuple[explorer.Table, set[str]] | None:
    """What we would delete if every removal and every file were old enough."""
    try:
        table = explorer.open_table(str(path))
        plan = table.plan(AT_LAST)
    except ExplorerError:
        return None
    return table, {file.path for file in plan.files}


def _theirs(path: Path) -> set[str] | None:
    """What deltalake would delete, of what is there."""
    try:
        table = DeltaTable(str(path))
        found = table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
    except (DeltaError, OSError):
        return None
    return {key for key in found if (path / key).exists() and not key.startswith("_delta_log/")}


@pytest.mark.conformance("VACUUM-001", "VACUUM-003")
@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_unused_is_what_deltalake_finds_unused_and_never_a_live_file(name: str) -> None:
    """It knows no deletion vectors: of a file whose vector changed it takes the removal for one of the file."""
    found = _ours(FOLDERS[name])
    if found is None:
        pytest.skip("the table is one that we refuse")
    table, ours = found
    live = _live(table)
    assert ours.isdisjoint(live)
    theirs = _theirs(FOLDERS[name])
    if theirs is not None:
        assert (ours - theirs, theirs - ours - live) == (set(), set())


def _live(table: explorer.Table) -> set[str]:
    """The live data files, and the files of their vectors."""
    snapshot = table.snapshot()
    vectors = snapshot.deletion_vectors().column("file").to_pylist()
    return {*snapshot.files().column("path").to_pylist(), *(place for place in vectors if place is not None)}


def test_the_commits_that_the_reference_writes_around_a_vacuum_hold_provenance_alone() -> None:
    """VACUUM START and VACUUM END: no rule asks for them, they change nothing, and none is written here."""
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
