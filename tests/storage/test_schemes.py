"""The registry of storages: a new one is an implementation and a row, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore
from explorer.fleet import TableAudit, places
from explorer.storage import open_store
from explorer.storage.memory import open_memory
from explorer.storage.roots import AllowedRoots, Opener
from explorer.storage.schemes import SCHEMES, Scheme, scheme_of, spellings
from explorer.storage.served_root import ServedRoot
from explorer.storage.served_roots import ServedRoots
from tests.architecture.sources import modules, within
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, paths, write


def open_vault(url: str, options: Mapping[str, Any], opener: Opener, roots: AllowedRoots | None) -> LogStore:
    """An implementation that this program does not have, with an option of its own."""
    if options != {"word": "sesame"}:
        raise RequestError("The vault stays shut: give its word.", location=url)
    return open_memory(url, {}, opener, roots)


@pytest.fixture
def _vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEMES, "vault", Scheme("vault", open_vault, "copied", listed=True))


@pytest.mark.usefixtures("_vault")
def test_a_table_of_a_new_storage_opens_by_its_row_alone() -> None:
    store = open_store("vault://deep/t", {"word": "sesame"})
    other, key = store.elsewhere("vault://deep/u/part.parquet")
    assert (other.root, key) == ("vault://deep/u", "part.parquet")
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("vault://deep/u/b"),)})
    table = explorer.open_table("vault://deep/t", storage_options={"word": "sesame"})
    assert paths(table.snapshot()) == {("a", None), ("vault://deep/u/b", None)}
    with pytest.raises(RequestError, match="give its word"):
        explorer.open_table("vault://deep/t")


@pytest.mark.usefixtures("_vault")
def test_a_new_storage_is_offered_where_a_scheme_is_not_known() -> None:
    with pytest.raises(RequestError, match=r"file://, s3://, gs://, az://, memory:// or vault://\.$"):
        open_store("crypt://deep/t")


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("warehouse/orders", "file"),
        ("/a:b/orders", "file"),
        ("file:/orders", "file"),
        ("file:///orders", "file"),
        ("s3://bucket/orders", "s3"),
        ("S3A://bucket/orders", "s3a"),
        ("abfss://container@account/orders", "abfss"),
        ("memory://name/orders", "memory"),
    ],
)
def test_a_location_has_the_scheme_that_it_begins_with(location: str, name: str) -> None:
    assert scheme_of(location).name == name


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("file:", "does not name a folder. Give a path, or a URL with three slashes"),
        ("file:orders", "does not name a folder. Give a path, or a URL with three slashes"),
        ("file://", "does not name a folder. Give a path, or a URL with three slashes"),
        ("file://localhost", "does not name a folder. Give a path, or a URL with three slashes"),
        ("file://host/orders", "names a folder of the machine 'host'. A URL of a folder here has three slashes"),
        ("FILE://host/orders", "names a folder of the machine 'host'. A URL of a folder here has three slashes"),
        ("file:///%ff", "names no place: its escapes are not UTF-8"),
        ("memory://name/%ff", "names no place: its escapes are not UTF-8"),
        ("s3://", "names no bucket or container. Give it before the folder, as in s3://bucket/sales/orders."),
        ("s3:///orders", "names no bucket or container. Give it before the folder, as in s3://bucket/sales/orders."),
        ("az:///orders", "names no bucket or container. Give it before the folder, as in az://bucket/sales/orders."),
    ],
)
def test_a_location_that_names_no_place_is_a_bad_request_that_says_what_one_looks_like(
    location: str, said: str
) -> None:
    with pytest.raises(RequestError, match=f"^{re.escape(repr(location))} {re.escape(said)}") as caught:
        open_store(location)
    assert caught.value.location == location


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("dbfs:/mnt/orders", "Databricks workspace"),
        ("dbfs:///mnt/orders", "Databricks workspace"),
        ("DBFS:/mnt/orders", "Databricks workspace"),
        ("dbfs:", "Databricks workspace"),
        ("hdfs://name:8020/orders", "file system of Hadoop"),
        ("hdfs:/orders", "file system of Hadoop"),
        ("viewfs:///orders", "file system of Hadoop"),
        ("wasb://c@a.blob.core.windows.net/t", "Write abfs://c@a.dfs.core.windows.net/t."),
        ("wasbs://c@a.blob.core.windows.net/t", "Write abfss://c@a.dfs.core.windows.net/t."),
        ("s3n://bucket/t", "Write s3://bucket/t."),
        ("gcs://bucket/t", "Write gs://bucket/t."),
        ("azure://container/t", "Write az://container/t."),
        ("abfss:/c@a.dfs.core.windows.net/t", "Write abfss://c@a.dfs.core.windows.net/t."),
        ("s3:/bucket/t", "Write s3://bucket/t. A folder of that name is given as ./s3:"),
        ("s3:bucket/t", "Write s3://bucket/t."),
        ("minio://bucket/t", "aws_endpoint"),
        ("https://bucket.s3.eu-west-1.amazonaws.com/a/t", "Write s3://bucket/a/t."),
        ("https://s3.eu-west-1.amazonaws.com/bucket/a/t", "Write s3://bucket/a/t."),
        ("https://a.blob.core.windows.net/c/t", "Write abfss://c@a.dfs.core.windows.net/t."),
        ("https://storage.googleapis.com/bucket/t", "Write gs://bucket/t."),
        ("http://example.org/t", "the address of the store itself"),
        ("glue://sales.orders", "StorageDescriptor.Location"),
        ("nothing:/mnt/orders", "An address has two slashes"),
    ],
)
def test_another_storage_is_refused_by_name_with_what_to_do_and_is_never_a_folder(
    location: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [lambda: open_store(location), lambda: AllowedRoots([location]), lambda: ServedRoots([location])]
    for call in at_least_one(calls):
        with pytest.raises(RequestError, match=f"^{re.escape(repr(location))} is not a folder.*{re.escape(said)}"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_colon_in_its_name_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in at_least_one(["a:b/orders", "./dbfs:/orders", "12:30/orders", f"{tmp_path}/s3:/orders"]):
        write(open_store(folder), {0: (PROTOCOL, METADATA, add("a"))})
        assert paths(explorer.open_table(folder).snapshot()) == {("a", None)}


@pytest.mark.parametrize("root", ["file:", "file://host/orders", "file:///%ff"])
def test_a_root_that_names_no_place_is_a_bad_request(root: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        ServedRoots([root])
    with pytest.raises(RequestError):
        AllowedRoots([root])
    with pytest.raises(RequestError):
        open_store(root, roots=AllowedRoots([str(tmp_path)]))
    (found,) = places([root])
    assert isinstance(found, TableAudit)
    assert isinstance(found.error, RequestError)


@pytest.mark.parametrize("spelt", ["{}", "file:{}", "file://{}", "file://localhost{}", "FILE://LOCALHOST{}"])
def test_every_spelling_of_a_folder_here_opens_it(spelt: str, tmp_path: Path) -> None:
    folder = tmp_path / "a b%"
    write(open_store(folder), {0: (PROTOCOL, METADATA, add("a"))})
    location = spelt.format(folder.as_posix() if spelt == "{}" else folder.as_uri().removeprefix("file://"))
    assert paths(explorer.open_table(location).snapshot()) == {("a", None)}
    assert list(places([location])) == [ServedRoot(str(folder))]
    assert [table.location for table in ServedRoots([location]).tables()] == [str(folder)]


@pytest.mark.parametrize("start", ["", "file:", "file://", "file://localhost", "file://host"])
def test_a_file_that_a_log_names_with_its_whole_path_is_found_whatever_host_it_names(
    start: str, tmp_path: Path
) -> None:
    """As writers on Hadoop's local file system spell it."""
    (tmp_path / "beside.parquet").write_bytes(b"rows")
    store = open_store(tmp_path / "table")
    holder, key = store.elsewhere(decode_path(f"{start}{tmp_path}/beside.parquet"))
    assert holder.read(key) == b"rows"


def test_people_read_of_storages_that_last() -> None:
    assert spellings() == "file://, s3://, gs://, az:// or memory://"
    assert spellings(persistent=True) == "file://, s3://, gs:// or az://"


def test_nothing_outside_storage_spells_a_scheme() -> None:
    names = "|".join(name for name in SCHEMES if name != "file")
    scheme = re.compile(rf"({names})(://?)?|.*\b({names}):.*", re.DOTALL)
    found = {
        name: texts
        for name, tree in modules().items()
        if not within(name, "explorer.storage") and (texts := [text for text in _texts(tree) if scheme.fullmatch(text)])
    }
    assert found == {}


def _texts(tree: ast.Module) -> list[str]:
    """The text constants of a module, without those that stand alone as docstrings do."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in constants if isinstance(node.value, str)]
