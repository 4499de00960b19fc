"""Logs made after public reports: the newest version, wrong checkpoints, values and shapes that no reader takes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import explorer
from explorer.cli.app import run
from explorer.core.errors import NotAllowed, VersionGap
from explorer.core.log.verify.integrity import verify
from explorer.core.versions.retention.missing_files import absent, data_locations
from explorer.storage import open_store
from tests.support.shared_tables import field_table

pytestmark = pytest.mark.field


def _breaking(name: str) -> list[tuple[str, int | None]]:
    return [(each.kind, each.version) for each in verify(open_store(field_table(name))).problems if each.breaking]


def _errors(name: str) -> list[str]:
    found = explorer.open_table(field_table(name)).audit().findings
    assert all(each.remedy is not None for each in found if each.severity == "error")
    return [each.rule for each in found if each.severity == "error"]


def _copy(name: str, folder: Path) -> Path:
    copied = folder / name
    shutil.copytree(field_table(name), copied, copy_function=shutil.copyfile)
    for path in (copied, *copied.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return copied


def test_a_newer_version_that_is_lost_is_said_and_not_committed_over(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    path = field_table("newer-version-lost")
    assert run(["snapshot", str(path)]) == 3
    assert b"version 5 cannot be rebuilt" in capsysbinary.readouterr().err
    assert run(["snapshot", str(path), "--version", "2", "--json"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["version"] == 2
    with pytest.raises(VersionGap, match="names version 5"):
        explorer.open_table(path).plan({"kind": "set-description", "description": "x"})
    assert _breaking("newer-version-lost") == [("lost-version", 5)]
    assert _errors("newer-version-lost") == ["unreadable-log"]


def test_a_checkpoint_that_is_cut_off_is_read_around(tmp_path: Path) -> None:
    table = explorer.open_table(field_table("checkpoint-cut-off"))
    assert (table.snapshot().version, table.snapshot().num_files) == (2, 3)
    assert _breaking("checkpoint-cut-off") == []
    assert _errors("checkpoint-cut-off") == ["checkpoint-differs"]
    copied = explorer.open_table(_copy("checkpoint-cut-off", tmp_path))
    assert copied.commit(copied.plan({"kind": "checkpoint"})).outcome == "committed"
    assert copied.verify().problems == ()
    assert copied.snapshot().num_files == 3


def test_a_checkpoint_with_fewer_files_than_its_hint_is_breaking() -> None:
    assert {kind for kind, _ in _breaking("checkpoint-short-of-its-hint")} == {"checkpoint-short"}
    assert _errors("checkpoint-short-of-its-hint") == ["checkpoint-differs"]


def test_a_checkpoint_without_a_masked_file_is_an_error_unasked_and_is_repaired(tmp_path: Path) -> None:
    assert _errors("checkpoint-lost-masked-file") == ["checkpoint-differs"]
    table = explorer.open_table(_copy("checkpoint-lost-masked-file", tmp_path))
    assert table.snapshot().num_files == 0
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    assert table.snapshot().num_files == 1
    assert table.verify().problems == ()


def test_partition_values_that_no_reader_takes_are_a_problem_a_file() -> None:
    assert _breaking("partition-values-invalid") == [("invalid-file-values", 0), ("invalid-file-values", 1)]
    assert _breaking("partition-value-missing") == [("invalid-file-values", 0)]
    assert _errors("partition-values-invalid") == _errors("partition-value-missing") == ["unreadable-log"]


def test_a_date_as_spark_casts_it_is_no_problem() -> None:
    assert _breaking("partition-loose-date") == []
    skipping = explorer.open_table(field_table("partition-loose-date")).snapshot().skipping("dt = DATE '2024-01-05'")
    assert skipping.counts.after_statistics == 1


def test_an_action_over_several_lines_is_read_and_named() -> None:
    table = explorer.open_table(field_table("commit-pretty-printed"))
    assert table.snapshot().files(["path"]).column(0).to_pylist()[-1] == "b.parquet"
    assert [(each.kind, each.breaking) for each in table.verify().problems] == [("spread-action", False)]


def test_a_log_alone_makes_nobody_ask_another_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    table = explorer.open_table(field_table("absolute-paths-elsewhere"))
    with pytest.raises(NotAllowed, match="nothing was requested there"):
        absent(table.store, data_locations(table.history_record().lifetimes))
