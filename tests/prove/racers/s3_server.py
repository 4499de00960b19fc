"""An S3 server on a free port of the loopback: ``python -m tests.prove.racers.s3_server [FOLDER]``.

With a folder, versitygw serves it where it is installed, or where ``VERSITYGW`` names it: a server that creates a key
in one step, as S3 does, and answers many requests at once. Otherwise moto answers one request at a time: it looks
whether a key is there and then writes it, in two steps, and one by one they are one step here too. Connections are
taken by a thread each, so that none waits in the queue of the socket and is dropped.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


class _Quiet(MotoRequestHandler):
    """Says nothing of each request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        del code, size


class _OneByOne:
    """An application that answers one request after the other."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with self._lock:
            return list(self._application(environ, start_response))


def main() -> None:
    """Print the port and serve."""
    gateway = shutil.which(os.environ.get("VERSITYGW", "versitygw"))
    if len(sys.argv) > 1 and gateway is not None:
        _become(gateway, sys.argv[1])
    app = _OneByOne(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def _become(gateway: str, folder: str) -> None:
    """Replace this process with the gateway, which listens a moment after the port was printed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    print(port, flush=True)
    keys = {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret"}
    metadata = os.path.join(folder, "metadata")
    buckets = os.path.join(folder, "buckets")
    for each in (metadata, buckets):
        os.makedirs(each)
    command = [
        gateway,
        "--quiet",
        "--keep-alive",
        "--port",
        f"127.0.0.1:{port}",
        "posix",
        "--sidecar",
        metadata,
        buckets,
    ]
    os.execve(gateway, command, {**os.environ, **keys})  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()
