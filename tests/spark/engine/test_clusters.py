"""Clusters on this machine and on another host, whose workers have a Python without this program and its packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.support.clients.connect_server import standalone_cluster
from tests.support.clients.hosts import HOSTS_MISSING, two_hosts
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it starts clusters"),
]
WORK = Path(__file__).with_name("cluster_work.py")
HOSTS = pytest.mark.skipif(HOSTS_MISSING is not None, reason=f"{HOSTS_MISSING}")
AFTER: Final = [
    ["1", "one", "a"], ["2", "TWO", "a"], ["4", "four", "b"], ["5", "None", "b"], ["6", "six", "b"],
    ["8", "eight", "b"], ["9", "new", "c"],
]  # fmt: skip
EXPECTED: Final = {
    "rows": [["2", "two", "a"], ["4", "four", "b"], ["6", "six", "b"], ["8", "eight", "b"]],
    "update": "committed",
    "delete": "committed",
    "append": "committed",
    "all rows": AFTER,
    "changes": [
        ["2", "TWO", "update_postimage", "1"], ["2", "two", "update_preimage", "1"], ["3", "three", "delete", "2"],
        ["7", "seven", "delete", "2"], ["9", "new", "insert", "3"],
    ],
    "optimize": "committed",
    "optimized rows": AFTER,
}  # fmt: skip


def lake(folder: Path) -> Path:
    """Write a partitioned table with a change feed and vectors, and a small one."""
    parts = {
        "a": [{"n": [1, 2, 3], "s": ["one", "two", "three"]}],
        "b": [{"n": [4, 5], "s": ["four", None]}, {"n": [6, 7, 8], "s": ["six", "seven", "eight"]}],
    }
    files = [
        DataFile(f"p={part}/{place}.parquet", pa.table(rows), {"p": part})
        for part, held in parts.items()
        for place, rows in enumerate(held)
    ]
    columns = [column("n", "long"), column("s", "string"), column("p", "string")]
    settings = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    write_table(folder / "orders", columns, files, ["p"], settings, writer_features=["changeDataFeed"])
    write_table(folder / "parts", [column("n", "long")], [DataFile("f.parquet", pa.table({"n": [1]}))])
    return folder


def _run(master: str, folder: Path, settings: Mapping[str, str], **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(WORK), master, str(folder), json.dumps(settings)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path]), **environ},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )


def _answers(answer: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert answer.returncode == 0, answer.stderr[-3000:]
    answers: dict[str, Any] = json.loads(answer.stdout)
    return answers


def _last_line(answer: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a run that ends before it shows anything."""
    assert (answer.returncode, answer.stdout) == (1, ""), answer
    return answer.stderr.splitlines()[-1]


def _bare_python(folder: Path) -> str:
    """Return a Python of this version without any package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@HOSTS
def test_workers_on_another_host_without_any_package_do_all_that_this_machine_does(tmp_path: Path) -> None:
    here = _answers(_run("local[2]", lake(tmp_path / "here"), {}))
    assert {name: here[name] for name in EXPECTED} == EXPECTED
    python = _bare_python(tmp_path / "python")
    with two_hosts(tmp_path) as (address, host):
        settings = {"spark.driver.host": host, "spark.pyspark.python": python}
        assert _answers(_run(address, lake(tmp_path / "there"), settings)) == here


@HOSTS
def test_workers_that_cannot_call_back_are_told_where_by_a_setting(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    defaults = "spark.driver.host 203.0.113.9\nspark.driver.bindAddress 0.0.0.0\n"
    (tmp_path / "conf" / "spark-defaults.conf").write_text(defaults, "utf-8")
    with two_hosts(tmp_path) as (address, _):
        said = _last_line(_run(address, lake(tmp_path / "lake"), {}, SPARK_CONF_DIR=str(tmp_path / "conf")))
    assert "No worker answered within" in said
    assert "spark.driver.host" in said


def test_workers_of_another_kind_that_lack_packages_are_named_before_rows_are_read(tmp_path: Path) -> None:
    python = _bare_python(tmp_path / "python")
    site = tmp_path / "python" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    # A Python of another C library cannot load the packages of this one.
    (site / "sitecustomize.py").write_text("import platform\nplatform.libc_ver = lambda: ('musl', '')\n", "utf-8")
    place = lake(tmp_path / "lake")
    with standalone_cluster(tmp_path, workers=1, program=False) as address:
        said = _last_line(_run(address, place, {}, PYSPARK_PYTHON=python))
        assert "EngineUnavailable: The cluster cannot be used: The Python of its worker on " in said
        assert (
            f"({python}) lacks msgspec, numpy, obstore, pyarrow, pyroaring. Install what is missing on every " in said
        )
        assert said.endswith(f"{python} -m pip install msgspec numpy obstore pyarrow pyroaring")
        gone = _last_line(_run(address, place, {}, PYSPARK_PYTHON="/no/such/python"))
        assert "have no Python at /no/such/python." in gone
