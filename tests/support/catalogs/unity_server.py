"""A Unity Catalog of the tests' own on the loopback: real HTTP after the contract, with faults to order.

Requests and answers are checked against `tests.support.catalogs.contract_shapes`; a request that breaks them is kept in
``UnityServer.broken``, which a test's end checks.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from tests.support.catalogs import contract_shapes as shapes
from tests.support.catalogs.unity_state import CatalogTable, RefusedError, UnityState

BASE = "/api/2.1/unity-catalog"
ENDPOINTS = [
    "POST /v1/catalogs/{catalog}/schemas/{schema}/staging-tables",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables",
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/credentials",
    "PATCH /v1/something/of/a/later/version",
]
_TABLE = r"/delta/v1/catalogs/([^/]+)/schemas/([^/]+)/tables"


@dataclass
class Request:
    """A request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    token: str | None


@dataclass
class Answer:
    """An answer in place of the usual one.

    Attributes:
        after: Whether the request is carried out before.
        drop: Close the connection instead of answering.
        seconds: Wait before it.
        drip: Seconds between single bytes.
    """

    status: int = 200
    body: bytes | Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    drop: bool = False
    seconds: float = 0.0
    drip: float = 0.0


Fault = Callable[[Request], Answer | None]


def refused(status: int, kind: str, message: str = "refused", **more: Any) -> Answer:
    """Return an error in the form of the Delta API."""
    return Answer(status, {"error": {"message": message, "type": kind, "code": status}}, **more)


