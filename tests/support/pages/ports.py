"""Ports of this machine."""

from __future__ import annotations

import socket
import time

__all__ = ["free_port", "listens", "wait_for"]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as caller:
        caller.settimeout(1)
        return caller.connect_ex(("127.0.0.1", port)) == 0


def wait_for(port: int, seconds: float = 120) -> None:
    """Wait until somebody listens on a port."""
    end = time.monotonic() + seconds
    while not listens(port):
        assert time.monotonic() < end, f"nobody listens on port {port} after {seconds} s"
        time.sleep(0.1)
