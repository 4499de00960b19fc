"""Links in the folder of a table: what the store reads, writes and deletes through them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import NotAllowed
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, write


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A served folder with the folder of a table, and a folder beside it."""
    (tmp_path / "served" / "t").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f").write_bytes(b"secret")
    return tmp_path


def store_of(lake: Path, *, limited: bool = True) -> LogStore:
    return open_store(lake / "served" / "t", roots=AllowedRoots(lake / "served") if limited else None)


def test_a_folder_that_becomes_a_link_after_it_was_looked_at_is_refused(lake: Path) -> None:
    store, folder = store_of(lake), lake / "served" / "t" / "p"
    folder.mkdir()
    (folder / "f").write_bytes(b"own")
    assert store.read("p/f") == b"own"
    shutil.rmtree(folder)
    folder.symlink_to(lake / "outside")
    with pytest.raises(NotAllowed, match="a link leads out"):
        store.read("p/f")


@pytest.mark.parametrize("limited", [True, False])
def test_nothing_is_deleted_through_a_link_to_a_folder(lake: Path, limited: bool) -> None:
    (lake / "served" / "t" / "p").symlink_to(lake / "outside")
    store = store_of(lake, limited=limited)
    with pytest.raises(NotAllowed, match="is a link"):
        store.delete("p/f")
    with pytest.raises(NotAllowed, match="is a link"):
        store.delete_many(["p/f"])
    with pytest.raises(NotAllowed, match="climbs out"):
        store.delete("../../outside/f")
    assert (lake / "outside" / "f").read_bytes() == b"secret"


def test_of_a_link_to_a_file_the_link_is_deleted_and_replaced_and_never_the_file(lake: Path) -> None:
    store, link = store_of(lake), lake / "served" / "t" / "f"
    link.symlink_to(lake / "outside" / "f")
    with pytest.raises(FileExistsError):
        store.put_if_absent("f", b"new")
    store.put("f", b"new")
    assert not link.is_symlink()
    link.unlink()
    link.symlink_to(lake / "outside" / "absent")
    with pytest.raises(FileExistsError):
        store.put_if_absent("f", b"new")
    store.delete("f")
    assert sorted(os.listdir(lake / "outside")) == ["f"]
    assert (lake / "outside" / "f").read_bytes() == b"secret"


def test_vacuum_neither_deletes_nor_counts_a_file_behind_a_link_that_took_the_place_of_a_folder(lake: Path) -> None:
    store, folder = store_of(lake, limited=False), lake / "served" / "t" / "p"
    write(store, {0: [PROTOCOL, METADATA, add("p/f")], 1: [remove("p/f")]})
    folder.mkdir()
    (folder / "f").write_bytes(b"own")
    os.utime(folder / "f", (0, 0))
    table = explorer.open_table(lake / "served" / "t")
    plan = table.plan({"kind": "vacuum"})
    assert [file.path for file in plan.files] == ["p/f"]
    shutil.rmtree(folder)
    folder.symlink_to(lake / "outside")
    os.utime(lake / "outside" / "f", (0, 0))
    assert table.commit(plan).plan.files == ()
    assert table.plan({"kind": "vacuum"}).files == ()
    assert (lake / "outside" / "f").read_bytes() == b"secret"


@pytest.mark.parametrize("name", ["a\0b", "p/\0", "\0"])
def test_a_name_with_a_nul_character_is_the_name_of_no_file(lake: Path, name: str) -> None:
    for store in (store_of(lake), store_of(lake, limited=False)):
        for ask in (store.read, store.head, store.open_input):
            with pytest.raises(FileNotFoundError):
                ask(name)
