"""What the tests of catalogs share: a server, and a client of it.

The server is the tests' own; where ``UNITY_CATALOG_URL`` names a real one with a catalog ``main`` that has a managed
location in a folder of ``UNITY_CATALOG_FOLDERS``, tests marked for both run there. ``UNITY_CATALOG_RESTART`` may be a
command that restarts it, and ``UNITY_CATALOG_CONNECTOR`` the connector of Spark (`tests.prove.racers.connected_racer`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

import explorer
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.opening import client_of
from explorer.catalogs.settings import settings_from
from tests.support.catalogs.managed_tables import create_managed
from tests.support.catalogs.unity_server import UnityServer, running

REAL = {name: value for name, value in os.environ.items() if name.startswith("UNITY_CATALOG_")}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UnityServer]:
    """The tests' own server, named by the environment, with a schema ``main.shop``."""
    folder = tmp_path / "managed"
    folder.mkdir()
    with running(folder) as server:
        for name in REAL:
            monkeypatch.delenv(name)
        monkeypatch.setenv("UNITY_CATALOG_URL", server.url)
        monkeypatch.setenv("UNITY_CATALOG_FOLDERS", str(tmp_path))
        server.add_schema("main", "shop")
        yield server


@dataclass(frozen=True)
class Managed:
    """A table whose commits the catalog manages."""

    address: str
    name: str
    folder: Path
    client: CatalogClient

    def open(self, **options: object) -> explorer.Table:
        return explorer.open_table(self.address, **options)  # type: ignore[arg-type]


@pytest.fixture(params=["own", "real"])
def make_managed(request: pytest.FixtureRequest) -> Callable[..., Managed]:
    """Make tables on the tests' own server, and on a real one where there is one."""
    if request.param == "own":
        request.getfixturevalue("server")
    elif "UNITY_CATALOG_URL" not in REAL:
        pytest.skip("UNITY_CATALOG_URL names no server")
    return maker()


@pytest.fixture(params=["own", "real"])
def client(request: pytest.FixtureRequest) -> CatalogClient:
    """A client of the tests' own server, and of a real one where there is one."""
    if request.param == "own":
        request.getfixturevalue("server")
    elif "UNITY_CATALOG_URL" not in REAL:
        pytest.skip("UNITY_CATALOG_URL names no server")
    return client_of(settings_from())


@pytest.fixture
def catalog_folder(client: CatalogClient) -> Path:
    """A folder in which tables of the client's catalog may be."""
    return Path(client.settings.folders[0])


@pytest.fixture
def make_own(server: UnityServer) -> Callable[..., Managed]:
    """Make tables on the tests' own server, which can be made to fail."""
    return maker()


def maker() -> Callable[..., Managed]:
    """Return what makes tables on the server that the environment names."""
    client = client_of(settings_from())

    def make(columns: int = 2, **properties: str) -> Managed:
        name = f"t_{uuid4().hex[:8]}"
        folder = create_managed(client, name, properties, columns=columns)
        return Managed(f"uc://main.shop.{name}", name, folder, client)

    return make
