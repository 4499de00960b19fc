"""Every kind of work on servers of object stores that others made: see `tests.support.store_servers`.

A table is written to a folder by deltalake, which is not of this program, and copied to the store object by object.
What is read of it there is compared with what deltalake reads of the folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError, StorageError, TableNotFound
from explorer.storage import open_store
from explorer.storage.served_root import ServedRoot
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.store_servers import SERVERS, StoreServer, program_of, store_server

WRITERS, COMMITS = 4, 5


@pytest.fixture(scope="module", params=list(SERVERS))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    if program_of(request.param) is None:
        variable, name = SERVERS[request.param]
        pytest.skip(f"{name} is not installed; {variable} may name it")
    with store_server(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of six versions with a change feed: four appends, a deletion, and an update."""
    folder = tmp_path_factory.mktemp("written") / "orders"
    feed = {"delta.enableChangeDataFeed": "true", "delta.deletedFileRetentionDuration": "interval 0 seconds"}
    for number in range(4):
        rows = pa.table({"id": range(number * 10, number * 10 + 10), "amount": [number] * 10})
        deltalake.write_deltalake(str(folder), rows, mode="append", configuration=feed)
    table = deltalake.DeltaTable(str(folder))
    table.delete("id < 3")
    table.update(updates={"amount": "77"}, predicate="id = 15")
    return folder


@pytest.fixture
def copied(server: StoreServer, folder: Path, request: pytest.FixtureRequest) -> str:
    """The address of a copy of the table for one test."""
    place = server.place(f"sales/{request.node.originalname}")
    store = open_store(place, server.options)
    for file in at_least_one(sorted(path for path in folder.rglob("*") if path.is_file())):
        store.put(str(file.relative_to(folder)), file.read_bytes())
    return place


def opened(server: StoreServer, place: str, **options: Any) -> explorer.Table:
    return explorer.open_table(place, storage_options=server.options, **options)


def test_the_log_and_the_rows_are_those_that_another_reader_finds(
    server: StoreServer, copied: str, folder: Path
) -> None:
    theirs, ours = deltalake.DeltaTable(str(folder)), opened(server, copied)
    snapshot = ours.snapshot()
    assert snapshot.version == theirs.version() == 5
    assert sorted(snapshot.files().column("path").to_pylist()) == sorted(Path(uri).name for uri in theirs.file_uris())
    assert [row["operation"] for row in theirs.history()] == ours.history().column("operation").to_pylist()
    expected = theirs.to_pyarrow_table().sort_by("id").to_pylist()
    assert ours.head(1_000).sort_by("id").to_pylist() == expected
    for version in (0, 4):
        theirs.load_as_version(version)
        assert ours.head(1_000, version=version).num_rows == theirs.to_pyarrow_table().num_rows


def test_the_change_feed_is_that_of_another_reader(server: StoreServer, copied: str, folder: Path) -> None:
    feed = pa.table(deltalake.DeltaTable(str(folder)).load_cdf(starting_version=0))
    changes = opened(server, copied).changed_rows(0)

    def rows(table: pa.Table) -> list[tuple[int, int, str, int]]:
        names = ("id", "amount", "_change_type", "_commit_version")
        return sorted(zip(*(table.column(name).to_pylist() for name in names), strict=True))

    assert rows(changes) == rows(feed)
    assert feed.num_rows == 40 + 3 + 2


def test_a_commit_and_a_checkpoint_are_what_others_read(server: StoreServer, copied: str) -> None:
    table = opened(server, copied)
    plan = table.plan({"kind": "set-properties", "properties": {"delta.appendOnly": "false"}})
    result = table.commit(plan, reason="Tried on a store.")
    assert (result.outcome, result.version) == ("committed", 6)
    assert (table.commit(plan).version, table.latest_version()) == (6, 6), "the same plan again is not made twice"
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    again = opened(server, copied)
    assert again.verify().problems == ()
    assert again.snapshot().metadata.configuration["delta.appendOnly"] == "false"
    raw = open_store(copied, server.options)
    actions = [json.loads(line) for line in raw.read(f"_delta_log/{6:020}.json").splitlines()]
    assert [action["metaData"]["configuration"]["delta.appendOnly"] for action in actions if "metaData" in action] == [
        "false"
    ]
    (path,) = [each.path for each in raw.list_from("_delta_log") if ".checkpoint" in each.path]
    assert json.loads(raw.read("_delta_log/_last_checkpoint"))["version"] == 6
    assert raw.read(path)[:4] == b"PAR1"


