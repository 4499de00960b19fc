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


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as caller:
        caller.settimeout(1)
        return caller.connect_ex((host, port)) == 0


def wait_for(port: int, seconds: float = 120, host: str = "127.0.0.1") -> None:
    """Wait until somebody listens on a port."""
    end = time.monotonic() + seconds
    while not listens(port, host):
        assert time.monotonic() < end, f"nobody listens on port {port} after {seconds} s"
        time.sleep(0.1)
