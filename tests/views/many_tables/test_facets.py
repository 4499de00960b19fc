"""Facets of a list of tables, against SQL over the same generated tables."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from explorer.core.errors import RequestError
from explorer.page.address import Address
from explorer.views.many_tables.choice import FACETS, FacetChoice
from explorer.views.many_tables.facets import Faceted, faceted
from explorer.views.many_tables.record import KeptRecord, TraitsRecord
from explorer.views.many_tables.traits import TableTraits, folders_above
from tests.support.at_least_one import at_least_one

NOW = 1_800_000_000_000
DAY = 86_400_000
TABLES = 400
SILENT = {"0d": (0, 1), "1d": (1, 2), "2d": (2, 7), "7d": (7, 30), "30d": (30, 90), "90d": (90, 10**9)}
SIZE = {"0": (0, 1), "1M": (1, 100), "100M": (100, 1_000), "1G": (1_000, 10_000), "10G": (10_000, 10**9)}


def some_traits(chance: random.Random) -> TableTraits:
    """Return random facts of a table; some are unknown."""
    if chance.random() < 0.1:
        return TableTraits(folders_above("lake/unread"))
    columns = chance.sample(["id", "email", "Contact_Email", "amount", "a.email", "ünï"], chance.randint(0, 5))
    return TableTraits(
        folders=folders_above(f"lake/{chance.choice('abc')}/{chance.choice('xy')}"),
        findings=tuple(chance.sample(["small-files", "silent-loader"], chance.randint(0, 2))) or ("none",),
        features=tuple(chance.sample(["deletionVectors", "rowTracking", "clustering"], chance.randint(0, 3))),
        protocol=chance.choice(["reader 1 \u00b7 writer 2", "reader 3 \u00b7 writer 7"]),
        writers=tuple(chance.sample(["ana, the first", "ben;x", "50%"], chance.randint(0, 2))),
        engines=tuple(chance.sample(["Spark", "delta-rs"], 1)),
        owner=chance.choice(["", "sales", "finance"]),
        catalog=chance.choice(["", "main"]),
        last=NOW - chance.randint(0, 120 * DAY),
        size=chance.choice([None, 0, 10**6, 5 * 10**8, 2 * 10**10]),
        files=chance.randint(0, 200),
        columns=tuple((name, chance.choice(["string", "long"])) for name in columns),
    )


@pytest.fixture(scope="module")
def tables() -> list[TableTraits]:
    chance = random.Random(54)
    return [some_traits(chance) for _ in range(TABLES)]


@pytest.fixture(scope="module")
def sql(tables: list[TableTraits]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same facts as rows of a database: a value of a facet each, and a column of a table each."""
    facts: list[tuple[int, str, str]] = []
    columns: list[tuple[int, str, str]] = []
    many = {"folder": "folders", "finding": "findings", "feature": "features", "writer": "writers", "engine": "engines"}
    for place, each in enumerate(tables):
        facts += [(place, facet, value) for facet, key in many.items() for value in getattr(each, key)]
        facts += [(place, key, getattr(each, key)) for key in ("protocol", "owner", "catalog") if getattr(each, key)]
        if each.last is not None:
            days = (NOW - each.last) / DAY
            facts += [(place, "silent", key) for key, (first, last) in SILENT.items() if first <= days < last]
        if each.size is not None:
            facts += [(place, "size", key) for key, (first, last) in SIZE.items() if first <= each.size / 10**6 < last]
        columns += [(place, *column) for column in each.columns]
    with duckdb.connect() as database:
        for name, keys, rows in (
            ("facts", ("t", "facet", "value"), facts),
            ("columns", ("t", "name", "type"), columns),
        ):
            database.register(name, pa.table(dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True))))
        yield database


def matching(sql: duckdb.DuckDBPyConnection, choice: FacetChoice, part: str, without: str = "") -> set[int]:
    """Return which tables match, as SQL says, without one of the facets."""
    found = set(range(TABLES))
    for name, values in choice.values:
        if name not in {without, "column", "type"}:
            rows = sql.execute("select t from facts where facet = ? and list_contains(?, value)", [name, list(values)])
            found &= {place for (place,) in rows.fetchall()}
    names, kinds = ([] if each == without else list(choice.of(each)) for each in ("column", "type"))
    if names or kinds or part:
        query = """select distinct t from columns where contains(lower(name), lower(?))
            and (len(?::text[]) = 0 or list_contains(?, name)) and (len(?::text[]) = 0 or list_contains(?, type))"""
        found &= {place for (place,) in sql.execute(query, [part, names, names, kinds, kinds]).fetchall()}
    return found


def counts(result: Faceted, facet: str) -> dict[str, int]:
    return {v.key: v.count for view in result.facets if view.name == facet for v in view.values if v.count}


CHOICES = [
    ("", ""),
    ("feature:deletionVectors", ""),
    ("feature:deletionVectors,rowTracking;owner:sales", ""),
    ("finding:none;silent:0d,90d", ""),
    ("folder:lake/a;size:100M,10G;engine:Spark", ""),
    ("type:string", "email"),
    ("column:id,amount;type:long", ""),
    ("writer:ana%2C the first,ben%3Bx", "AMOUNT"),
    ("owner:nobody", ""),
]


