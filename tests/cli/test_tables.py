"""Names of tables on the command line: folders and URLs are never looked up, and a mistyped folder starts no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli.tables import location_of
from explorer.spark.engine import session
from explorer.spark.engine.session import Engine


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DELTA_EXPLORER_SPARK", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "_engine", Engine())


@pytest.mark.parametrize(
    "text",
    [
        *("orders", "./shop.orders", "/lake/shop.orders", "s3://bucket/shop.orders", "shop.orders.", ".orders"),
        *("a.b.c.d", "shop..orders", "1.2", "shop.orders/", "shop .orders", "file:shop.orders", "shop.`", ""),
    ],
)
def test_what_is_not_written_as_a_name_is_a_location(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTA_EXPLORER_SPARK", "local[1]")
    assert location_of(text) == text


def test_a_folder_precedes_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DELTA_EXPLORER_SPARK", "local[1]")
    (tmp_path / "shop.orders").mkdir()
    assert location_of("shop.orders") == "shop.orders"


def test_without_a_spark_that_was_chosen_the_refusal_says_how_to_name_one(tmp_path: Path) -> None:
    # In processes of their own: a session that another test runs here is a Spark that was chosen.
    named, plain = _refusal("shop.orders", tmp_path), _refusal("orders", tmp_path)
    assert named["error"] == plain["error"] == "TableNotFound"
    assert "the catalog of Spark" in named["message"]
    assert "--spark" in named["message"]
    assert "--spark" not in plain["message"]


def _refusal(table: str, folder: Path) -> dict[str, str]:
    """The error of a command that names a table."""
    command = [sys.executable, "-m", "explorer.cli", "snapshot", table, "--json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    refusal: dict[str, str] = json.loads(run.stderr)
    return refusal


def test_a_spark_is_chosen_by_the_command_the_environment_or_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 1g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    running = "pyspark" in sys.modules and session._user_runs_spark()
    assert Engine().is_chosen is running
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[1]\n")
    assert Engine().is_chosen
    assert Engine("local[1]").is_chosen
    assert Engine(None, {"spark.a.b": "c"}).is_chosen
