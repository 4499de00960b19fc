"""Sessions and settings of the user's: without our settings, with a spark-defaults.conf, and on clusters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.clients.connect_server import standalone_cluster
from tests.support.clients.hosts import HOSTS_MISSING, two_hosts
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROWS = "import explorer\nprint(explorer.open_table({table!r}).rows(where='n > 1').count())\n"


def _table(tmp_path: Path) -> str:
    file = DataFile("f.parquet", pa.table({"n": [1, 2, 3]}))
    return str(write_table(tmp_path / "t", [column("n", "long")], [file]))


def _run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path]), **environ},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def _lacking(folder: Path) -> str:
    """Return a Python of this version without any package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def test_a_session_of_a_user_needs_none_of_our_settings_and_spark_defaults_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# of the site\nspark.sql.shuffle.partitions   3\nspark.driver.memory=777m\nspark.master yarn\n", "utf-8"
    )
    program = f"""
import os
import explorer
from explorer.spark.engine.java import find_java
from explorer.spark.engine.session import configure, engine
os.environ.setdefault("JAVA_HOME", str(find_java().home))
table = explorer.open_table({_table(tmp_path)!r})
from pyspark.sql import SparkSession
mine = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print(mine.conf.get("spark.sql.session.timeZone"), table.rows(where="n > 1").count())
result = table.commit(table.plan({{"kind": "delete", "where": "n = 2"}}))
print(result.outcome, sorted(row.n for row in table.rows().collect()))
result = table.commit(table.plan({{"kind": "update", "where": "n = 3", "set": {{"n": "n + 1"}}}}))
print(result.outcome, sorted(row.n for row in table.rows(where="n > 1").collect()))
mine.stop()
ours = configure("local[2]").session()
print(ours.conf.get("spark.sql.shuffle.partitions"), ours.conf.get("spark.driver.memory"))
print(ours.sparkContext.master, ours.conf.get("spark.driver.host"))
engine().stop()
"""
    answer = _run(program, TZ="America/New_York", SPARK_CONF_DIR=str(tmp_path))
    assert answer.stdout.splitlines() == [
        "America/New_York 2",
        "committed [1, 3]",
        "committed [4]",
        "3 777m",
        "local[2] 127.0.0.1",
    ], answer.stderr[-3000:]


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it starts a cluster")
def test_workers_without_the_packages_are_named_before_rows_are_read(tmp_path: Path) -> None:
    python = _lacking(tmp_path / "python")
    with standalone_cluster(tmp_path) as address:
        answer = _run(ROWS.format(table=_table(tmp_path)), DELTA_EXPLORER_SPARK=address, PYSPARK_PYTHON=python)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert "EngineUnavailable: The cluster cannot be used: The Python of its worker on " in answer.stderr
        last = answer.stderr.splitlines()[-1]
        names = "msgspec, obstore, pyarrow"
        assert f"({python}) lacks {names}. Install what is missing on every worker with: " in last
        assert last.endswith(f"{python} -m pip install msgspec obstore pyarrow")
        gone = _run(ROWS.format(table=_table(tmp_path)), DELTA_EXPLORER_SPARK=address, PYSPARK_PYTHON="/no/such/python")
        assert "have no Python at /no/such/python." in gone.stderr.splitlines()[-1]


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it starts a cluster")
@pytest.mark.skipif(HOSTS_MISSING is not None, reason=f"{HOSTS_MISSING}")
def test_a_cluster_on_another_host_calls_back_and_reads_rows(tmp_path: Path) -> None:
    with two_hosts(tmp_path) as (address, here):
        answer = _run(
            f"from explorer.spark.engine.session import configure\nconfigure({address!r}, "
            f"{{'spark.driver.host': {here!r}}})\n" + ROWS.format(table=_table(tmp_path))
        )
        assert answer.stdout.splitlines() == ["2"], answer.stderr[-3000:]
        defaults = tmp_path / "conf"
        defaults.mkdir()
        (defaults / "spark-defaults.conf").write_text(
            "spark.driver.host 203.0.113.9\nspark.driver.bindAddress 0.0.0.0\n"
        )
        answer = _run(
            f"from explorer.spark.engine.session import configure\nconfigure({address!r})\n"
            + ROWS.format(table=_table(tmp_path)),
            SPARK_CONF_DIR=str(defaults),
        )
        assert "No worker answered within" in answer.stderr.splitlines()[-1]
        assert "spark.driver.host" in answer.stderr.splitlines()[-1]
