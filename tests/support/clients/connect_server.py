"""A Spark Connect server and a standalone cluster on the loopback, from what PySpark brings."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark

from explorer.spark.engine.java import find_java
from tests.support.pages.ports import free_port, wait_for
from tests.support.shared_tables import REPOSITORY


@contextlib.contextmanager
def connect_server(folder: Path, master: str = "local[2]") -> Iterator[str]:
    """Start a server and stop it at the end.

    Args:
        folder: A scratch folder.
        master: Where it runs.

    Yields:
        Its address, ``sc://127.0.0.1:port``.
    """
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", master]
    command += [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with (folder / "server.log").open("wb") as log, running(command, log.fileno(), folder):
        wait_for(port)
        yield f"sc://127.0.0.1:{port}"


@contextlib.contextmanager
def standalone_cluster(folder: Path, workers: int = 2, *, program: bool = True) -> Iterator[str]:
    """Start a master and workers of one core each, and stop them at the end.

    Args:
        folder: A scratch folder.
        workers: How many.
        program: Whether the workers can import this program and its tests.

    Yields:
        The master's address, ``spark://127.0.0.1:port``.
    """
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    launch = [str(spark_home() / "bin" / "spark-class"), "org.apache.spark.deploy"]
    master = [f"{launch[1]}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = [
        f"{launch[1]}.worker.Worker",
        "--host",
        "127.0.0.1",
        "--cores",
        "1",
        "--memory",
        "1g",
        "--webui-port",
        "0",
    ]
    with (folder / "cluster.log").open("wb") as log, contextlib.ExitStack() as processes:
        processes.enter_context(running([launch[0], *master], log.fileno(), folder))
        wait_for(port)
        for _ in range(workers):
            processes.enter_context(running([launch[0], *worker, address], log.fileno(), folder, program=program))
        yield address


@contextlib.contextmanager
def running(
    command: list[str], output: int, folder: Path, host: str = "127.0.0.1", *, program: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of Spark's own processes, and end it and what it started.

    Args:
        program: Whether its Python workers can import this program and its tests.
    """
    environ = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": host,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]) if program else "",
    }
    process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, cwd=folder)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def spark_home() -> Path:
    """Where PySpark keeps Spark."""
    return Path(pyspark.__file__).parent
