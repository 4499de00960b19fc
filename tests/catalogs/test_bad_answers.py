"""A catalog that is down, slow, refuses, lies, or is none: named, without secrets, and what still works."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.catalogs import http_session
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.http_session import HttpSession
from explorer.catalogs.settings import CatalogSettings, settings_from
from explorer.core.errors import (
    CatalogError,
    ExplorerError,
    RequestError,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
)
from explorer.storage import open_store
from tests.catalogs.test_catalog_roots import external
from tests.support.at_least_one import at_least_one
from tests.support.catalogs.unity_server import Answer, Request, UnityServer, refused, running
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

TOKEN = "dapi0123456789abcdef"


@pytest.fixture
def orders(server: UnityServer, tmp_path: Path) -> UnityServer:
    """An external table ``main.shop.orders``."""
    write(open_store(tmp_path / "outside"), {0: (PROTOCOL, METADATA, add("a"))})
    server.add_table("main", "shop", external("orders", (tmp_path / "outside").as_uri()))
    return server


def opened(**options: Any) -> explorer.Table:
    return explorer.open_table("uc://main.shop.orders", **options)


def client(url: str, **options: Any) -> CatalogClient:
    return CatalogClient(CatalogSettings(url, **options))


def test_owner_comment_and_type_come_with_the_table(orders: UnityServer) -> None:
    orders.state.table("main", "shop", "orders").comment = "Orders of the shop"
    entry = opened().catalog_entry
    assert entry is not None
    assert (entry.address, entry.owner, entry.comment, entry.table_type, entry.manages_commits) == (
        "uc://main.shop.orders", "ada", "Orders of the shop", "EXTERNAL", False,
    )  # fmt: skip


def test_a_server_without_the_delta_api_is_served_by_the_older_calls(orders: UnityServer) -> None:
    orders.delta = False
    table = opened()
    assert (table.snapshot().version, table.catalog_entry.owner) == (0, "ada")
    assert orders.count("GET", "/delta/v1/config") == 1
    orders.state.table("main", "shop", "orders").properties["delta.feature.catalogManaged"] = "supported"
    with pytest.raises(UnsupportedFeature, match=r"no Delta API .* it answers GET /delta/v1/config with 404"):
        opened()


def test_a_table_that_the_delta_api_does_not_serve_is_asked_for_by_the_older_call(orders: UnityServer) -> None:
    orders.faults.append(
        lambda request: (
            refused(400, "UnsupportedTableFormatException")
            if request.path.startswith("/delta/v1/catalogs") and request.path.endswith("/orders")
            else None
        )
    )
    assert opened().snapshot().version == 0


@pytest.mark.parametrize("kind", ["CSV", "VIEW"])
def test_what_is_no_delta_table_is_refused_by_its_kind(orders: UnityServer, kind: str) -> None:
    orders.state.table("main", "shop", "orders").format = kind
    with pytest.raises(RequestError, match=f"lists it as {kind}"):
        opened()


@pytest.mark.parametrize(
    ("status", "kind", "error", "step"),
    [
        (401, "NotAuthorizedException", CatalogError, "UNITY_CATALOG_TOKEN"),
        (403, "PermissionDeniedException", CatalogError, "privilege"),
        (404, "NoSuchTableException", TableNotFound, "dropped or renamed"),
        (404, "NoSuchSchemaException", TableNotFound, "dropped or renamed"),
        (429, "TooManyRequestsException", CatalogError, "busy"),
        (500, "InternalServerErrorException", CatalogError, "failed"),
        (501, "NotImplementedException", CatalogError, "does not implement"),
        (503, "", CatalogError, "failed"),
    ],
)
def test_a_refusal_is_in_the_catalog_s_words_with_a_next_step(
    orders: UnityServer, status: int, kind: str, error: type[ExplorerError], step: str
) -> None:
    orders.faults.append(lambda _: refused(status, kind, f"You said {TOKEN}\x1b[2J."))
    with pytest.raises(error, match=step) as refusal:
        client(orders.url, token=TOKEN).load_table(explorer_address())
    assert "You said ***" in refusal.value.message
    assert "\x1b" not in refusal.value.message
    assert TOKEN not in str(refusal.value.facts())


def explorer_address() -> Any:
    from explorer.catalogs.address import parse_table

    return parse_table("uc://main.shop.orders")


def test_busy_and_broken_answers_are_asked_for_again_and_changes_are_not(orders: UnityServer) -> None:
    left = [refused(503, ""), Answer(drop=True)]
    orders.faults.append(lambda _: left.pop() if left else None)
    assert opened().snapshot().version == 0
    orders.faults[:] = [lambda _: refused(503, "")]
    orders.requests.clear()
    with pytest.raises(CatalogError):
        HttpSession(CatalogSettings(orders.url)).post("/tables", {})
    assert len(orders.requests) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>sign in</html>", b"[]", b"{}", b'{"metadata": 1}', b"\xff\xfe", b"null", b"[" * 100_000,
     b'{"metadata":{"etag":1}}', b'{"latest-table-version": 99999999999999999999999}', b'{"commits":[{"version":-1}]}'],
)  # fmt: skip
def test_an_answer_that_the_contract_does_not_know_is_named(orders: UnityServer, body: bytes) -> None:
    orders.faults.append(lambda _: Answer(200, body))
    for call in at_least_one((opened, lambda: client(orders.url).load_table(explorer_address()))):
        with pytest.raises(CatalogError, match="did not answer") as wrong:
            call()
        assert wrong.value.reason == "malformed"


def test_a_token_is_sent_to_no_other_address(orders: UnityServer, tmp_path: Path) -> None:
    with running(tmp_path) as other:
        for status in at_least_one((301, 302, 303, 307, 308)):
            place = f"{other.url}/api/2.1/unity-catalog/stolen?token={TOKEN}"
            orders.faults[:] = [lambda _, s=status, p=place: Answer(s, b"", {"location": p})]
            with pytest.raises(CatalogError, match="redirects") as refusal:
                client(orders.url, token=TOKEN).load_table(explorer_address())
            assert TOKEN not in refusal.value.message
            with pytest.raises(CatalogError, match="redirects"):
                HttpSession(CatalogSettings(orders.url, token=TOKEN)).post("/tables", {})
        assert other.requests == []
        assert {request.token for request in orders.requests} == {f"Bearer {TOKEN}"}


def test_a_listing_without_end_ends(orders: UnityServer, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.faults.append(lambda _: Answer(200, {"catalogs": [{"name": "x"}], "next_page_token": "again"}))
    with pytest.raises(CatalogError, match="the same next page twice"):
        list(client(orders.url).catalogs())
    pages = iter(range(1 << 30))
    orders.faults[:] = [lambda _: Answer(200, {"catalogs": [], "next_page_token": str(next(pages))})]
    orders.requests.clear()
    with pytest.raises(CatalogError, match="200 empty pages in a row"):
        list(client(orders.url).catalogs())
    assert len(orders.requests) == 200
    orders.faults[:] = [lambda _: Answer(200, {"catalogs": [], "next_page_token": "x" * 9_000})]
    with pytest.raises(CatalogError, match="page token above 8,192"):
        list(client(orders.url).catalogs())
    orders.faults[:] = [lambda _: Answer(200, {"catalogs": [{"name": "x"}], "next_page_token": str(next(pages))})]
    monkeypatch.setattr("explorer.catalogs.client.MOST_PAGES", 20)
    with pytest.raises(CatalogError, match="more than 20 pages"):
        list(client(orders.url).catalogs())


def test_empty_pages_between_others_are_passed(orders: UnityServer) -> None:
    def fault(request: Request) -> Answer:
        page = int(request.query.get("page_token", "0"))
        found = [] if page % 150 else [{"name": f"c{page}"}]
        return Answer(200, {"catalogs": found, "next_page_token": str(page + 1) if page < 300 else None})

    orders.faults.append(fault)
    assert [each.name for each in client(orders.url).catalogs()] == ["c0", "c150", "c300"]


def test_a_catalog_that_is_down_is_named_and_open_tables_stay_readable(orders: UnityServer) -> None:
    table = opened()
    orders.close()
    with pytest.raises(CatalogError, match="cannot be reached") as down:
        client(orders.url).load_table(explorer_address())
    assert (down.value.status, down.value.reason, isinstance(down.value, StorageError)) == (None, "unreachable", True)
    assert table.snapshot().num_files == 1


def test_a_catalog_that_is_silent_or_slow_is_given_up(orders: UnityServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(http_session, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(http_session, "LONGEST", 0.6)
    orders.faults.append(lambda _: Answer(200, {}, seconds=2))
    with pytest.raises(CatalogError, match="given up") as silent:
        client(orders.url).load_table(explorer_address())
    assert silent.value.reason == "timeout"
    orders.faults[:] = [lambda _: Answer(200, b" " * 100, drip=0.1)]
    began = time.monotonic()
    with pytest.raises(CatalogError, match="given up"):
        client(orders.url).load_table(explorer_address())
    assert time.monotonic() - began < 5


def test_an_answer_that_is_too_large_is_not_read(orders: UnityServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(http_session, "MOST_BYTES", 1 << 20)
    orders.faults.append(lambda _: Answer(200, b" " * (2 << 20)))
    with pytest.raises(CatalogError, match="larger than 1 MiB"):
        client(orders.url).load_table(explorer_address())


def test_another_server_behind_the_address_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            for _ in range(3):
                connection, _ = listener.accept()
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.close()

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(CatalogError) as wrong:
            client(f"http://127.0.0.1:{listener.getsockname()[1]}").load_table(explorer_address())
    assert wrong.value.reason == "disconnected"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "No Unity Catalog is set"),
        ({"UNITY_CATALOG_URL": "catalog"}, "not the address of a server"),
        ({"UNITY_CATALOG_URL": "ftp://host"}, "not the address of a server"),
        ({"UNITY_CATALOG_URL": "https://"}, "not the address of a server"),
        ({"UNITY_CATALOG_URL": f"https://user:{TOKEN}@host"}, "user info"),
        ({"UNITY_CATALOG_URL": f"https://host?token={TOKEN}"}, "user info"),
        ({"UNITY_CATALOG_URL": "http://host", "UNITY_CATALOG_TOKEN": TOKEN}, "unencrypted"),
        ({"UNITY_CATALOG_URL": "https://host", "UNITY_CATALOG_TOKEN": f"{TOKEN}\nx: y"}, "line break"),
        ({"UNITY_CATALOG_URL": "https://host", "UNITY_CATALOG_CLIENT_ID": "me"}, "all three"),
    ],
)
def test_settings_that_cannot_be_are_refused(variables: dict[str, str], said: str) -> None:
    with pytest.raises(RequestError, match=said) as refusal:
        settings_from(variables)
    assert TOKEN not in refusal.value.message


def test_settings_show_no_secret_and_take_the_path_of_the_api_or_not() -> None:
    given = {"UNITY_CATALOG_URL": "http://host/api/2.1/unity-catalog/", "UNITY_CATALOG_TOKEN": TOKEN}
    settings = settings_from(given | {"UNITY_CATALOG_ALLOW_HTTP": "true"})
    assert TOKEN not in repr(settings)
    assert settings.base == "http://host/api/2.1/unity-catalog"
    assert settings_from({"UNITY_CATALOG_URL": "https://host/"}).base == "https://host/api/2.1/unity-catalog"


def test_client_credentials_give_a_token_that_is_renewed(orders: UnityServer) -> None:
    orders.token = "fresh"
    asked: list[Request] = []

    def oauth(request: Request) -> Answer | None:
        if request.path != "/oidc/v1/token":
            return None
        asked.append(request)
        return Answer(
            200, {"access_token": "fresh", "token_type": "Bearer", "expires_in": 0.5 if len(asked) < 2 else 3600}
        )

    orders.faults.append(oauth)
    signed = client(orders.url, client_id="me", client_secret=TOKEN, oauth_url=f"{orders.url}/oidc/v1/token")
    for _ in range(3):
        signed.load_table(explorer_address())
        time.sleep(0.3)
    assert len(asked) == 2
    assert asked[0].body == "grant_type=client_credentials&scope=all-apis"
    assert asked[0].token is not None
    assert asked[0].token.startswith("Basic ")
    orders.faults[:] = [lambda _: Answer(401, {"error": "invalid_client", "error_description": f"no {TOKEN}"})]
    with pytest.raises(CatalogError, match="invalid_client") as refusal:
        client(orders.url, client_id="you", client_secret=TOKEN, oauth_url=f"{orders.url}/t").load_table(
            explorer_address()
        )
    assert TOKEN not in refusal.value.message


@pytest.mark.parametrize("given", ["granted4711x", "granted4711\r\nx: y"])
def test_a_token_that_was_granted_is_in_no_text(orders: UnityServer, given: str) -> None:
    def answers(request: Request) -> Answer | None:
        if request.path == "/oidc/v1/token":
            return Answer(200, {"access_token": given})
        return Answer(403, {"error_code": "PERMISSION_DENIED", "message": f"not with {request.token}"})

    orders.faults.append(answers)
    signed = client(orders.url, client_id="me", client_secret=TOKEN, oauth_url=f"{orders.url}/oidc/v1/token")
    with pytest.raises(CatalogError) as refusal:
        signed.table_info(explorer_address())
    assert "granted4711" not in refusal.value.message
    assert refusal.value.status == 403 or "access_token" in refusal.value.message


def test_an_answer_that_drips_without_end_holds_no_thread(orders: UnityServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(http_session, "LONGEST", 0.3)
    orders.faults.append(lambda _: Answer(200, b" " * 400, drip=0.05))
    with pytest.raises(CatalogError, match="has not answered"):
        client(orders.url).table_info(explorer_address())
    ends = time.monotonic() + 5
    while any(thread.name == "explorer-request" for thread in threading.enumerate()) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not [thread for thread in threading.enumerate() if thread.name == "explorer-request"]


def test_headers_that_drip_without_end_are_given_up_and_hold_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_session, "LONGEST", 0.5)
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Header: ")
            try:
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)
            except OSError:
                ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        with pytest.raises(CatalogError, match="given up") as slow:
            HttpSession(CatalogSettings(f"http://127.0.0.1:{listener.getsockname()[1]}")).post("/tables", {})
        assert slow.value.reason == "timeout"
        assert ended.wait(30), "the connection is closed"
    ends = time.monotonic() + 30
    while (alive := [each for each in threading.enumerate() if each.name == "explorer-request"]) and (
        time.monotonic() < ends
    ):
        time.sleep(0.05)
    assert alive == []


def test_a_server_that_is_replaced_by_a_newer_one_is_asked_again(
    orders: UnityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = client(orders.url)
    orders.delta = False
    assert [asks.loads_tables("main"), asks.loads_tables("main")] == [False, False]
    assert orders.count("GET", "/delta/v1/config") == 1
    orders.delta = True
    monkeypatch.setattr("explorer.catalogs.client._ASK_AGAIN", 0.0)
    asks = client(orders.url)
    orders.delta = False
    assert not asks.loads_tables("main")
    orders.delta = True
    assert asks.loads_tables("main"), "after a time"
    orders.delta = False
    with pytest.raises(CatalogError):
        asks.load_table(explorer_address())
    assert not asks.loads_tables("main"), "after an answer that is none of the contract"


def test_what_is_remembered_of_a_server_ends_with_a_failure_of_another_kind(orders: UnityServer) -> None:
    asks = client(orders.url)
    orders.delta = False
    assert not asks.loads_tables("main")
    orders.delta = True
    orders.faults.append(lambda _: refused(500, "InternalServerErrorException"))
    with pytest.raises(CatalogError):
        asks.table_info(explorer_address())
    orders.faults.clear()
    assert asks.loads_tables("main")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"endpoints": [], "protocol-version": "1.0"}, "lacks GET /v1/catalogs"),
        ({"endpoints": ["x"], "protocol-version": "2.0"}, "is of version 2.0, and this program knows 1.0"),
    ],
)
def test_a_managed_table_on_a_server_of_another_version_is_refused_with_what_is_missing(
    orders: UnityServer, config: dict[str, Any], said: str
) -> None:
    orders.faults.append(lambda request: Answer(200, config) if request.path == "/delta/v1/config" else None)
    assert opened().snapshot().version == 0
    orders.state.table("main", "shop", "orders").properties["delta.feature.catalogManaged"] = "supported"
    with pytest.raises(UnsupportedFeature, match=said):
        opened()
