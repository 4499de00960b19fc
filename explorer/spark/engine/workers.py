"""What the workers of a cluster must have to read and write rows: this Python version, and the packages of the tasks.

It is checked once, when a session starts on a cluster, so that a lack is named before rows are asked for. The program
itself goes to the workers with the tasks and need not be installed there.
"""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any, Final

from explorer.core.errors import EngineUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

PACKAGES: Final = ("pyarrow", "obstore", "msgspec")
"""What the tasks import."""

_GROUP: Final = "explorer-workers"
_SECONDS: Final = 90.0
_OTHER_PYTHON: Final = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([0-9.]+)")
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]*)"')


def check_workers(session: SparkSession, seconds: float = _SECONDS) -> None:
    """Check that the workers answer, and that their Python has what the tasks import.

    Args:
        session: A classic session on a cluster.
        seconds: How long the first answer may take.

    Raises:
        EngineUnavailable: No worker answered, or one lacks something; the message says what to install or set.
    """
    rows, failure = _answers(session, seconds)
    if failure is not None:
        raise _unable(_reason(str(failure))) from failure
    lacking = sorted({(host, python, name) for host, python, missing in rows for name in missing})
    if lacking:
        host, python, _ = lacking[0]
        names = " ".join(sorted({name for _, _, name in lacking}))
        raise _unable(
            f"The Python of its worker on {host} ({python}) lacks {names.replace(' ', ', ')}. Install what is missing "
            f"on every worker with: {python} -m pip install {names}",
            install=f"pip install {names}",
        )


def _answers(session: SparkSession, seconds: float) -> tuple[list[tuple[str, str, list[str]]], Exception | None]:
    """Return host, Python, and missing packages as the workers say them, or why they did not."""
    context = session.sparkContext
    rows: list[tuple[str, str, list[str]]] = []
    failures: list[Exception] = []

    def ask() -> None:
        tasks = max(2, context.defaultParallelism)
        try:
            context.setJobGroup(_GROUP, "What the workers have", True)
            rows.extend(context.parallelize(range(tasks), tasks).mapPartitions(_task(PACKAGES)).collect())
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller raises it
            failures.append(error)

    from pyspark import InheritableThread

    thread = InheritableThread(target=ask, name="explorer-workers", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        context.cancelJobGroup(_GROUP)
        return [], TimeoutError(
            f"No worker answered within {seconds:g} seconds. Either the cluster has no free cores or memory, or its "
            "workers cannot call this machine back. Check the workers, and name an address of this machine that they "
            "reach with the setting spark.driver.host"
        )
    return rows, failures[0] if failures else None


def _task(packages: Iterable[str]) -> Callable[[Any], Any]:
    """Return a function that goes to the workers by value: they may lack this program."""
    wanted = tuple(packages)

    def work(_: Any) -> Any:
        import importlib.util
        import socket
        import sys

        missing = [name for name in wanted if importlib.util.find_spec(name) is None]
        return [(socket.gethostname(), sys.executable, missing)]

    return work


def _reason(text: str) -> str:
    if other := _OTHER_PYTHON.search(text):
        return (
            f"Its workers run Python {other[1]} and this process Python {platform.python_version()}; PySpark needs the "
            "same minor version. Name such a Python of the workers with the variable PYSPARK_PYTHON or the setting "
            "spark.pyspark.python."
        )
    if program := _NO_PROGRAM.search(text):
        return (
            f"Its workers have no Python at {program[1]}. Name a Python of the workers with the variable "
            "PYSPARK_PYTHON or the setting spark.pyspark.python."
        )
    first = next((line.strip() for line in text.splitlines() if line.strip()), "Spark gave no reason")
    return first if first.endswith(".") else f"{first}."


def _unable(reason: str, install: str | None = None) -> EngineUnavailable:
    return EngineUnavailable(f"The cluster cannot be used: {reason}", engine="spark", install=install)
