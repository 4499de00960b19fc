"""Names of a Hive metastore on the command line and in ``serve``, with the settings of a spark-defaults.conf."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.serving_command import serving
from tests.support.shared_tables import REPOSITORY

pytestmark = [
    *(pytest.mark.interop, pytest.mark.spark, pytest.mark.timeout(3_600)),
    pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; tests/cli/test_tables.py is small"),
]
MADE: Final = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders USING delta AS SELECT id, id % 2 AS half FROM range(7)",
    "DELETE FROM shop.orders WHERE id = 3",
    "CREATE TABLE shop.`2_old` USING delta AS SELECT id FROM range(2)",
    "CREATE TABLE shop.files USING parquet AS SELECT 1 AS id",
    "CREATE VIEW shop.seen AS SELECT 1 AS id",
)
PROGRAM: Final = """
import contextlib, io, json, sys
from explorer.cli.app import run
from explorer.spark.engine.session import engine
statements, commands = json.loads(sys.argv[1])
for statement in statements:
    engine().session().sql(statement)
answers = []
for command in commands:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    answers.append([code, *(stream.buffer.getvalue().decode() for stream in (out, err))])
engine().stop()
print(json.dumps(answers))
"""


def _settings(folder: Path, jars: str) -> dict[str, str]:
    """Return the settings of a site with a metastore of its own, and with Delta's jars where they are named."""
    settings = {
        "spark.master": "local[1]",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    if jars:
        settings |= {
            "spark.jars.packages": jars,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    return settings


def _run(folder: Path, settings: Mapping[str, str], made: tuple[str, ...], *commands: list[str]) -> list[list[Any]]:
    (folder / "conf").mkdir(exist_ok=True)
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "conf" / "spark-defaults.conf").write_text(lines, "utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([made, commands])],
        cwd=folder,
        env=os.environ | {"SPARK_CONF_DIR": str(folder / "conf"), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    answers: list[list[Any]] = json.loads(ran.stdout.splitlines()[-1])
    return answers


def test_commands_and_pages_take_names_of_a_hive_metastore(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    made = _run(
        tmp_path,
        _settings(tmp_path, reference_writer.coordinates),
        MADE,
        ["snapshot", "shop.orders", "--json"],
        ["rows", "spark_catalog.shop.orders", "--where", "upper(cast(half AS string)) = '1'", "--json"],
        ["history", "shop.`2_old`", "--json"],
    )
    assert [answer[0] for answer in made] == [0, 0, 0], made
    assert json.loads(made[0][1])["numRecords"] == 6
    assert sorted(json.loads(line)["id"] for line in made[1][1].splitlines()) == [1, 5]
    # Without Delta's jars, the metastore still says where its tables are.
    (tmp_path / "shop.orders").mkdir()
    plan = json.dumps({"kind": "set-description", "description": "new"})
    named = _run(
        tmp_path,
        _settings(tmp_path, ""),
        (),
        ["snapshot", "`shop`.orders", "--json"],
        ["commit", "`shop`.`orders`", plan, "--reason", "why", "--yes", "--json"],
        ["audit", "spark_catalog.shop.orders", "--json"],
        ["snapshot", "shop.orders", "--json"],
        ["snapshot", "shop.nothing", "--json"],
        ["snapshot", "shop.files", "--json"],
        ["snapshot", "shop.seen", "--json"],
        ["snapshot", "shop.x; DROP TABLE shop.orders", "--json"],
    )
    assert [answer[0] for answer in named] == [0, 0, 0, 3, 3, 2, 2, 3], named
    refusals = [json.loads(answer[2].splitlines()[-1]) for answer in named[3:]]
    kinds = ["TableNotFound", "TableNotFound", "RequestError", "RequestError", "TableNotFound"]
    assert [refusal["error"] for refusal in refusals] == kinds
    # A folder precedes a table of the catalog.
    assert "shop.orders" in refusals[0]["message"]
    assert "has no table shop.nothing" in refusals[1]["message"]
    assert "is a parquet table" in refusals[2]["message"]
    assert "is a view" in refusals[3]["message"]


def test_pages_serve_tables_by_their_names(
    reference_writer: ReferenceWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _settings(tmp_path, reference_writer.coordinates)
    assert _run(tmp_path, settings, MADE[:2], ["snapshot", "shop.orders", "--json"])[0][0] == 0
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    with serving("serve", "shop.orders", "--spark", "local[1]") as (line, process):
        assert line, process.communicate()
        (url,) = re.findall(r"http://\S+", line)
        page = urllib.request.urlopen(f"{url}?t=orders", timeout=60).read().decode()  # noqa: S310  # our own server
    assert "orders" in page
