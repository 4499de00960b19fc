"""Tables created under a name in a catalog: managed by it, or at a place of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import explorer
from explorer.catalogs.client import CatalogClient
from explorer.core.errors import (
    CatalogError,
    InvalidIntent,
    NotAllowed,
    RequestError,
    TableNotFound,
    UnsupportedFeature,
)
from explorer.new_table import new_table
from tests.catalogs.test_managed_commits import batch, commit, once
from tests.support.at_least_one import at_least_one
from tests.support.catalogs.managed_tables import folder_of
from tests.support.catalogs.unity_server import Answer, Fault, Request, UnityServer, refused

FIELDS = [
    {"name": "id", "type": "long", "nullable": False, "metadata": {}},
    {"name": "tags", "type": {"type": "array", "elementType": "string", "containsNull": True}, "nullable": True,
     "metadata": {}},
    {"name": "day", "type": "date", "nullable": True, "metadata": {}},
]  # fmt: skip
CREATE = {
    "kind": "create-table",
    "schema": {"type": "struct", "fields": FIELDS},
    "partitionColumns": ["day"],
    "description": "Orders",
    "properties": {"owner.team": "shop"},
}


def name() -> str:
    return f"uc://main.shop.n_{uuid4().hex[:8]}"


def loaded(client: CatalogClient, address: str) -> Any:
    table = address.rpartition(".")[2]
    return json.loads(client._http.get(f"/delta/v1/catalogs/main/schemas/shop/tables/{table}"))


def is_creation(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/tables")


@pytest.mark.conformance("CATALOG-004")
def test_a_table_that_the_catalog_manages_is_created_read_and_changed(client: CatalogClient) -> None:
    address = name()
    place = new_table(address)
    plan = place.plan(CREATE, user="ada")
    assert plan.committable, plan.blocking
    with pytest.raises(TableNotFound):
        explorer.open_table(address)
    result = place.commit(plan, reason="why")
    assert (result.outcome, result.version, result.notes) == ("committed", 0, (f"The table is {address} now.",))
    held = loaded(client, address)
    metadata = held["metadata"]
    assert (metadata["table-type"], held["latest-table-version"]) == ("MANAGED", 0)
    assert [field["name"] for field in metadata["columns"]["fields"]] == ["id", "tags", "day"]
    assert metadata["columns"]["fields"][1]["type"]["element-type"] == "string"
    assert metadata["partition-columns"] == ["day"]
    properties = metadata["properties"]
    assert properties["owner.team"] == "shop"
    assert properties["delta.columnMapping.mode"] == "name", "what the catalog suggests"
    assert properties["delta.feature.catalogManaged"] == "supported"
    staged = folder_of(metadata["location"]) / "_delta_log" / "_staged_commits"
    assert list(staged.iterdir()) == [], "the folder is there, as delta-spark makes none"
    table = place.open()
    assert table.catalog_entry is not None
    assert (table.catalog_entry.comment, table.catalog_entry.manages_commits) == ("Orders", True)
    assert commit(table, batch("mine")).version == 1
    assert explorer.open_table(address).verify().problems == ()
    again = place.commit(plan, reason="why")
    assert (again.outcome, again.version) == ("committed", 0), "the same plan again is done already"
    with pytest.raises(InvalidIntent, match=f"already a table {address}"):
        new_table(address).plan(CREATE)


def test_a_table_at_a_place_of_its_own_is_created_and_named(client: CatalogClient, catalog_folder: Path) -> None:
    address, folder = name(), catalog_folder / f"own {uuid4().hex[:8]}"
    place = new_table(address)
    intent = {**CREATE, "location": str(folder)}
    result = place.commit(place.plan(intent), user="ada", reason="why")
    assert (result.outcome, result.version) == ("committed", 0)
    metadata = loaded(client, address)["metadata"]
    assert (metadata["table-type"], metadata["location"].rstrip("/")) == ("EXTERNAL", folder.as_uri())
    table = place.open()
    assert table.catalog_entry is not None
    assert (table.catalog_entry.manages_commits, table.snapshot().metadata.description) == (False, "Orders")
    assert explorer.open_table(folder).latest_version() == 0, "it is a table by its place too"
    with pytest.raises(InvalidIntent, match="already a table"):
        new_table(address).plan({**intent, "location": str(catalog_folder / "other")})


def test_what_is_not_there_or_not_allowed_is_named_before_anything_is_written(
    client: CatalogClient, catalog_folder: Path, tmp_path: Path
) -> None:
    for address, intent in at_least_one(
        (
            ("uc://main.nowhere.t", CREATE),
            ("uc://nowhere.shop.t", CREATE),
            ("uc://main.nowhere.t", {**CREATE, "location": str(catalog_folder / "x")}),
        )
    ):
        with pytest.raises(TableNotFound):
            new_table(address).plan(intent)
    with pytest.raises(NotAllowed, match="UNITY_CATALOG_FOLDERS"):
        new_table(name()).plan({**CREATE, "location": "/nowhere/of/ours"})
    with pytest.raises(RequestError, match="cannot open"):
        new_table(name()).plan({**CREATE, "location": "memory://orders"})
    with pytest.raises(InvalidIntent, match=r"delta\.enableDeletionVectors = true") as error:
        new_table(name()).plan({**CREATE, "properties": {"delta.enableDeletionVectors": "false"}})
    assert error.value.field == "delta.enableDeletionVectors"
    with pytest.raises(NotAllowed, match="read-only"):
        new_table(name(), read_only=True).plan(CREATE)
    with pytest.raises(NotAllowed, match="outside the addresses"):
        new_table(name(), roots=["uc://main.other"])
    with pytest.raises(InvalidIntent, match="Remove location"):
        new_table(tmp_path / "plain").plan({**CREATE, "location": "x"})
    assert not (catalog_folder / "x").exists()


@pytest.mark.spark
@pytest.mark.whole("test_a_table_that_the_catalog_manages_is_created_read_and_changed, without rows")
def test_a_table_begins_with_rows(server: UnityServer) -> None:
    address = name()
    place = new_table(address)
    plan = place.plan({"kind": "create-table"}, rows=pa.table({"id": [1, 2, 3]}))
    assert place.commit(plan, reason="why").outcome == "committed"
    table = place.open()
    assert sorted(table.head().column("id").to_pylist()) == [1, 2, 3]
    assert "catalogManaged" in (table.snapshot().protocol.writer_features or ())
    assert server.broken == []


def _lost(request: Request) -> Answer | None:
    return Answer(drop=True) if is_creation(request) else None


def _lost_after(request: Request) -> Answer | None:
    return Answer(drop=True, after=True) if is_creation(request) else None


def _failed_after(request: Request) -> Answer | None:
    return refused(500, "InternalServerErrorException", after=True) if is_creation(request) else None


def _busy(request: Request) -> Answer | None:
    return refused(429, "TooManyRequestsException") if is_creation(request) else None


@pytest.mark.parametrize("fault", [_lost, _lost_after, _failed_after, _busy])
def test_an_answer_that_is_lost_makes_one_table(server: UnityServer, fault: Fault) -> None:
    place = new_table(name())
    plan = place.plan(CREATE)
    server.faults.append(once(fault))
    assert place.commit(plan, reason="why").outcome == "committed"
    server.faults.clear()
    assert len(server.state.catalogs["main"]["shop"]) == 1
    assert place.open().latest_version() == 0


def test_a_catalog_that_stays_silent_leaves_the_outcome_unknown_and_the_same_plan_settles_it(
    server: UnityServer,
) -> None:
    place = new_table(name())
    plan = place.plan(CREATE)
    server.faults += [_lost, lambda request: refused(500, "") if request.method == "GET" else None]
    result = place.commit(plan, reason="why")
    assert (result.outcome, "create the table again" in result.notes[-1]) == ("unknown", True)
    server.faults.clear()
    assert server.state.catalogs["main"]["shop"] == {}
    assert place.commit(plan, reason="why").outcome == "committed"
    assert len(server.state.catalogs["main"]["shop"]) == 1


def test_a_name_that_somebody_took_meanwhile_is_a_conflict(client: CatalogClient) -> None:
    address = name()
    mine, other = new_table(address), new_table(address)
    plan, first = mine.plan(CREATE), other.plan(CREATE)
    assert other.commit(first, reason="why").outcome == "committed"
    result = mine.commit(plan, reason="why")
    assert result.outcome == "conflicted"
    assert result.conflict is not None
    assert "Another writer created" in result.conflict.why
    table_id = loaded(client, address)["metadata"]["table-uuid"]
    assert table_id in other.location, "the name still leads to the first"


def test_a_refusal_says_what_is_left_behind(server: UnityServer) -> None:
    place = new_table(name())
    plan = place.plan(CREATE)
    server.faults.append(
        lambda request: (
            refused(403, "PermissionDeniedException", "CREATE TABLE is missing") if is_creation(request) else None
        )
    )
    with pytest.raises(CatalogError, match="CREATE TABLE is missing") as error:
        place.commit(plan, reason="why")
    assert (error.value.status, "no name leads to those files" in error.value.message) == (403, True)
    server.faults.clear()
    assert place.commit(plan, reason="why").outcome == "committed", "the same plan again finishes it"


def test_a_server_that_creates_no_tables_is_named_with_what_to_do(
    server: UnityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.delta = False
    with pytest.raises(UnsupportedFeature, match="/delta/v1/config with 404") as error:
        new_table(name()).plan(CREATE)
    assert "such as Spark" in error.value.message
    monkeypatch.delenv("UNITY_CATALOG_URL")
    with pytest.raises(RequestError, match="No Unity Catalog is set"):
        new_table(name())


def test_what_this_program_does_not_know_of_the_demands_is_refused(server: UnityServer) -> None:
    server.state.demanded = {"delta.ofAnotherVersion": "true"}
    with pytest.raises(UnsupportedFeature, match=r"delta\.ofAnotherVersion") as error:
        new_table(name()).plan(CREATE)
    assert error.value.features == ["delta.ofAnotherVersion"]


def test_versions_of_the_protocol_that_this_program_does_not_know_are_refused(server: UnityServer) -> None:
    def staged(request: Request) -> Answer | None:
        if not request.path.endswith("/staging-tables"):
            return None
        protocol = {"min-reader-version": 4, "min-writer-version": 8}
        document = {"table-id": "t", "location": f"{server.state.root}/t", "storage-credentials": []}
        return Answer(body=document | {"required-protocol": protocol, "required-properties": {}})

    server.faults.append(staged)
    with pytest.raises(UnsupportedFeature, match="reader version 4, writer version 8"):
        new_table(name()).plan(CREATE)


def test_a_schema_that_is_dropped_meanwhile_says_what_is_left_behind(server: UnityServer) -> None:
    place = new_table(name())
    plan = place.plan(CREATE)
    server.faults.append(
        lambda request: refused(404, "NoSuchSchemaException", "no shop") if is_creation(request) else None
    )
    with pytest.raises(
        TableNotFound, match=r"Version 0 is written at .*create the table again; in Python, commit the same"
    ):
        place.commit(plan, reason="why")
    server.faults.clear()
    assert place.commit(plan, reason="why").outcome == "committed"


def test_a_schema_is_looked_up_with_one_request_however_many_empty_pages_its_catalog_has(
    server: UnityServer, catalog_folder: Path
) -> None:
    pages = iter(range(1 << 30))
    server.faults.append(
        lambda request: (
            Answer(200, {"tables": [], "next_page_token": str(next(pages))}) if request.path == "/tables" else None
        )
    )
    assert new_table(name()).plan({**CREATE, "location": str(catalog_folder / "x")}).committable
    assert sum(request.path == "/tables" for request in server.requests) == 1
