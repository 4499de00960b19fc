"""Commands of many tables, given a URL of a store: all tables below it, and a line for what is denied."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer
from explorer.fleet import TableAudit
from explorer.storage.served_root import ServedRoot
from tests.cli.conftest import Call
from tests.support.folder_s3 import FolderS3, folder_s3
from tests.support.lakes import small_tables

NAMES = ["sales/eu/orders", "sales/50% off", "top"]
TABLES = ["s3://lake/sales/50%25%20off", "s3://lake/sales/eu/orders", "s3://lake/top"]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderS3]:
    small_tables(tmp_path / "buckets" / "lake", [*NAMES, "secret/t"])
    with folder_s3(tmp_path / "buckets") as server:
        server.denied.add("lake/secret/")
        for name, value in server.options.items():
            monkeypatch.setenv(name.upper() if name.startswith("aws_") else f"AWS_{name.upper()}", value)
        yield server


def test_an_audit_of_a_bucket_is_a_line_a_table_and_an_error_for_what_is_denied(cli: Call, bucket: FolderS3) -> None:
    found = cli("audit", "s3://lake/", "--json")
    assert sorted(json.loads(line)["table"] for line in found.out.splitlines()) == TABLES
    (error,) = (json.loads(line) for line in found.err.splitlines())
    assert (found.code, error["error"]) == (3, "StorageError")
    assert "s3://lake/secret" in error["message"]
    assert "AccessDenied" in error["message"]
    bucket.denied.clear()
    everything = cli("audit", "s3://lake", "s3://lake/sales", "--json")
    assert len(everything.lines()) == 4, "a table below two places is audited once"


def test_a_report_of_a_bucket_has_all_its_tables(cli: Call, bucket: FolderS3, tmp_path: Path) -> None:
    bucket.denied.clear()
    assert cli("audit", "s3://lake/sales", "--html", tmp_path / "report.html").code == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "s3://lake/sales/eu/orders" in html
    assert "s3://lake/sales/50%25%20off" in html


def test_a_place_without_tables_is_said(cli: Call, bucket: FolderS3) -> None:
    del bucket
    error = cli("audit", "s3://lake/nothing", "--json").error()
    assert error["error"] == "TableNotFound"
    assert error["message"].startswith("There is no Delta table in s3://lake/nothing or below it.")


def test_tripwires_watch_all_tables_of_a_bucket(cli: Call, bucket: FolderS3, tmp_path: Path) -> None:
    bucket.denied.clear()
    rules = tmp_path / "rules.toml"
    rules.write_text('[[tripwire]]\nname = "gone"\nwhen = "rows-removed"\nshare = 0.2\n')
    state = tmp_path / "state.json"
    assert cli("tripwires", "s3://lake", "--rules", rules, "--state", state).code == 0
    assert sorted(json.loads(state.read_text())) == sorted([*TABLES, "s3://lake/secret/t"])


def test_each_root_of_an_audit_has_its_own_options(tmp_path: Path) -> None:
    seen: list[TableAudit] = []
    for name in ("one", "two"):
        small_tables(tmp_path / name / "lake", [f"{name}-table"])
    with folder_s3(tmp_path / "one") as one, folder_s3(tmp_path / "two") as two:
        roots = [ServedRoot("s3://lake", storage_options=server.options) for server in (one, two)]
        explorer.audit(roots, each=seen.append, processes=1)
    assert [(each.location, each.error) for each in seen] == [
        ("s3://lake/one-table", None),
        ("s3://lake/two-table", None),
    ]
