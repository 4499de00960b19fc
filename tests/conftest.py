"""What all tests share: how hard Hypothesis tries, one Spark engine for each process, one demo warehouse."""

import gc
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import hypothesis
import pyarrow as pa
import pytest

from explorer.spark.engine.session import Engine, engine
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import REPOSITORY

pytest_plugins = [
    *("tests.conformance.plugin", "tests.prove.plugin"),
    *("tests.support.distribution", "tests.support.small_dose"),
]

# What is made while tests are collected stays to the end: there is nothing to look for.
gc.disable()

# What is kept of tables goes into no home: tests of it name a folder of their own.
os.environ["DELTA_EXPLORER_CACHE"] = "off"
os.environ["DELTA_EXPLORER_JOURNAL"] = "off"
# What tests do is in no record of this machine.
os.environ["DELTA_EXPLORER_ACTIVITY"] = "off"
# Nor does what is configured on this machine hold for them.
os.environ["DELTA_EXPLORER_CONFIG"] = "off"

hypothesis.settings.register_profile("default", deadline=None, max_examples=15)
hypothesis.settings.register_profile("prove", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Most queries of the tests run once on a few rows, and a JVM spends half of its time on loading classes and compiling
# them well. Here it takes the classes for sound, compiles them fast, and has all of its memory from the start: what it
# collects is what Spark leaves of each query. Nor does it pay that Spark compiles a query, plans it again halfway, or
# writes its plan down at length. Its Python workers are forked from a process that has their packages. The whole dose
# runs on Java and Spark as users have them.
if not WHOLE_DOSE:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["JAVA_TOOL_OPTIONS"] = (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:InitialRAMPercentage=100 "
        "-XX:NewRatio=1 -XX:MetaspaceSize=256m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
        "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN "
        "-Dspark.sql.adaptive.enabled=false -Dspark.sql.maxPlanStringLength=1000 "
        "-Dspark.python.daemon.module=tests.support.python_workers"
    )


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from what the tests are made of: it stays to the end, and is large.

    It also looks less often than in a program that runs for days: what a test makes, it leaves soon.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """The process's engine, started once and stopped at the end."""
    started = engine()
    started.session()
    yield started
    engine().stop()


@pytest.fixture(scope="session")
def demo_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[int, pa.Table]]]:
    """Build the demo warehouse once: its folder, and for each table the rows that its versions should hold."""
    from explorer.demo import build_warehouse

    folder = tmp_path_factory.mktemp("demo") / "warehouse"
    return folder, build_warehouse(folder, date(2026, 4, 23))


@pytest.fixture(scope="session")
def demo_warehouse(demo_build: tuple[Path, dict[str, dict[int, pa.Table]]]) -> Path:
    """Return the folder of the demo warehouse; it is shared, so nobody may write to it."""
    return demo_build[0]
