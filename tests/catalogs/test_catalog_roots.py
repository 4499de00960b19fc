"""Catalogs and schemas as folders, and one table of a catalog: in the pages, the audit, and beside another table."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import explorer
from explorer.catalogs.folders import served_roots
from explorer.catalogs.opening import client_of
from explorer.catalogs.settings import settings_from
from explorer.core.errors import NotAllowed, RequestError
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.storage import open_store
from explorer.web.served_tables import Catalog
from tests.support.catalogs.managed_tables import create_managed
from tests.support.catalogs.unity_server import UnityServer, refused
from tests.support.catalogs.unity_state import CatalogTable
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write
from tests.support.pages.idle_windows import idle_work


def external(name: str, location: str, **more: Any) -> CatalogTable:
    return CatalogTable(name, str(uuid4()), location, "EXTERNAL", {"type": "struct", "fields": []}, {}, **more)


@pytest.fixture
def lake(server: UnityServer, tmp_path: Path) -> UnityServer:
    """Two catalogs: ``main.shop`` with a managed and an external table and a file of another kind, and others."""
    create_managed(client_of(settings_from()), "managed", {})
    place = tmp_path / "outside"
    write(open_store(place), {0: (PROTOCOL, METADATA, add("a"))})
    server.add_table("main", "shop", external("orders", place.as_uri()))
    server.add_table("main", "shop", external("sheet", "s3://b/sheet", format="CSV"))
    server.add_schema("main", "empty")
    server.add_table("other", "deep", external("one", place.as_uri()))
    return server


def names(root: str) -> list[str]:
    return sorted(ref.name for ref in served_roots(root).tables())


def test_a_root_is_a_server_a_catalog_a_schema_or_a_table(lake: UnityServer) -> None:
    assert names("uc://") == ["catalogs/main/shop/managed", "catalogs/main/shop/orders", "catalogs/other/deep/one"]
    assert names("uc://main") == ["main/shop/managed", "main/shop/orders"]
    assert names("uc://main.shop") == ["main.shop/managed", "main.shop/orders"]
    assert names("uc://main.shop.orders") == ["main.shop.orders"]
    assert served_roots("uc://main").locate("main/shop/orders").location == "uc://main.shop.orders"
    for name in ("main/shop/../../etc", "main/shop/orders/deeper", "other/deep/one"):
        with pytest.raises(NotAllowed):
            served_roots("uc://main").locate(name)


def test_listings_go_over_pages_and_leave_out_what_overlapping_roots_list(lake: UnityServer) -> None:
    lake.page = 1
    assert names("uc://main") == ["main/shop/managed", "main/shop/orders"]
    assert sorted(ref.name for ref in served_roots(["uc://main", "uc://main.shop"]).tables()) == [
        "main.shop/managed", "main.shop/orders",
    ]  # fmt: skip


def test_a_schema_that_may_not_be_listed_is_one_line_and_not_the_end(lake: UnityServer) -> None:
    lake.faults.append(
        lambda request: (
            refused(403, "PERMISSION_DENIED", "USE SCHEMA is missing")
            if request.path == "/tables" and request.query["schema_name"] == "shop"
            else None
        )
    )
    roots = served_roots("uc://")
    assert [ref.name for ref in roots.tables()] == ["catalogs/other/deep/one"]
    (unlisted,) = roots.unlisted
    assert (unlisted.location, "USE SCHEMA is missing" in unlisted.why) == ("uc://main.shop", True)


@pytest.mark.parametrize("name", ["a/b", "..", "", "a\nb", "\x1b[31mred", "<b>x</b>", "a b", "%2f", "a?b"])
def test_names_that_no_address_holds_are_said_and_lead_nowhere_else(lake: UnityServer, name: str) -> None:
    lake.add_table("main", "shop", external(name, "s3://b/x"))
    lake.add_schema("main", name)
    roots = served_roots("uc://main")
    assert [ref.name for ref in roots.tables()] == ["main/shop/managed", "main/shop/orders"]
    assert [repr(name) in each.why for each in roots.unlisted] == [True, True]


def test_the_pages_list_and_show_tables_of_a_catalog(lake: UnityServer) -> None:
    catalog = Catalog(["uc://main"])
    rows = [catalog.summary(ref) for ref in catalog.roots.tables()]
    assert {row.ref.title: (row.version, row.problem) for row in rows} == {"orders": (0, None), "managed": (0, None)}
    page = table_page(catalog, Address(table="main/shop/orders"), "light", idle_work(catalog)).regions["lead"]
    assert "problem" not in page


def test_tables_of_a_catalog_are_audited_like_others(lake: UnityServer) -> None:
    rows = explorer.audit("uc://main").to_pylist()
    assert [row["error"] for row in rows] == [None, None]
    assert sorted(row["table"].rpartition("/")[2] for row in rows)[1] == "outside"


@pytest.mark.parametrize(
    "location",
    ["uc://", "uc://main", "uc://main.shop", "uc://a.b.c.d", "uc://a..c", "uc://a.b.", "uc://a.b.c?x", "uc://a.b.c/d",
     "uc://a.b.`c", "uc://a.b.c d", "uc://..", "uc://a.b.\x00", "uc://u:p@a.b.c", "UC://a.b"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_before_anything_is_sent(server: UnityServer, location: str) -> None:
    with pytest.raises(RequestError, match=r"not the address of a table|contains user info"):
        explorer.open_table(location)
    assert server.requests == []


def test_roots_bound_what_a_catalog_may_lead_to(lake: UnityServer, tmp_path: Path, monkeypatch: Any) -> None:
    opened = explorer.open_table
    assert opened("uc://main.shop.orders", roots=["uc://main"]).snapshot().version == 0
    with pytest.raises(NotAllowed, match="outside the addresses"):
        opened("uc://other.deep.one", roots=["uc://main"])
    monkeypatch.delenv("UNITY_CATALOG_FOLDERS")
    for roots in (None, ["uc://main"], [str(tmp_path / "elsewhere")]):
        with pytest.raises(NotAllowed, match="UNITY_CATALOG_FOLDERS"):
            opened("uc://main.shop.orders", roots=roots)
    assert opened("uc://main.shop.orders", roots=[str(tmp_path / "outside")]).snapshot().version == 0


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("file:///etc", NotAllowed), ("/etc", NotAllowed), ("file:/etc", NotAllowed),
        ("file://localhost/etc", NotAllowed), ("file://elsewhere/etc", RequestError),
        ("memory://x/y", RequestError), ("dbfs:/x", RequestError), ("wasbs://c@a/x", RequestError),
        ("s3://user:secret@bucket/x", RequestError), ("", RequestError), ("ftp://x/y", RequestError),
        ("../../etc", NotAllowed), ("FILE:///etc", NotAllowed), ("uc://a.b.c", RequestError), ("s3://", RequestError),
    ],
)  # fmt: skip
def test_a_location_that_this_program_may_not_read_is_refused(
    lake: UnityServer, location: str, error: type[Exception]
) -> None:
    lake.state.table("main", "shop", "orders").location = location or " "
    with pytest.raises(error) as refusal:
        explorer.open_table("uc://main.shop.orders", roots=["uc://main"])
    assert "user:secret" not in str(refusal.value)
