"""Tables beside one that is searched: clones that share its files, others with its columns, and those unreadable."""

from pathlib import Path

import explorer
from explorer.auditing.erasure.neighbour_tables import Neighbour, NeighbourTable, neighbours_of, related
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.logs.small_logs import PROTOCOL, add, metadata, remove, write_log


def _neighbour(folder: Path, name: str) -> Neighbour:
    return Neighbour(name, lambda: explorer.open_table(folder / name))


def _tables(folder: Path) -> list[NeighbourTable]:
    """``people`` and what lies beside it: a clone that has replaced one of two files, a copy, and so on."""
    write_log(folder / "people", [[PROTOCOL, metadata({"id": "long", "name": "string"}), add("a.parquet", 1)]])
    shared = f"file://{folder}/people/a%20b.parquet"
    write_log(
        folder / "clone",
        [
            [PROTOCOL, metadata({"id": "long"}), add(shared, 1), add(f"{folder}/people/c.parquet", 1)],
            [remove(shared), add("own.parquet", 1)],
        ],
    )
    write_log(folder / "people-2", [[PROTOCOL, metadata({"NAME": "string"}), add(f"{folder}/people-2/a.parquet", 1)]])
    write_log(folder / "other", [[PROTOCOL, metadata({"x": "long"}), add("a.parquet", 1)]])
    write_log(folder / "broken", [[b"{"]])
    names = ("people", "clone", "people-2", "other", "broken", "none")
    return list(neighbours_of(explorer.open_table(folder / "people"), [_neighbour(folder, name) for name in names]))


def test_a_clone_is_known_by_the_files_that_its_log_names_in_any_version(tmp_path: Path) -> None:
    result = {each.name: each.shared_files for each in _tables(tmp_path)}
    # The table itself is none, and a folder whose name begins alike is another one.
    assert result == {"clone": 2, "people-2": 0, "other": 0, "broken": 0, "none": 0}


def test_only_tables_with_shared_files_or_a_column_of_the_predicate_are_named(tmp_path: Path) -> None:
    tables = related(_tables(tmp_path), ("name",))
    assert [(each.name, each.columns) for each in tables] == [
        ("clone", ()),
        ("people-2", ("NAME",)),
        ("broken", ()),
        ("none", ()),
    ]
    clone, copy, *unread = (each.words() for each in tables)
    assert "shares 2 files of this table" in clone
    assert copy.endswith("people-2 has the column NAME.")
    assert all("cannot be read" in words for words in unread)


def test_what_a_table_is_called_is_shown_as_text() -> None:
    words = NeighbourTable("\x1b[2J\u202e", "file:///t", columns=(HOSTILE,)).words()
    assert "\x1b" not in words
    assert "\u202e" not in words
