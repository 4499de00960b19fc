"""Page, widget and command line say what a commit's time is from, and where its writer's clock says otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import CommitInfo, Protocol
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.web.served_tables import Catalog
from tests.cli.conftest import Call, cli
from tests.support.logs import small_logs
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements

__all__ = ["cli"]

HOUR = 3_600_000
TIMED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))


def _table(folder: Path, *, file_time: int, timed: bool = False) -> Path:
    """One commit, written at a moment of March 2026 by its commitInfo; its file has another time."""
    info = small_logs.commit_info("CREATE TABLE")
    configuration = {}
    if timed:
        info = CommitInfo(operation="CREATE TABLE", timestamp=info.timestamp, in_commit_timestamp=info.timestamp)
        configuration = {"delta.enableInCommitTimestamps": "true"}
    protocol = TIMED if timed else small_logs.PROTOCOL
    metadata = small_logs.metadata({"id": "long"}, (), configuration)
    small_logs.write_log(folder, [[info, protocol, metadata]])
    os.utime(folder / commit_name(0), (file_time / 1000, file_time / 1000))
    return folder


COPIED, FRESH, TIMED_COPY = "copied", "fresh", "timed"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bases") / "w"
    later = small_logs.LONG_AGO + 5_000 * HOUR
    _table(root / COPIED, file_time=later)
    _table(root / FRESH, file_time=small_logs.LONG_AGO + 2_000)
    _table(root / TIMED_COPY, file_time=later, timed=True)
    return root


def _page(root: Path, name: str) -> str:
    catalog = Catalog([str(root)])
    regions = table_page(catalog, Address.parse(f"?t=w/{name}"), "light", idle_work(catalog)).regions
    return Elements(regions["strip"] + regions["side"]).text


def test_a_copied_table_says_that_its_times_are_of_files_and_when_it_was_written(tables: Path) -> None:
    text = _page(tables, COPIED)
    assert "file time; written 2 Mar 2026 14:05 UTC" in text


def test_the_basis_stands_beside_every_time(tables: Path) -> None:
    fresh, timed = _page(tables, FRESH), _page(tables, TIMED_COPY)
    assert "file time" in fresh
    assert "written 2 Mar" not in fresh
    assert "in-commit" in timed
    assert "file time" not in timed


def test_the_command_line_names_the_basis_and_warns(tables: Path, cli: Call) -> None:
    copied = cli("history", tables / COPIED)
    assert "file" in copied.out
    assert "by its commitInfo v0 was written at 2026-03-02 14:05:11 UTC" in " ".join(copied.err.split())
    line = json.loads(cli("history", tables / COPIED, "--json").out)
    assert line["timestampBasis"] == "file"
    assert line["commitInfoTimestamp"] == "2026-03-02T14:05:11Z"
    assert line["timestamp"] != line["commitInfoTimestamp"]
    timed = cli("history", tables / TIMED_COPY)
    assert "in-commit" in timed.out
    assert timed.err == ""
