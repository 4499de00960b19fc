"""Start, find and release Spark sessions through PySpark's JVM gateway.

Invariants: after a launch the process's environment is as it was before; what the JVM prints goes to a
file of its own, never to our stdout or stderr; a closed session leaves no process behind.

No archive of loaded classes (AppCDS) is stored between starts: measurements on several days gave a gain between nothing
and two seconds of seven, and a truncated archive crashes the JVM.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from explorer.spark.engine.session import is_connect
from explorer.spark.engine.user_settings import FIXED, SUBSTITUTION, spark_defaults
from explorer.spark.engine.workers import prepare_workers

_CONF: Final = {
    "spark.app.name": "delta-table-explorer",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Tasks of several people's jobs take turns; by default those of the job that came first are first.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Otherwise functions of columns send the JVM where they were called from, in two calls of three, for messages
    # that are not shown here.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The sizes of what goes to Python's workers. `explorer.spark.writes.new_rows` reckons with the rows of a batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.pandas.udf.buffer.size": "1048576",
    # Files of a shuffle go when Java collects its garbage, which it may not do for as long as it has memory.
    "spark.cleaner.periodicGC.interval": "30s",
    # Above this many paths Spark lists them in a job of its own, which is much slower (30 s for 10,000 files).
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
# A session on this machine is reached from this machine alone. The workers of a cluster call back to this process:
# Spark, or the user, says where they reach it.
_OF_THIS_MACHINE: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LEAST_HEAP, _MOST_HEAP = 1 << 10, 4 << 10
# Where Linux states how many bytes a container may use: in control groups of version 2, and of version 1.
_LIMITS_OF_CONTAINERS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# Classes that PySpark asks the JVM for at every call, which looks through all of its jars for some of them.
_CLASSES: Final = (
    *("functions", "PythonUtils", "PythonSQLUtils"),
    *("org.apache.spark.sql.functions", "org.apache.spark.sql.classic.SparkSession"),
)
# Spark treats a configuration without an appender as the default one and replaces it by its own.
_LOG4J: Final = """\
status = off
appender.quiet.type = Null
appender.quiet.name = quiet
rootLogger.level = off
rootLogger.appenderRef.quiet.ref = quiet
"""


def existing_session() -> SparkSession | None:
    """Return the session that already runs in this process, or None."""
    if "pyspark.sql.connect.session" in sys.modules:
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        remote: Any = ConnectSession.getActiveSession()
        if remote is not None and not remote.is_stopped:
            session: SparkSession = remote
            return session
    context = SparkContext._active_spark_context
    if context is None or how_context_ended(context) is not None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def launch(master: str, conf: Mapping[str, str], report: Callable[[str], None]) -> SparkSession:
    """Start a session, in a JVM of its own unless one already runs in this process.

    Args:
        master: A Spark master URL.
        conf: Spark settings on top of ours, and of those in the user's spark-defaults.conf.
        report: Called with the next step in words: ``looking for Java``.

    Raises:
        EngineUnavailable: There is no Java, the JVM or Spark did not start, or the workers of the cluster lack what
            this program needs.
    """
    folder = Path(tempfile.mkdtemp(prefix="delta-table-explorer-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    users = {**spark_defaults(), **conf}
    spark_conf = SparkConf(loadDefaults=False).setAll(list(_settings(master, users, folder).items()))
    if _gateway_died(SparkContext._gateway):
        _clear_globals()
    output = (folder / "jvm.log").open("w+b")
    try:
        with _environment(**_variables(master, users)):
            if SparkContext._gateway is None:
                _start_jvm(spark_conf, output, report)
            report(f"starting Spark on {master}")
            session = SparkSession.builder.config(conf=spark_conf).getOrCreate()
            # Spark reads the settings of SQL at their first use: an invalid one shows itself here.
            session.conf.get(SUBSTITUTION)
    except EngineUnavailable:
        raise
    except Exception as error:
        printed = _tail(output)
        _clear_globals()
        raise EngineUnavailable(
            f"Spark did not start on {master}: {_first_line(error)}{f' The JVM printed: {printed}' if printed else ''}",
            engine="spark",
        ) from error
    finally:
        output.close()
    _silence_query_context()
    _keep_classes(session.sparkContext._jvm)
    try:
        _check_cluster(session, report)
    except EngineUnavailable:
        close(session)
        raise
    return session


def adopt(report: Callable[[str], None]) -> SparkSession | None:
    """Return the session that the user runs in this process, or None.

    Args:
        report: Called with the next step in words.

    Raises:
        EngineUnavailable: The workers of its cluster lack what this program needs.
    """
    session = existing_session()
    if session is not None and not is_connect(session):
        _check_cluster(session, report)
    return session


def _check_cluster(session: SparkSession, report: Callable[[str], None]) -> None:
    if not is_local(str(session.sparkContext.master)):
        prepare_workers(session, report)


def is_local(master: str) -> bool:
    """Return whether a master URL names threads or processes of this machine."""
    return master == "local" or master.startswith(("local[", "local-cluster["))


def _variables(master: str, users: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a launch; PySpark takes the workers' Python from there alone."""
    if is_local(master):
        return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    given = users.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return {"PYSPARK_PYTHON": given or sys.executable}


def _keep_classes(jvm: Any) -> None:
    for name in _CLASSES:
        setattr(jvm, name, getattr(jvm, name))


