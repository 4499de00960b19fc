"""What a server keeps in memory of tables: counted, whatever windows ask for and however long it runs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.core.errors import ExplorerError
from explorer.page.tables import FollowedTable
from explorer.storage.served_root import ServedRoot
from explorer.views import TableFacts
from explorer.web.served_tables import Catalog
from explorer.web.table_cache import IDLE, MOST_UNREAD, TableCache
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def made(root: Path, name: str) -> Path:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA]
    small_logs.write_log(root / name, [created])
    return root / name


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for number in range(8):
        made(tmp_path / "lake", f"t{number}")
    return tmp_path / "lake"


def alive(kind: type, wanted: Callable[[object], bool] = lambda _: True) -> int:
    """Return how many objects of a class there are in this process."""
    gc.collect()
    return sum(isinstance(each, kind) and wanted(each) for each in gc.get_objects())


def test_names_of_nothing_are_forgotten(lake: Path) -> None:
    """A browser may send any name; each of them would stay for as long as the server runs."""
    catalog, before = Catalog([str(lake)]), alive(FollowedTable)
    for number in at_least_one(range(300)):
        with pytest.raises(ExplorerError):
            catalog.facts(f"lake/nothing{number}")
    assert alive(FollowedTable) - before <= MOST_UNREAD
    assert catalog.facts("lake/t0") is catalog.facts("lake/t0")


def test_tables_that_nobody_shows_any_more_are_forgotten(lake: Path) -> None:
    """With all that was read of them; the list keeps what it says of each for some minutes."""
    clock = Seconds()
    catalog = Catalog([str(lake)])
    catalog.cache = TableCache(clock=clock)

    def here(facts: object) -> bool:
        return isinstance(facts, TableFacts) and str(lake) in facts.location

    for number in at_least_one(range(8)):
        # As a page of the table, and a row of the list.
        catalog.facts(f"lake/t{number}").snapshot(0)
        assert catalog.summary(catalog.roots.locate(f"lake/t{number}")).problem is None
        clock.now += 60
    assert alive(TableFacts, here) == 8
    clock.now += IDLE - 60
    kept = catalog.facts("lake/t7")
    assert len(catalog.cache) == 1
    assert alive(TableFacts, here) == 1
    assert here(kept)
    assert {catalog.summary_before(catalog.roots.locate(f"lake/t{number}")) is None for number in range(8)} == {False}


def test_the_tables_that_were_asked_for_last_stay(lake: Path) -> None:
    catalog = Catalog([str(lake)])
    catalog.cache = TableCache(most=3)
    first = catalog.facts("lake/t0")
    for number in at_least_one(range(1, 8)):
        catalog.facts(f"lake/t{number}")
        assert catalog.facts("lake/t0") is first, "it is asked for again and again, as by a window on show"
    assert len(catalog.cache) == 3


def test_what_is_known_of_deleted_files_outlives_the_table(lake: Path) -> None:
    clock = Seconds()
    catalog = Catalog([str(lake)])
    catalog.cache = TableCache(clock=clock)
    catalog.open("lake/t0").known_missing.deleted(["part-0.parquet"])
    catalog.open("lake/t1")
    for hours in at_least_one(range(5)):
        clock.now = 3_600.0 * hours
        catalog.facts("lake/t2")
    assert catalog.open("lake/t0").known_missing.now.missing == {"part-0.parquet"}
    assert catalog.open("lake/t1").known_missing.now.missing == frozenset()


def test_names_of_the_palette_are_those_of_served_tables(lake: Path) -> None:
    """Names that a page asked for, and that lead to tables which are gone now, do not stay."""
    catalog = Catalog([str(lake)])
    catalog.list.begin(patience=60)
    facts = catalog.facts("lake/t0")
    for number in at_least_one(range(500)):
        catalog.palette_names.put(f"lake/gone{number}", facts)
    catalog.palette_names.put("lake/t0", facts)
    known = [name for name in (f"lake/gone{number}" for number in range(500)) if catalog.palette_names.table_id(name)]
    assert len(known) <= 200
    assert catalog.palette_names.table_id("lake/t0")


@pytest.mark.parametrize("first", ["lake/t0", "inner"])
def test_what_a_log_may_name_does_not_depend_on_who_asked_first(lake: Path, first: str) -> None:
    """A table is in a root, and a root itself: under its own name it stays inside its folder."""
    catalog = Catalog([ServedRoot(str(lake), name="lake"), ServedRoot(str(lake / "t0"), name="inner")])
    catalog.facts(first)
    beside = str(lake / "t1" / "part-0.parquet")
    allowed = {}
    for name in at_least_one(("lake/t0", "inner")):
        roots = catalog.facts(name).log.roots
        assert roots is not None
        allowed[name] = roots.allow(beside)
    assert allowed == {"lake/t0": True, "inner": False}


def test_a_change_under_one_name_is_seen_under_the_other(lake: Path) -> None:
    catalog = Catalog([ServedRoot(str(lake), name="lake"), ServedRoot(str(lake / "t0"), name="inner")])
    names = ("lake/t0", "inner")
    assert [catalog.facts(name).last for name in names] == [0, 0]
    small_logs.write_log(lake / "t0", [[small_logs.commit_info("WRITE"), small_logs.add("part-0.parquet")]], 1)
    catalog.check_again("inner")
    assert [catalog.facts(name).last for name in names] == [1, 1]
