"""Servers of the tests on the loopback: run for a while, and the options with which a store reaches one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

__all__ = ["running", "s3_options", "variables_of"]


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[int]:
    """Run a server on a thread, and yield its port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def s3_options(port: int) -> dict[str, str]:
    """Return the storage options for an S3 server that takes the usual key of the tests."""
    return {
        "aws_endpoint": f"http://127.0.0.1:{port}",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
        "allow_http": "true",
    }


def variables_of(options: dict[str, str]) -> dict[str, str]:
    """Return storage options as the variables of a process."""
    names = {"aws_endpoint": "AWS_ENDPOINT_URL", "allow_http": "AWS_ALLOW_HTTP"}
    return {names.get(option, option.upper()): value for option, value in options.items()}
