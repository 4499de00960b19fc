"""Sessions and settings of the user's: without our settings, and with a spark-defaults.conf."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


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


@pytest.mark.whole("test_user_settings.py, and test_expressions.py for the gate")
def test_a_session_of_a_user_needs_none_of_our_settings_and_spark_defaults_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# of the site\nspark.sql.shuffle.partitions   3\nspark.driver.memory=777m\nspark.master yarn\n"
        # What would open the gate of expressions.
        "spark.sql.variable.substitute true\nspark.sql.parser.quotedRegexColumnNames true\n"
        "spark.sql.extensions no.such.Extension\n"
        "spark.driver.extraJavaOptions -Dspark.sql.variable.substitute=true -Dof.the.site=1\n",
        "utf-8",
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
print(ours.conf.get("spark.sql.variable.substitute"), ours._jvm.java.lang.System.getProperty("of.the.site"))
print(table.rows(where="`n` > 1").count())
try:
    table.rows(where="s = '${{env:HOME}}'")
except explorer.ExplorerError as error:
    print(type(error).__name__)
engine().stop()
"""
    answer = _run(program, TZ="America/New_York", SPARK_CONF_DIR=str(tmp_path))
    assert answer.stdout.splitlines() == [
        "America/New_York 2",
        "committed [1, 3]",
        "committed [4]",
        "3 777m",
        "local[2] 127.0.0.1",
        "false 1",
        "1",
        "ExpressionRefused",
    ], answer.stderr[-3000:]