def test_a_vacuum_that_is_planned_names_the_files_that_nothing_needs(server: StoreServer, copied: str) -> None:
    open_store(copied, server.options).put("left-behind.parquet", b"PAR1")
    time.sleep(2)  # a store may know times of a second alone
    plan = opened(server, copied).plan({"kind": "vacuum"})
    reasons = {file.path: file.reason for file in plan.files}
    assert reasons["left-behind.parquet"] == "no action of the log names it"
    assert len(reasons) == 1 + 4, "and the two files that a deletion and an update replaced, with their changes"
    retention = {guard.name: guard.status for guard in plan.guards}["retention"]
    assert (retention, plan.committable) == ("unknown", False), "a writer may be about to commit them"


def test_of_writers_at_once_each_commit_is_there_once(server: StoreServer, copied: str) -> None:
    def write(writer: int) -> int:
        table, conflicts = opened(server, copied), 0
        for number in range(COMMITS):
            while True:
                intent = {"kind": "set-transaction", "appId": f"writer-{writer}", "version": number}
                result = table.commit(table.plan(intent))
                if result.outcome == "committed":
                    break
                assert result.outcome == "conflicted", result
                conflicts += 1
                assert conflicts < 500
        return COMMITS

    # A server that may create one name twice is asked by one writer after the other.
    with ThreadPoolExecutor(WRITERS if server.creates_once else 1) as pool:
        assert sum(pool.map(write, range(WRITERS))) == WRITERS * COMMITS
    table = opened(server, copied)
    assert table.latest_version() == 5 + WRITERS * COMMITS
    assert dict(table.snapshot().transactions) == {f"writer-{writer}": COMMITS - 1 for writer in range(WRITERS)}
    raw = open_store(copied, server.options)
    seen = list[tuple[str, int]]()
    for version in range(6, table.latest_version() + 1):
        for line in raw.read(f"_delta_log/{version:020}.json").splitlines():
            if (action := json.loads(line).get("txn")) is not None:
                seen.append((action["appId"], action["version"]))
    assert sorted(seen) == [(f"writer-{writer}", number) for writer in range(WRITERS) for number in range(COMMITS)]


def test_a_root_in_a_bucket_is_audited_and_listed(server: StoreServer, copied: str) -> None:
    rows = explorer.audit(server.place(""), server.options, processes=1).to_pylist()
    assert copied in {row["table"].rstrip("/") for row in rows}
    assert [row["message"] for row in rows if row["error"] is not None] == []
    catalog = Catalog(ServedRoot(server.place("sales"), "sales", server.options))
    catalog.list.begin(patience=60)
    assert f"sales/{copied.rpartition('/')[2]}" in {ref.name for ref in catalog.list.listing().refs}


def test_refusals_are_named(server: StoreServer, copied: str) -> None:
    with pytest.raises(TableNotFound):
        opened(server, server.place("nothing")).snapshot()
    with pytest.raises(ExplorerError) as absent:
        opened(server, server.place("orders", "absent-bucket")).snapshot()
    assert isinstance(absent.value, StorageError | TableNotFound)
    if (
        isinstance(absent.value, StorageError) and server.scheme != "gs"
    ):  # the emulator's 404 does not say what is missing
        assert absent.value.reason == "no-bucket"
    if server.wrong:
        with pytest.raises(StorageError) as wrong:
            explorer.open_table(copied, storage_options=server.wrong).snapshot()
        assert wrong.value.reason in {"wrong-secret", "invalid-token"}
        assert "Eby8vdM0" not in str(wrong.value)