@pytest.mark.parametrize(("text", "part"), CHOICES)
def test_what_matches_and_every_count_are_those_of_sql(
    tables: list[TableTraits], sql: duckdb.DuckDBPyConnection, text: str, part: str
) -> None:
    choice = FacetChoice.parse(text)
    result = faceted(TraitsRecord(tables), choice, np.ones(TABLES, bool), NOW, part)
    assert set(np.flatnonzero(result.matches).tolist()) == matching(sql, choice, part)
    for facet in at_least_one([name for name in FACETS if name not in {"column", "type", "files"}]):
        others = matching(sql, choice, part, without=facet)
        rows = sql.execute(
            "select value, count(distinct t) from facts where facet = ? and list_contains(?, t) group by value",
            [facet, list(others)],
        )
        assert counts(result, facet) == dict(rows.fetchall())
    names, kinds = list(choice.of("column")), list(choice.of("type"))
    others = set(range(TABLES)) if not (names or kinds or part) else matching(sql, choice, part, without="type")
    of_type = sql.execute(
        """select type, count(distinct t) from columns where list_contains(?, t) and contains(lower(name), lower(?))
        and (len(?::text[]) = 0 or list_contains(?, name)) group by type""",
        [list(others if names or kinds or part else matching(sql, choice, part)), part, names, names],
    )
    assert counts(result, "type") == dict(of_type.fetchall())


def test_what_is_filtered_otherwise_is_not_counted(tables: list[TableTraits]) -> None:
    base = np.zeros(TABLES, bool)
    base[:10] = True
    result = faceted(TraitsRecord(tables), FacetChoice(), base, NOW)
    assert result.matches.tolist() == base.tolist()
    assert result.chosen.all()
    assert sum(counts(result, "protocol").values()) == sum(bool(each.protocol) for each in tables[:10])


def test_a_chosen_value_without_a_table_can_be_taken_back(tables: list[TableTraits]) -> None:
    result = faceted(TraitsRecord(tables), FacetChoice.parse("owner:nobody;column:gone"), np.ones(TABLES, bool), NOW)
    chosen = {(view.name, value.key, value.count) for view in result.facets for value in view.first if value.chosen}
    assert chosen == {("owner", "nobody", 0), ("column", "gone", 0)}


def test_a_record_is_made_again_only_when_a_table_changed(tables: list[TableTraits]) -> None:
    kept = KeptRecord()
    record = kept.of(list(tables))
    assert kept.of(list(tables)) is record
    assert kept.of([TableTraits(("x",)), *tables[1:]]) is not record


def test_text_that_no_column_can_store_is_found_by_what_is_shown() -> None:
    record = TraitsRecord([TableTraits(("lake\udcff",))])
    (view,) = faceted(record, FacetChoice(), np.ones(1, bool), NOW).facets
    found = faceted(record, FacetChoice().turned("folder", view.values[0].key), np.ones(1, bool), NOW)
    assert found.matches.tolist() == [True]


@pytest.mark.parametrize("value", ["a,b;c:d", "50%", "ünï code", "<b>&", "no finding", "a/b", "+"])
def test_an_address_keeps_what_was_chosen(value: str) -> None:
    address = Address.parse("?show=timeline&range=24h&group=none&col=id").turned("writer", value)
    again = Address.parse(address)
    assert again.choice.of("writer") == (value,)
    assert (again.show, again.range, again.group, again.column) == ("timeline", "24h", "none", "id")
    assert Address.parse(again.turned("writer", value)).facets == ""


def test_facets_that_do_not_exist_are_named_with_those_that_do() -> None:
    with pytest.raises(RequestError, match=r"no facet 'colour'\. Tables can be filtered by: finding, feature"):
        Address.parse("?facet=colour:red")


@pytest.mark.parametrize("text", ["finding:a;" * 100_000, ";" * 100_000, "x" * 100_000])
def test_a_long_text_that_is_no_choice_is_refused_soon(text: str) -> None:
    with pytest.raises(RequestError):
        FacetChoice.parse(text)


def test_a_value_that_is_repeated_is_chosen_once() -> None:
    assert FacetChoice.parse("finding:" + "a," * 100_000 + "b").of("finding") == ("a", "b")


def test_facets_are_counted_without_pandas() -> None:
    code = (
        "import sys\nimport numpy as np\n"
        "from explorer.views.many_tables.choice import FacetChoice\n"
        "from explorer.views.many_tables.facets import faceted\n"
        "from explorer.views.many_tables.record import TraitsRecord\n"
        "from explorer.views.many_tables.traits import TableTraits, folders_above\n"
        "record = TraitsRecord([TableTraits(folders_above('lake/a'), columns=(('id', 'long'),))])\n"
        "print(len(faceted(record, FacetChoice.parse(''), np.ones(1, bool), 0).facets) > 1, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
