"""The cache command: what is kept of tables is listed and cleared, and can be switched off for one run."""

from __future__ import annotations

from pathlib import Path
from time import sleep

import pytest

from explorer.storage.index_folder import user_indexes
from explorer.variables import CACHE_VARIABLE
from explorer.version import VERSION
from tests.cli.conftest import Call
from tests.support.logs import small_logs


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table that is worth keeping, and a folder to keep it in."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "kept"))
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    added = [[small_logs.commit_info("WRITE"), small_logs.add(f"f{number}", 1)] for number in range(80)]
    return small_logs.write_log(tmp_path / "orders", [created, *added])


def test_what_is_kept_is_listed_and_cleared(cli: Call, table: Path) -> None:
    assert cli("cache", "--json").lines() == []
    # What was written just now may be written again with the same time.
    assert cli("history", table, "--json").code == 0
    assert cli("cache", "--json").lines() == []
    sleep(2.1)
    first = cli("history", table, "--json").lines()
    (line,) = cli("cache", "list", "--json").lines()
    assert line["table"] == table.resolve().as_uri()
    assert line["sizeInBytes"] > 0
    assert cli("history", table, "--json").lines() == first
    assert "are kept in" in cli("cache").err
    assert cli("cache", "clear", "--json").lines() == [line | {"lastUsed": pytest.approx(line["lastUsed"], abs=60_000)}]
    assert cli("cache", "list", "--json").lines() == []


def test_nothing_is_kept_without_a_cache(cli: Call, table: Path) -> None:
    assert len(cli("--no-cache", "history", table, "--json").lines()) == 81
    assert user_indexes(VERSION) is None
    assert not (table.parent / "kept").exists()


def test_a_wrong_action_is_a_bad_request(cli: Call) -> None:
    assert cli("cache", "mend", "--json").code == 2