class UnityServer:
    """The server; ``faults`` are asked in turn before each request, and the first answer counts."""

    def __init__(self, folder: Path, *, delta: bool = True, token: str | None = None, page: int = 50) -> None:
        self.state = UnityState(folder)
        self.delta, self.token, self.page = delta, token, page
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.broken: list[str] = []
        self.connections: set[socket.socket] = set()
        self._listen(0)

    def _listen(self, port: int) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def restart(self, seconds: float) -> None:
        """End as a process does that is killed, connections and answers under way with it, and listen again later."""
        port = self._http.server_address[1]
        self.close()
        for connection in tuple(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        time.sleep(seconds)
        self._listen(port)

    def add_schema(self, catalog: str, schema: str) -> None:
        self.state.catalogs.setdefault(catalog, {}).setdefault(schema, {})

    def add_table(self, catalog: str, schema: str, table: CatalogTable) -> CatalogTable:
        self.add_schema(catalog, schema)
        self.state.catalogs[catalog][schema][table.name] = table
        return table

    def count(self, method: str, part: str) -> int:
        return sum(each.method == method and part in each.path for each in self.requests)

    def answered(self, request: Request) -> tuple[int, Any]:
        """Carry a request out, and return what is answered; what breaks the contract is kept for the test."""
        try:
            return self.answer(request)
        except RefusedError as error:
            return error.status, _error(request, error)
        except Exception as error:  # noqa: BLE001 - a broken request is the test's to see
            self.broken.append(f"{request.method} {request.path}: {error!r}")
            return 500, _error(request, RefusedError(500, "InternalServerErrorException", str(error)))

    def answer(self, request: Request) -> tuple[int, Any]:
        """Carry a request out."""
        if self.token is not None and request.token != f"Bearer {self.token}":
            raise RefusedError(401, "NotAuthorizedException", "The token is not valid.")
        for method, pattern, call in self._calls():
            found = re.fullmatch(pattern, request.path)
            if method == request.method and found is not None and (self.delta or "/delta/" not in pattern):
                return 200, call(request, *map(unquote, found.groups()))
        raise RefusedError(404, "", "")

    def _calls(self) -> list[tuple[str, str, Callable[..., Any]]]:
        return [
            ("GET", "/catalogs", self._catalogs),
            ("GET", "/schemas", self._schemas),
            ("GET", "/tables", self._tables),
            ("GET", r"/tables/([^/]+)", self._table_info),
            ("POST", "/temporary-table-credentials", self._older_credentials),
            ("GET", "/delta/v1/config", self._config),
            ("POST", r"/delta/v1/catalogs/([^/]+)/schemas/([^/]+)/staging-tables", self._stage),
            ("GET", r"/delta/v1/staging-tables/([^/]+)/credentials", self._staging_credentials),
            ("POST", _TABLE, self._create),
            ("GET", rf"{_TABLE}/([^/]+)", self._load),
            ("POST", rf"{_TABLE}/([^/]+)", self._update),
            ("GET", rf"{_TABLE}/([^/]+)/credentials", self._credentials),
        ]

    def _config(self, request: Request) -> Any:
        if request.query.get("catalog") not in self.state.catalogs:
            raise RefusedError(404, "NoSuchCatalogException", f"Catalog not found: {request.query.get('catalog')}")
        assert "1.0" in request.query["protocol-versions"].split(",")
        return _shaped({"endpoints": ENDPOINTS, "protocol-version": "1.0"}, shapes.Config)

    def _load(self, request: Request, *names: str) -> Any:
        table = self.state.table(*names)
        if table.format != "DELTA":
            raise RefusedError(400, "UnsupportedTableFormatException", "Not a Delta table.")
        with self.state.lock:
            return _shaped(table.document(), shapes.LoadTable)

    def _update(self, request: Request, *names: str) -> Any:
        table = self.state.table(*names)
        self.state.update(table, self._read(request, shapes.UpdateTable))
        return self._load(request, *names)

    def _stage(self, request: Request, catalog: str, schema: str) -> Any:
        staged = self.state.stage(catalog, schema, self._read(request, shapes.CreateStagingTable))
        return _shaped(staged, shapes.StagingTable)

    def _create(self, request: Request, catalog: str, schema: str) -> Any:
        table = self.state.create(catalog, schema, self._read(request, shapes.CreateTable))
        return _shaped(table.document(), shapes.LoadTable)

    def _staging_credentials(self, _: Request, uuid: str) -> Any:
        assert uuid in self.state.staging.values()
        return _shaped({"storage-credentials": self.state.staging_credentials}, shapes.Credentials)

    def _credentials(self, request: Request, *names: str) -> Any:
        table, operation = self.state.table(*names), request.query["operation"]
        assert operation in {"READ", "READ_WRITE"}
        given = [{**each, "operation": operation} for each in table.credentials]
        plain = {"prefix": table.location, "operation": operation, "config": {}, "expiration-time-ms": None}
        return _shaped({"storage-credentials": given or [plain]}, shapes.Credentials)

    def _older_credentials(self, request: Request) -> Any:
        assert set(request.body) == {"table_id", "operation"}
        return {"aws_temp_credentials": None, "expiration_time": 0}

    def _catalogs(self, request: Request) -> Any:
        return self._paged(request, "catalogs", [{"name": name} for name in sorted(self.state.catalogs)])

    def _schemas(self, request: Request) -> Any:
        catalog = request.query["catalog_name"]
        if catalog not in self.state.catalogs:
            raise RefusedError(404, "CATALOG_NOT_FOUND", f"Catalog not found: {catalog}")
        return self._paged(request, "schemas", [{"name": name} for name in sorted(self.state.catalogs[catalog])])

    def _tables(self, request: Request) -> Any:
        tables = self.state.schema(request.query["catalog_name"], request.query["schema_name"])
        assert int(request.query["max_results"]) <= 50
        names = (request.query["catalog_name"], request.query["schema_name"])
        return self._paged(request, "tables", [_info(*names, tables[name]) for name in sorted(tables)])

    def _table_info(self, request: Request, full_name: str) -> Any:
        catalog, schema, name = full_name.split(".", 2)
        return _info(catalog, schema, self.state.table(catalog, schema, name))

    def _paged(self, request: Request, name: str, items: list[Any]) -> Any:
        start = int(request.query.get("page_token", "0"))
        end = start + self.page
        return {name: items[start:end], "next_page_token": str(end) if end < len(items) else None}

    def _read(self, request: Request, shape: type[Any]) -> Any:
        try:
            return msgspec.convert(request.body, shape)
        except msgspec.ValidationError as error:
            self.broken.append(f"{request.method} {request.path}: {error}")
            raise RefusedError(400, "BadRequestException", str(error)) from error


def _info(catalog: str, schema: str, table: CatalogTable) -> Any:
    return {
        "name": table.name, "catalog_name": catalog, "schema_name": schema, "table_type": table.table_type,
        "data_source_format": table.format, "storage_location": table.location, "comment": table.comment,
        "properties": table.properties, "owner": table.owner, "table_id": table.uuid, "created_at": table.created,
    }  # fmt: skip


def _shaped(document: Any, shape: type[Any]) -> Any:
    msgspec.convert(document, shape)
    return document


class _Counted(BaseHTTPRequestHandler):
    """Notes its connection while it is open."""

    connections: set[socket.socket]

    def setup(self) -> None:
        super().setup()
        self.connections.add(self.connection)

    def finish(self) -> None:
        self.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()


def _handler(server: UnityServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Counted):
        protocol_version = "HTTP/1.1"
        connections = server.connections

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as above
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            request = Request(
                self.command, parts.path.removeprefix(BASE), dict(parse_qsl(parts.query)),
                json.loads(body) if body.startswith(b"{") else body.decode() or None,
                self.headers.get("authorization"),
            )  # fmt: skip
            server.requests.append(request)
            fault = next(filter(None, (fault(request) for fault in server.faults)), None)
            if fault is not None and not fault.after:
                self._send(fault)
                return
            status, document = server.answered(request)
            self._send(fault or Answer(status, document))

        def _send(self, answer: Answer) -> None:
            time.sleep(answer.seconds)
            if answer.drop:
                self.close_connection = True
                self.connection.close()
                return
            data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if not answer.drip:
                self.wfile.write(data)
                return
            for index in range(len(data)):
                self.wfile.write(data[index : index + 1])
                self.wfile.flush()
                time.sleep(answer.drip)

    return Handler


def _error(request: Request, error: RefusedError) -> Any:
    if not error.kind:
        return {}
    if request.path.startswith("/delta/"):
        return _shaped({"error": {"message": str(error), "type": error.kind, "code": error.status}}, shapes.ErrorAnswer)
    older = {"NoSuchTableException": "TABLE_NOT_FOUND", "NotAuthorizedException": "UNAUTHENTICATED"}
    return {"error_code": older.get(error.kind, error.kind), "message": str(error), "details": []}


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[UnityServer]:
    """Run a server, and check at its end that every request was one of the contract."""
    server = UnityServer(folder, **options)
    try:
        yield server
        assert server.broken == []
    finally:
        server.close()
