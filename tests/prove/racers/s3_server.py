"""moto's S3 server on a free port of the loopback, one request at a time: ``python -m tests.prove.racers.s3_server``.

moto looks whether a key is there and then writes it, in two steps; S3 does both in one. Answered one by one they are
one step here too. Connections are taken by a thread each, so that none waits in the queue of the socket and is dropped.
"""

from __future__ import annotations

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
    app = _OneByOne(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
