"""Work that Spark cannot end by itself, and sessions that do not let themselves be made safe."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import explorer
from explorer.core.errors import ExpressionRefused
from explorer.spark.engine.expressions import expression
from explorer.spark.engine.session import Engine
from explorer.variables import WORK_VARIABLE
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = pytest.mark.spark

NEVER_ENDS = r"rlike r'(a+)+\1$'"
"""A match of many letters and another one takes Java longer than anyone waits, and nothing interrupts it."""


@pytest.fixture
def classic(spark_engine: Engine) -> Engine:
    if spark_engine.connected_remotely:
        pytest.skip("a Connect server's JVM is not at hand")
    return spark_engine


@pytest.mark.whole("test_work_past_its_time_is_stopped_with_the_limit_and_spark_goes_on")
@pytest.mark.parametrize(
    "where",
    [f"concat(repeat('a', 60), '!') {NEVER_ENDS}", f"s {NEVER_ENDS}"],
    ids=["while it is planned", "in a task"],
)
def test_work_that_no_cancel_ends_is_refused_in_time(
    classic: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    rows = pa.table({"s": ["a" * 60 + "!"]})
    table = explorer.open_table(write_table(tmp_path, [column("s", "string")], [DataFile("1.parquet", rows)]))
    assert table.rows(where="s <> ''").count() == 1
    before: Any = classic.session().sparkContext
    monkeypatch.setenv(WORK_VARIABLE, "8")
    began = time.monotonic()
    with pytest.raises(ExpressionRefused, match="was stopped after 8 seconds, the limit for expressions") as refused:
        table.check({"c": where})
    assert refused.value.reason == "deadline"
    assert time.monotonic() - began < 60
    # Nothing of this program ends such work but the end of its JVM.
    before._gateway.proc.wait(60)
    monkeypatch.setenv(WORK_VARIABLE, "600")
    assert table.rows(where="s <> ''").count() == 1


class _LockedSettings:
    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def get(self, *given: Any) -> Any:
        return self._settings.get(*given)

    def set(self, name: str, value: str) -> None:
        raise PySparkException(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available: {value}")


class _DeafSettings(_LockedSettings):
    def set(self, name: str, value: str) -> None:
        del name, value


class LockedSession(SparkSession):
    """A session whose settings may be read and not changed, as some providers give it."""

    settings = _LockedSettings

    @property
    def conf(self) -> Any:
        return self.settings(super().conf)


class DeafSession(LockedSession):
    """A session that takes a setting, says nothing, and keeps the old one."""

    settings = _DeafSettings


@pytest.mark.parametrize("kind", [LockedSession, DeafSession])
def test_a_session_that_puts_variables_into_texts_and_cannot_be_changed_gets_no_expression(
    classic: Engine, kind: type[LockedSession]
) -> None:
    own = classic.session().newSession()
    own.conf.set("spark.sql.variable.substitute", "true")
    locked = kind(own.sparkContext, own._jsparkSession)
    with pytest.raises(ExpressionRefused) as refused:
        expression(locked.range(1), "id > 0")
    assert (refused.value.reason, refused.value.found) == ("session", "spark.sql.variable.substitute")
    assert "cannot be set to false. Use a session where it is false." in str(refused.value)
    own.conf.set("spark.sql.variable.substitute", "false")
    assert locked.range(1).where(expression(locked.range(1), "id > 0")).count() == 0
