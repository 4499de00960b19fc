"""What the workers of a cluster must have to read and write rows: this Python version, and the packages of the tasks.

The program itself is sent with the session, and so are the packages where the workers run the same kind of Python as
this process. That is done and checked once, when a session starts on a cluster, so that a lack is named before rows are
asked for.
"""

from __future__ import annotations

import logging
import platform
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from explorer.core.errors import EngineUnavailable
from explorer.debug import log_failure
from explorer.spark.engine.shipped import COMPILED, equip, send_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
_GROUP: Final = "explorer-workers"
_SECONDS: Final = 90.0
# Some 90 MB go to each worker, and are unpacked there, before it answers again.
_SENDING_SECONDS: Final = 600.0
_OTHER_PYTHON: Final = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([0-9.]+)")
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]*)"')


class _Worker(NamedTuple):
    """What a worker says of itself; Pythons of the same kind can load the same compiled packages."""

    host: str
    python: str
    kind: str
    missing: tuple[str, ...]


def prepare_workers(
    session: SparkSession, report: Callable[[str], None] = lambda _phase: None, seconds: float = _SECONDS
) -> None:
    """Send the workers what they need, and check that they answer and have it.

    Args:
        session: A classic session on a cluster.
        report: Called with the next step in words.
        seconds: How long the first answer may take.

    Raises:
        EngineUnavailable: No worker answered, or one lacks something; the message says what to install or set.
    """
    report("looking at the Python of the workers")
    equip(session)
    lacking = _lacking(session, seconds)
    (here,) = _task(())(None)
    if lacking and all(worker.kind == _Worker(*here).kind for worker in lacking):
        report("sending packages to the workers")
        if _sent(session):
            lacking = _lacking(session, seconds + _SENDING_SECONDS)
    if lacking:
        python = lacking[0].python
        names = sorted({name for worker in lacking for name in worker.missing})
        raise _unable(
            f"The Python of its worker on {lacking[0].host} ({python}) lacks {', '.join(names)}. Install what is "
            f"missing on every worker with: {python} -m pip install {' '.join(names)}",
            install=f"pip install {' '.join(names)}",
        )


def _sent(session: SparkSession) -> bool:
    """Send the packages of this process; whether it could."""
    try:
        send_packages(session)
    except (ImportError, OSError) as error:
        log_failure(_log, "the packages cannot be sent to the workers", error, logging.INFO)
        return False
    return True


def _lacking(session: SparkSession, seconds: float) -> list[_Worker]:
    workers, failure = _answers(session, seconds)
    if failure is not None:
        raise _unable(_reason(str(failure))) from failure
    return sorted({worker for worker in workers if worker.missing})


def _answers(session: SparkSession, seconds: float) -> tuple[list[_Worker], Exception | None]:
    """Return what the workers say of themselves, or why they did not."""
    context = session.sparkContext
    workers: list[_Worker] = []
    failures: list[Exception] = []

    def ask() -> None:
        tasks = max(2, context.defaultParallelism)
        try:
            context.setJobGroup(_GROUP, "What the workers have", True)
            rows = context.parallelize(range(tasks), tasks).mapPartitions(_task(COMPILED)).collect()
            workers.extend(_Worker(*row) for row in rows)
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
    return workers, failures[0] if failures else None


def _task(packages: Iterable[str]) -> Callable[[Any], Any]:
    """Return a function that goes to the workers by value, as they may lack what this program needs to be loaded."""
    wanted = tuple(packages)

    def work(_: Any) -> Any:
        import importlib
        import platform
        import socket
        import sys
        import sysconfig

        def is_missing(name: str) -> bool:
            try:
                importlib.import_module(name)
            except ImportError:
                return True
            return False

        kind = f"{sys.implementation.cache_tag} {sysconfig.get_platform()} {platform.libc_ver()[0]}"
        return [(socket.gethostname(), sys.executable, kind, tuple(filter(is_missing, wanted)))]

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
