"""moto's S3 server on a free port of the loopback, one request at a time: ``python -m tests.prove.s3_server``.

moto looks whether a key is there and then writes it, in two steps; S3 does both in one. Served one by one they are one
step here too.
"""

from __future__ import annotations

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


class _Quiet(MotoRequestHandler):
    """Says nothing of each request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        del code, size


def main() -> None:
    """Print the port and serve."""
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=False, request_handler=_Quiet)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