def _start_jvm(conf: SparkConf, output: IO[bytes], report: Callable[[str], None]) -> None:
    report("looking for Java")
    java = find_java()
    report(f"starting Java {java.version}")
    with _environment(JAVA_HOME=str(java.home)):
        streams = {"stdout": output, "stderr": subprocess.STDOUT}
        jvm = launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]  # PySpark's own
    jvm.started_by_explorer = True
    SparkContext._ensure_initialized(gateway=jvm)


def connect(url: str, conf: Mapping[str, str]) -> SparkSession:
    """Connect to a Spark Connect server.

    Raises:
        EngineUnavailable: The client's packages are missing, or the server does not answer.
    """
    try:
        builder = SparkSession.builder.remote(url)
        for key, value in {"spark.sql.session.timeZone": "UTC", **conf, SUBSTITUTION: "false"}.items():
            builder = builder.config(key, value)
        session = builder.create()
        _silence_query_context()
        session.range(1).count()
    except (PySparkRuntimeError, ImportError) as error:
        install = 'pip install "pyspark[connect]"'
        raise EngineUnavailable(
            f"Spark Connect needs packages that are not installed: {_first_line(error)} To get them: {install}.",
            engine="spark",
            install=install,
        ) from error
    except Exception as error:
        raise EngineUnavailable(
            f"The Spark Connect server at {url} cannot be used: {_first_line(error)} "
            "Check its address and that it runs.",
            engine="spark",
        ) from error
    return session


def how_it_ended(session: SparkSession) -> str | None:
    """Return one sentence on how the session ended, or None if it lives."""
    if is_connect(session):
        stopped: bool = session.is_stopped  # type: ignore[attr-defined]  # only the Connect session has it
        return "The Spark Connect session was closed." if stopped else None
    return how_context_ended(session.sparkContext)


def how_context_ended(context: SparkContext) -> str | None:
    """Return one sentence on how a classic context ended, or None if it lives."""
    if context._jsc is None:
        return "Spark was stopped."
    gateway: Any = context._gateway
    if _gateway_died(gateway):
        return f"Spark's Java process died (exit code {gateway.proc.returncode})."
    return None


def answers(session: SparkSession) -> bool:
    """Return whether the session's JVM answers and runs Spark; a JVM that does not is ended."""
    if is_connect(session):
        return True
    context = session.sparkContext
    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        process = getattr(context._gateway, "proc", None)
        if process is not None:
            _end(process)
        return False


def end_own_jvm(session: SparkSession) -> bool:
    """End the JVM of a session at once, if this program started it; whether it did."""
    if is_connect(session):
        return False
    jvm: Any = session.sparkContext._gateway
    if not getattr(jvm, "started_by_explorer", False):
        return False
    jvm.proc.kill()
    jvm.proc.wait()
    return True


def close(session: SparkSession) -> None:
    """Stop a session that we started, and its JVM if that is ours too."""
    if is_connect(session):
        session.stop()
        return
    if how_it_ended(session) is None:
        session.stop()
    forget(session)


def forget(session: SparkSession) -> None:
    """Clear PySpark's globals after a session ended, so that another can start; a newer session is left alone."""
    if is_connect(session):
        return
    context = session.sparkContext
    if SparkContext._active_spark_context not in (None, context):
        return
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.shutdown()
    context._jsc = None
    if _gateway_died(context._gateway) or getattr(context._gateway, "started_by_explorer", False):
        _clear_globals()


def _gateway_died(gateway: Any) -> bool:
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def _clear_globals() -> None:
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    _discard_gateway()


def _settings(master: str, users: Mapping[str, str], folder: Path) -> dict[str, str]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J, "utf-8")
    settings = {
        **_CONF,
        **(_OF_THIS_MACHINE if is_local(master) else {}),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.driver.memory": f"{_heap_megabytes()}m",
        **users,
        "spark.master": master,
        **FIXED,
    }
    options = f"-Dlog4j2.configurationFile={log4j.as_uri()} -Dderby.stream.error.file={folder / 'derby.log'}"
    if settings["spark.sql.catalogImplementation"] != "hive":
        # The database of a user's metastore is where its address says, below the working folder.
        options += f" -Dderby.system.home={folder}"
    settings.pop("spark.remote", None)
    settings["spark.driver.extraJavaOptions"] = f"{options} {users.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def _heap_megabytes() -> int:
    """Return an eighth of the memory there is, within bounds: Java also runs the tasks, which sort and join in it."""
    memory_limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit in _LIMITS_OF_CONTAINERS:
        # Where nothing is limited, the file is absent, or contains "max" or more than any machine has.
        with contextlib.suppress(OSError, ValueError):
            memory_limits.append(int(limit.read_text("ascii")))
    return min(max((min(memory_limits) >> 20) // 8, _LEAST_HEAP), _MOST_HEAP)


def _discard_gateway() -> None:
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is None:
        return
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    # The JVM ends when its standard input closes.
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _silence_query_context() -> None:
    """Keep Spark's loggers of query contexts from writing JSON lines to stderr; their text is in the exceptions."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True


def _tail(output: IO[bytes]) -> str:
    """Return the last lines that the JVM printed, without stack frames."""
    output.flush()
    output.seek(0)
    lines = output.read().decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if "incubator modules" not in line and not line.startswith("\tat ")]
    return " ".join(lines[-5:])[-600:]


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
