"""Settings of Spark that a user gives: read, refused in words, and tried against the gate of expressions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

from explorer.core.errors import EngineUnavailable, RequestError
from explorer.spark.engine.session import Engine, configure, engine
from explorer.spark.engine.user_settings import FIXED, check_settings, default_master, read_settings, spark_defaults
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import REPOSITORY

EXTENSION = Path(__file__).with_name("OpenGate.java")


def test_a_setting_is_a_name_and_a_value_which_may_hold_an_equals_sign_or_nothing() -> None:
    given = ["spark.executor.memory=4g", "spark.hadoop.fs.s3a.endpoint = http://h/?a=b ", "spark.jars="]
    assert read_settings(given) == {
        "spark.executor.memory": "4g",
        "spark.hadoop.fs.s3a.endpoint": "http://h/?a=b",
        "spark.jars": "",
    }


@pytest.mark.parametrize(
    "text", ["CANARY", "", "=CANARY", "executor.memory=CANARY", "spark=CANARY", "spark.=CANARY", "spark.a b=CANARY"]
)
def test_what_spark_would_ignore_is_refused_without_its_value(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_settings(["spark.ui.enabled=false", text])
    assert "CANARY" not in str(refused.value)
    assert refused.value.field == "spark_conf"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("spark.sql.variable.substitute", "true", "after the condition was checked"),
        ("spark.sql.parser.quotedRegexColumnNames", "TRUE", "as a pattern"),
        ("spark.submit.deployMode", "cluster", "is the driver"),
        ("spark.master", "yarn", "--spark"),
        ("spark.remote", "sc://h", "sc://HOST:PORT"),
        ("spark.api.mode", "connect", "sc://HOST:PORT"),
    ],
)
def test_what_this_program_sets_itself_is_refused_with_the_reason(name: str, value: str, why: str) -> None:
    with pytest.raises(RequestError, match=name) as refused:
        check_settings({name: value})
    assert why in str(refused.value)
    check_settings({name: FIXED[name]} if name in FIXED else {})


def test_the_settings_of_a_site_are_found_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "spark-defaults.conf"
    file.write_text("#c\n\n!c\nspark.a.b   1 2\nspark.c=3=4\nspark.d: 5\nother 6\nspark.e\nspark.master local[3]\n")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delenv("DELTA_EXPLORER_SPARK", raising=False)
    assert spark_defaults() == {"spark.a.b": "1 2", "spark.c": "3=4", "spark.d": "5", "spark.master": "local[3]"}
    assert default_master() == "local[3]"
    assert Engine().is_chosen
    file.write_text("spark.master yarn\nspark.remote sc://h:1\n")
    assert default_master() == "sc://h:1"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark_defaults() == {}
    (tmp_path / "spark-defaults.conf").mkdir()
    assert spark_defaults() == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_settings_of_a_site_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").touch(mode=0)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        spark_defaults()


@pytest.mark.spark
def test_the_same_settings_again_leave_the_session_as_it_is_and_others_do_not(spark_engine: Engine) -> None:
    del spark_engine
    before = engine()
    with pytest.raises(RequestError):
        configure(None, {"spark.master": "yarn"})
    assert engine() is before


PROGRAM = """
from explorer.core.errors import ExplorerError
from explorer.spark.engine.expressions import expression
from explorer.spark.engine.session import configure, engine
session = configure("local[1]").session()
frame = session.createDataFrame([(1, "a")], "id long, s string")
for text in ("id = 1", "upper(s) = 'A'", "call_code() = s", "lower(s) = 'a'"):
    try:
        print(frame.where(expression(frame, text)).count())
    except ExplorerError as error:
        print(type(error).__name__)
print(session._jvm.java.lang.System.getProperty("explorer.test.attack"))
engine().stop()
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an extension that lets expressions call code."""
    folder = tmp_path_factory.mktemp("extension")
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = ["javac", "-nowarn", "-cp", str(jars), "-d", str(folder), str(EXTENSION)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def _answers(folder: Path, settings: Mapping[str, str]) -> list[str]:
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines), "utf-8")
    environ = {**os.environ, "SPARK_CONF_DIR": str(folder), "PYTHONPATH": str(REPOSITORY)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=500, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.splitlines()


@pytest.mark.timeout(900)
@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it starts sessions of its own")
@pytest.mark.skipif(shutil.which("javac") is None, reason="no javac on this machine: install a JDK")
def test_extensions_of_a_site_add_no_code_to_expressions(compiled: Path, tmp_path: Path) -> None:
    settings = {"spark.sql.extensions": "OpenGate", "spark.driver.extraClassPath": str(compiled)}
    refused = "ExpressionRefused"
    assert _answers(tmp_path, settings) == ["1", refused, refused, "1", "None"]
    settings["spark.driver.extraJavaOptions"] = "-Dexplorer.test.parser=true"
    assert _answers(tmp_path, settings) == [refused, refused, refused, refused, "None"]
    # The modes of another Spark are those of the site's other programs.
    others = {"spark.submit.deployMode": "cluster", "spark.api.mode": "connect", "spark.master": "yarn"}
    assert _answers(tmp_path, others) == ["1", "1", refused, "1", "None"]
