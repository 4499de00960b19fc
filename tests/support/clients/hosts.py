"""Two hosts on one machine: a network namespace of its own, which reaches this one over a pair of devices."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.clients.connect_server import running, spark_home
from tests.support.pages.ports import free_port, wait_for

__all__ = ["HOSTS_MISSING", "two_hosts"]


def _missing() -> str | None:
    if shutil.which("ip") is None:
        return "the command ip of iproute2 is not installed"
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this user may not make network namespaces"


HOSTS_MISSING = _missing()
"""Why there can be no second host, or None."""

_HERE, _THERE = "10.203.77.1", "10.203.77.2"


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[str, str]]:
    """Start a master on this host and a worker on the other, which lacks this program, and end both.

    Yields:
        The master's address, and this host's address.
    """
    name = f"dte{os.getpid()}"
    port = free_port()
    address = f"spark://{_HERE}:{port}"
    launch = [str(spark_home() / "bin" / "spark-class"), "org.apache.spark.deploy"]
    master = [launch[0], f"{launch[1]}.master.Master", "--host", _HERE, "--port", str(port), "--webui-port", "0"]
    worker = [launch[0], f"{launch[1]}.worker.Worker", "--host", _THERE, "--cores", "1", "--memory", "1g"]
    _ip("netns", "add", name)
    try:
        _ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        _ip("addr", "add", f"{_HERE}/30", "dev", f"{name}a")
        _ip("link", "set", f"{name}a", "up")
        _ip("-n", name, "addr", "add", f"{_THERE}/30", "dev", f"{name}b")
        _ip("-n", name, "link", "set", f"{name}b", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        inside = ["ip", "netns", "exec", name, *worker, "--webui-port", "0", address]
        with (folder / "hosts.log").open("wb") as log, contextlib.ExitStack() as processes:
            processes.enter_context(running(master, log.fileno(), folder, _HERE))
            wait_for(port, host=_HERE)
            processes.enter_context(running(inside, log.fileno(), folder, _THERE, program=False))
            yield address, _HERE
    finally:
        _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
