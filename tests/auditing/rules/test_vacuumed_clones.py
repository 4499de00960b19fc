"""A shallow clone whose source was vacuumed: the advice is to clone it again, and no backup comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.errors import StorageError
from explorer.spark.engine.file_addresses import check_present, local_address
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs
from tests.support.rule_findings import finding_of

SHARED = ("orders/part 1.parquet", "orders/day=1/part-2.parquet")


@pytest.fixture
def clone(tmp_path: Path) -> explorer.Table:
    """A table that names files of another one, which are gone, and one of its own, which is there."""
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "own.parquet").write_bytes(b"PAR1")
    shared = [small_logs.add(f"file://{tmp_path}/{name}".replace(" ", "%20")) for name in SHARED]
    start = [small_logs.commit_info("CLONE"), small_logs.PROTOCOL, small_logs.METADATA, *shared]
    own = [small_logs.add("own.parquet", size=4)]
    removed = [small_logs.remove(each.path) for each in shared]
    return explorer.open_table(small_logs.write_log(tmp_path / "clone", [start, own, removed]))


def _found(table: explorer.Table, rule: str) -> Finding:
    return finding_of(table.audit(NOW, check_files=True), rule)


def _is_of_clones(advice: str | None) -> bool:
    assert advice is not None
    return "clone the source again" in advice and advice.index("clone the source") < advice.index("backup")


def test_the_audit_advises_to_clone_the_source_again(clone: explorer.Table) -> None:
    small_logs.write_log(Path(clone.location.removeprefix("file://")), [[small_logs.add("file:///gone/x.parquet")]], 3)
    clone.refresh()
    assert _is_of_clones(_found(clone, "missing-files").effect)


def test_the_plan_of_a_restore_advises_the_same(clone: explorer.Table) -> None:
    (guard,) = (each for each in clone.plan({"kind": "restore", "version": 1}).guards if each.name == "files-exist")
    assert (guard.status, _is_of_clones(guard.remedy)) == ("fail", True)


def test_a_read_of_the_rows_advises_the_same(tmp_path: Path) -> None:
    address = local_address(f"file://{tmp_path}/orders/part-1.parquet", f"{tmp_path}/orders/part-1.parquet")
    with pytest.raises(StorageError) as caught:
        check_present([address], [4], 7)
    assert _is_of_clones(caught.value.message)


def test_of_a_table_with_files_of_its_own_a_version_comes_before_a_backup(clone: explorer.Table) -> None:
    Path(clone.location.removeprefix("file://"), "own.parquet").unlink()
    effect = _found(clone, "missing-files").effect
    assert effect.index("Choose a version") < effect.index("backup")
    assert "clone" not in effect
