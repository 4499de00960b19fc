"""The registry of storages: a new one is an implementation and a row, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.memory import open_memory
from explorer.storage.roots import AllowedRoots, Opener
from explorer.storage.schemes import SCHEMES, Scheme, scheme_of, spellings
from tests.architecture.sources import modules, within
from tests.support.small_logs import METADATA, PROTOCOL, add, paths, write


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


def test_people_read_of_storages_that_last() -> None:
    assert spellings() == "file://, s3://, gs://, az:// or memory://"
    assert spellings(lasting=True) == "file://, s3://, gs:// or az://"


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
