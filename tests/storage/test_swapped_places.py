"""Links that take the place of a file or a folder after its path was checked and before it is used."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.real_files import RealFiles
from explorer.storage.roots import AllowedRoots

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux names what is open")

_READS: dict[str, Callable[[LogStore], object]] = {
    "read": lambda store: store.read("p/f"),
    "read_range": lambda store: store.read_range("p/f", 0, 3),
    "read_many": lambda store: store.read_many(["p/f"]),
    "read_starts": lambda store: store.read_starts(["p/f"], [3]),
    "read_joined": lambda store: store.read_joined(["p/f"], [6]),
    "open_input": lambda store: store.open_input("p/f").read(),
    "head": lambda store: store.head("p/f"),
    "list_from": lambda store: list(store.list_from("p")),
    "list_tree": lambda store: list(store.list_tree()),
    "list_files": lambda store: store.list_files(),
}
_CHANGES: dict[str, Callable[[LogStore], object]] = {
    "put": lambda store: store.put("p/new", b"x"),
    "put_if_absent": lambda store: store.put_if_absent("p/new", b"x"),
    "put into a new folder": lambda store: store.put("p/q/new", b"x"),
    "delete": lambda store: store.delete("p/f"),
    "delete_many": lambda store: store.delete_many(["p/f"]),
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A served folder with a table's folder, and a folder beside it with names that the table has, too."""
    for folder in ("served/t/p", "outside/p"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "served/t/p/f").write_bytes(b"of the table")
    (tmp_path / "outside/p/f").write_bytes(b"secret")
    (tmp_path / "outside/p/secret").write_bytes(b"")
    return tmp_path


def _swap(lake: Path, what: str) -> None:
    """Replace the file, its folder, or the table's folder by a link to the one outside."""
    place = lake / "served" / {"file": "t/p/f", "folder": "t/p", "table": "t"}[what]
    if not place.is_symlink():
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        place.symlink_to(lake / "outside" / {"file": "p/f", "folder": "p", "table": ""}[what])


def _swapping(monkeypatch: pytest.MonkeyPatch, lake: Path, what: str) -> None:
    """Swap as late as anyone can: right before the system is asked to open or make something."""
    for name in ("open", "stat", "scandir", "unlink", "link", "replace", "mkdir"):
        real = getattr(os, name)

        def swapped(*args: object, real: Callable[..., object] = real, **named: object) -> object:
            monkeypatch.undo()
            _swap(lake, what)
            return real(*args, **named)

        monkeypatch.setattr(os, name, swapped)


def _swapping_after(monkeypatch: pytest.MonkeyPatch, lake: Path, what: str, check: str) -> None:
    """Swap once a path was checked."""
    checked = getattr(RealFiles, check)

    def then_swapped(self: RealFiles, key: str) -> str:
        path = str(checked(self, key))
        _swapping(monkeypatch, lake, what)
        return path

    monkeypatch.setattr(RealFiles, check, then_swapped)


@pytest.mark.parametrize("what", ["file", "folder", "table"])
@pytest.mark.parametrize("read", _READS)
def test_nothing_outside_is_read(lake: Path, monkeypatch: pytest.MonkeyPatch, read: str, what: str) -> None:
    store = open_store(lake / "served" / "t", roots=AllowedRoots(lake / "served"))
    if read == "list_files":  # it asks for no path: its folders are opened one after another
        _swapping(monkeypatch, lake, what)
    else:
        _swapping_after(monkeypatch, lake, what, "path")
    answer: object = None
    # What is listed or opened already may still be answered, from inside.
    with suppress(NotAllowed):
        answer = _READS[read](store)
    assert "secret" not in str(answer)
    assert read != "head" or answer is None


@pytest.mark.parametrize("what", ["folder", "table"])
@pytest.mark.parametrize("change", _CHANGES)
def test_nothing_outside_is_changed(lake: Path, monkeypatch: pytest.MonkeyPatch, change: str, what: str) -> None:
    store = open_store(lake / "served" / "t", roots=AllowedRoots(lake / "served"))
    if change.startswith("delete"):
        _swapping(monkeypatch, lake, what)
    else:
        _swapping_after(monkeypatch, lake, what, "path_of_name")
    with pytest.raises(NotAllowed):
        _CHANGES[change](store)
    assert [path.name for path in sorted((lake / "outside").rglob("*"))] == ["p", "f", "secret"]
    assert (lake / "outside/p/f").read_bytes() == b"secret"


def test_a_link_inside_the_served_folders_is_followed(lake: Path) -> None:
    (lake / "served/t/p/g").symlink_to(lake / "served/t/p/f")
    store = open_store(lake / "served" / "t", roots=AllowedRoots(lake / "served"))
    wanted = [b"of the table"] * 2
    assert store.read_many(["p/f", "p/g"]) == wanted
    assert store.open_input("p/g").read() == wanted[0]
    assert store.read_starts(["p/g"], [2]) == [b"of"]
