"""Credentials in addresses: through every command and page, none is in what is printed, shown, logged or stored."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.cli.app import run
from explorer.core.errors import ExplorerError, RequestError, StorageError
from explorer.credentials import holds_credentials, safe_address, without_credentials
from explorer.storage.roots import AllowedRoots
from explorer.storage.served_roots import ServedRoots
from explorer.views.listing import Listing, ListingColumn
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, metadata, write_log

CANARY = "CANARY4711"
ADDRESSES = [
    f"s3://user:{CANARY}@bucket/t",
    f"s3://AKIA:a/{CANARY}+b@bucket/t",
    f"s3://{CANARY}@bucket/t",
    f"s3://u:it's {CANARY}@bucket/t",
    f"s3a://bucket/t?X-Amz-Signature={CANARY}",
    f"abfss://container:{CANARY}@account/t",
    f"az://container/t?sv=1&sig={CANARY}",
    f"gs://bucket/t#access_token={CANARY}",
    f"https://a:{CANARY}@host/t",
    f"file://u:{CANARY}@host/t",
    f"hdfs://u:{CANARY}@host/t",
    f"s3:///u:{CANARY}@bucket/t",
]
MISTYPED = [f"s3:/u:{CANARY}@bucket/t", f"S3:u:{CANARY}@bucket/t", f"abfss:/c:{CANARY}@account/t"]
COMMANDS = [
    ("snapshot", "{}"),
    ("columns", "{}"),
    ("files", "{}"),
    ("deletion-vectors", "{}"),
    ("statistics", "{}"),
    ("history", "{}"),
    ("diff", "{}", "0", "1"),
    ("retention", "{}"),
    ("compatibility", "{}"),
    ("verify", "{}"),
    ("audit", "{}"),
    ("blame", "{}"),
    ("erasure", "{}", "--where", "id = 1"),
    ("rows", "{}"),
    ("rows", "{}", "--output", "out.csv"),
    ("changes", "{}", "0"),
    ("plan", "{}", '{{"kind": "vacuum"}}'),
    ("plan", "TABLE", '{{"kind": "append", "source": "{}"}}'),
    ("commit", "{}", '{{"kind": "vacuum"}}', "--reason", "r", "--yes"),
    ("commit", "TABLE", '{{"kind": "append", "source": "{}"}}', "--reason", "r", "--yes"),
    ("serve", "{}", "--port", "0"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_log(tmp_path / "table", [[PROTOCOL, METADATA, add("a.parquet")]])


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_command_repeats_credentials_of_an_address(  # noqa: PLR0917  # what pytest gives by name
    address: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    for command in COMMANDS:
        arguments = [str(table) if part == "TABLE" else part.format(address) for part in command]
        for form in ([], ["--json"]):
            assert run([*arguments, *form]) != 0, arguments
    told = capfd.readouterr()
    assert CANARY not in told.out + told.err + caplog.text
    stored = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    cache = Path(os.environ.get("DELTA_EXPLORER_CACHE", tmp_path))
    stored += [file.read_bytes() for file in cache.rglob("*") if file.is_file()] if cache.is_dir() else []
    assert not any(CANARY.encode() in data for data in stored)


@pytest.mark.parametrize("address", [*ADDRESSES, *MISTYPED])
def test_an_address_with_credentials_is_refused_wherever_it_is_given(address: str) -> None:
    for give in (explorer.open_table, AllowedRoots, ServedRoots, AllowedRoots([]).check_source):
        with pytest.raises(RequestError) as refused:
            give(address)
        assert CANARY not in repr(refused.value) + str(refused.value) + str(refused.value.facts())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((address, safe_address(address)) for address in ADDRESSES if " " not in address and ":///" not in address),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net/x"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        (f"sc://host:15002/;token={CANARY};user_id=a", "sc://host:15002/;token=***;user_id=a"),
        (f"AccountName=a;AccountKey={CANARY}==;x=1", "AccountName=a;AccountKey=***;x=1"),
        (f"fs.azure.account.key.a={CANARY}", "fs.azure.account.key.a=***"),
        (f"Authorization: Bearer {CANARY}", "Authorization: Bearer ***"),
        (f"jdbc:postgresql://u:{CANARY}@h/db", "jdbc:postgresql://***@h/db"),
        ("sig = 'x' AND secret = 5", "sig = 'x' AND secret = 5"),
    ],
)
def test_texts_lose_their_credentials_and_nothing_else(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
    error = StorageError(f"{text} cannot be read.", path=text)
    assert error.message == f"{shown} cannot be read."
    assert error.facts()["path"] == shown
    assert not holds_credentials(shown) or "***" in shown


@pytest.mark.spark
def test_a_path_of_the_log_with_credentials_is_not_repeated_by_its_error(tmp_path: Path) -> None:
    for number, address in enumerate(at_least_one(address for address in ADDRESSES if " " not in address)):
        table = write_log(tmp_path / str(number), [[PROTOCOL, METADATA, add(address)]])
        with pytest.raises(ExplorerError) as failed:
            explorer.open_table(table, roots=tmp_path).rows()
        assert CANARY not in str(failed.value) + str(failed.value.facts())


def test_addresses_of_files_in_a_log_lose_their_credentials_in_lists_and_values_do_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address, value = f"s3://bucket/f.parquet?sig={CANARY}", "https://host/?q=1"
    kept = metadata({"u": "string"})
    table = write_log(tmp_path / "t", [[PROTOCOL, kept, add(address, bounds={"u": (value, value)})]])
    for command in (("files",), ("statistics",), ("files", "--json"), ("statistics", "--json")):
        assert run([command[0], str(table), *command[1:]]) == 0
    assert run(["statistics", str(table), "--json"]) == 0
    told = capfd.readouterr().out
    assert CANARY not in told
    assert value in told
    column = ListingColumn("path", "path", "name")
    listing = Listing("files", (column,), pa.table({"path": [address]}))
    shown = (listing.to_csv(), listing.to_json(), column.text(address), column.end(address), column.whole(address))
    assert not any(CANARY in text for text in shown)
