"""Servers of stores that others made, on the loopback: S3 by versitygw, Azure by azurite, Google's by an emulator.

Each is found by a variable, ``VERSITYGW``, ``AZURITE`` and ``FAKE_GCS_SERVER``, or in ``PATH`` as ``versitygw``,
``azurite-blob`` and ``fake-gcs-server``. They are installed by::

    go install github.com/versity/versitygw/cmd/versitygw@latest
    npm install --global azurite
    go install github.com/fsouza/fake-gcs-server@latest
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlencode, urlsplit

from tests.support.loopback import s3_options
from tests.support.pages.ports import free_port, listens

__all__ = ["SERVERS", "StoreServer", "program_of", "store_server"]

BUCKET: Final = "lake"
_ACCOUNT: Final = "devstoreaccount1"
# The key of every emulator of Azure; it is in its documentation.
_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_PATIENCE: Final = 120


@dataclass(frozen=True, slots=True)
class StoreServer:
    """A server that runs.

    Attributes:
        scheme: ``s3``, ``az`` or ``gs``.
        options: Storage options for it.
        wrong: Options with a wrong secret; empty if the server does not look at it.
        creates_once: Whether of two requests at the same time one alone creates an object.
    """

    scheme: str
    options: dict[str, str]
    wrong: dict[str, str]
    creates_once: bool = True

    def place(self, name: str, bucket: str = BUCKET) -> str:
        """Return the address of a place in the bucket."""
        return f"{self.scheme}://{bucket}/{name}"


SERVERS: Final[Mapping[str, tuple[str, str]]] = {
    "s3": ("VERSITYGW", "versitygw"),
    "az": ("AZURITE", "azurite-blob"),
    "gs": ("FAKE_GCS_SERVER", "fake-gcs-server"),
}
"""The variable and the usual name of each program."""


def program_of(scheme: str) -> str | None:
    """Return the program of a server; None if it is not installed."""
    variable, name = SERVERS[scheme]
    return shutil.which(os.environ.get(variable, name))


@contextmanager
def store_server(scheme: str, folder: Path) -> Iterator[StoreServer]:
    """Run a server with an empty bucket ``lake``.

    Args:
        folder: An empty folder for what it stores.
    """
    program, port = program_of(scheme), free_port()
    assert program is not None, f"{SERVERS[scheme][1]} is not installed"
    command, variables, made = _STARTS[scheme](program, port, folder)
    with subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        try:
            until = time.monotonic() + _PATIENCE
            while not listens(port):
                assert process.poll() is None, f"{program} has ended"
                assert time.monotonic() < until, f"{program} does not answer"
                time.sleep(0.1)
            yield made()
        finally:
            process.terminate()


_Start = tuple[list[str], dict[str, str], Callable[[], StoreServer]]


def _s3(program: str, port: int, folder: Path) -> _Start:
    buckets, metadata = folder / "buckets", folder / "metadata"
    (buckets / BUCKET).mkdir(parents=True)
    metadata.mkdir()
    command = [program, "--quiet", "--port", f"127.0.0.1:{port}", "posix", "--sidecar", str(metadata), str(buckets)]
    options = s3_options(port)
    made = StoreServer("s3", options, options | {"aws_secret_access_key": "wrong"})
    return command, {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret"}, lambda: made


def _azure(program: str, port: int, folder: Path) -> _Start:
    command = [
        *(program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder), "--silent"),
        *("--skipApiVersionCheck", "--disableTelemetry"),
    ]
    endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
    options = {
        "azure_storage_account_name": _ACCOUNT,
        "azure_storage_account_key": _KEY,
        "azure_storage_endpoint": endpoint,
        "allow_http": "true",
    }
    wrong = options | {"azure_storage_account_key": base64.b64encode(b"wrong").decode()}

    def made() -> StoreServer:
        _create_container(endpoint)
        return StoreServer("az", options, wrong)

    return command, {}, made


def _create_container(endpoint: str) -> None:
    """Create the container: the storage client of this program creates none."""
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": date, "x-ms-version": "2021-12-02"}
    named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\n{named}/{_ACCOUNT}/{_ACCOUNT}/{BUCKET}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(_KEY), text.encode(), hashlib.sha256)).decode()
    request = urllib.request.Request(  # noqa: S310 - the loopback
        f"{endpoint}/{BUCKET}?restype=container",
        method="PUT",
        headers={**headers, "Authorization": f"SharedKey {_ACCOUNT}:{signature}", "Content-Length": "0"},
    )
    try:
        urllib.request.urlopen(request).close()  # noqa: S310 - as above
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


class _XmlUploads(BaseHTTPRequestHandler):
    """Before the emulator; sends it by the JSON API what the client writes by the XML API, which it lacks."""

    protocol_version = "HTTP/1.1"
    emulator = 0

    def do_PUT(self) -> None:
        bucket, _, key = unquote(urlsplit(self.path).path).strip("/").partition("/")
        query = {"uploadType": "media", "name": key}
        if (once := self.headers.get("x-goog-if-generation-match")) is not None:
            query["ifGenerationMatch"] = once
        status, headers, body = self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}")
        stored = json.loads(body) if status == 200 else {}
        named = {"ETag": stored.get("etag", ""), "x-goog-generation": stored.get("generation", "")}
        self._answer(status, named if stored else headers, b"" if stored else body)

    def do_GET(self) -> None:
        self._answer(*self._ask(self.command, self.path))

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def _ask(self, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kept = {
            name: value for name, value in self.headers.items() if name.lower() in {"range", "content-type", "host"}
        }
        connection = HTTPConnection("127.0.0.1", self.emulator, timeout=60)
        connection.request(method, path, body, kept)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        left = {"content-length", "transfer-encoding", "connection", "date"}
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in left}
        if method == "HEAD":
            headers["content-length"] = answer.getheader("content-length", "0")
        return answer.status, headers, content

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "content-length" not in headers:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the class above
        pass


def _google(program: str, port: int, folder: Path) -> _Start:
    (folder / BUCKET).mkdir()
    handler = type("_Handler", (_XmlUploads,), {"emulator": port})
    front = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    front.daemon_threads = True
    threading.Thread(target=front.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{front.server_address[1]}"
    command = [
        *(program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "filesystem"),
        *("-filesystem-root", str(folder), "-public-host", address, "-log-level", "error"),
    ]
    account = {
        "gcs_base_url": f"http://{address}",
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    options = {"google_service_account_key": json.dumps(account), "allow_http": "true"}
    # The emulator takes every sign-in, and looks for an object before it writes it: two requests may both create it.
    made = StoreServer("gs", options, {}, creates_once=False)
    return command, {}, lambda: made


_STARTS: Final[Mapping[str, Callable[[str, int, Path], _Start]]] = {"s3": _s3, "az": _azure, "gs": _google}
