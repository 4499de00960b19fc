"""Places in another storage that only a log names: nothing is asked there without credentials that somebody set."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import NotAllowed, RequestError, StorageError
from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs

CLOUDS = [
    ("abfss://c@account.dfs.core.windows.net/t/part-1.parquet", "AZURE_", "STORAGE_ACCOUNT_KEY"),
    ("az://container/t/part-1.parquet", "AZURE_", "CLIENT_SECRET"),
    ("s3://bucket/t/part-1.parquet", "AWS_", "ACCESS_KEY_ID"),
    ("s3a://bucket/t/part-1.parquet", "AWS_", "SKIP_SIGNATURE"),
    ("gs://bucket/t/part-1.parquet", "GOOGLE_", "SERVICE_ACCOUNT_KEY"),
]
HARMLESS = {"AZURE_": "AZURE_CONFIG_DIR", "AWS_": "AWS_REGION", "GOOGLE_": "GOOGLE_CLOUD_PROJECT"}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential of any cloud is set."""
    for name in [name for name in os.environ if name.startswith(tuple(HARMLESS))]:
        monkeypatch.delenv(name)
    for name in HARMLESS.values():
        monkeypatch.setenv(name, "x")


class Listener:
    """A server that counts what is asked of it, and answers nothing else."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                listener.asked.append(self.rfile.readline().decode())
                self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """What every request of a client to the network goes through."""
    found = Listener()
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{found.server.server_port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.mark.parametrize("options", [{}, {"timeout": "5s", "allow_http": "true"}], ids=["no options", "options"])
@pytest.mark.parametrize("location", [location for location, _, _ in CLOUDS])
def test_a_log_that_names_files_in_a_cloud_makes_nothing_ask_the_network(
    tmp_path: Path, listener: Listener, location: str, options: dict[str, str]
) -> None:
    inside = DeletionVectorDescriptor("p", location.replace("part-1.parquet", "v.bin"), 34, 1, 1)
    start = [small_logs.MASKED, small_logs.METADATA, small_logs.add(location, 3)]
    small_logs.write_log(
        tmp_path, [start, [small_logs.add("b.parquet", 2, vector=inside)], [small_logs.remove(location)]]
    )
    table = explorer.open_table(tmp_path, storage_options=options)
    asked: list[Callable[[], object]] = [
        table.snapshot,
        table.history,
        table.verify,
        lambda: table.retention(NOW),
        lambda: table.audit(NOW, check_files=True, check_footers=True, verify=True),
        lambda: table.plan({"kind": "restore", "version": 0}),
        lambda: table.plan({"kind": "vacuum"}),
        lambda: table.change_sources(0, 2, inferred=True),
    ]
    refusals = list[str]()
    for ask in asked:
        try:
            ask()
        except NotAllowed as error:
            refusals.append(error.message)
    assert listener.asked == []
    assert all("nothing was requested there" in each for each in at_least_one(refusals))


@pytest.mark.parametrize("location", ["abfss://c@account.dfs.core.windows.net/t", "s3://bucket/t", "gs://bucket/t"])
def test_a_table_that_somebody_opens_in_a_cloud_asks_the_network(listener: Listener, location: str) -> None:
    """What the test above counts is what would be asked."""
    with pytest.raises(StorageError):
        explorer.open_table(location)
    assert listener.asked


@pytest.mark.parametrize(("location", "variables", "credential"), CLOUDS)
def test_a_table_on_disk_leads_to_no_cloud_that_nobody_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, variables: str, credential: str
) -> None:
    store = open_store(tmp_path)
    with pytest.raises(NotAllowed, match="nothing was requested there") as caught:
        store.elsewhere(location)
    assert variables in caught.value.message
    monkeypatch.setenv(f"{variables}{credential}", "true" if credential == "SKIP_SIGNATURE" else "a2V5")
    # The client itself may refuse what was set; then it was asked to use it.
    with suppress(RequestError):
        assert store.elsewhere(location)[1] == "part-1.parquet"


@pytest.mark.parametrize("location", ["abfss://c@account.dfs.core.windows.net/t/p.parquet", "gs://bucket/t/p.parquet"])
def test_options_of_the_tables_own_cloud_are_none_for_another(location: str) -> None:
    home = open_store("s3://bucket/orders", {"aws_region": "eu-central-1", "allow_http": "true"})
    with pytest.raises(NotAllowed, match="nothing was requested there"):
        home.elsewhere(location)


def test_a_table_on_disk_may_name_files_elsewhere_on_disk(tmp_path: Path) -> None:
    found, name = open_store(tmp_path).elsewhere(f"{tmp_path}/other/part-1.parquet")
    assert (found.root.endswith("/other"), name) == (True, "part-1.parquet")
