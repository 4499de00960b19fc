"""Columns as lines through versions, whole: their spans, the names that changed hands, and what is blamed for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.versions.blame import blame
from explorer.core.versions.column_lineage import (
    ColumnIdentities,
    ColumnLine,
    ColumnSpan,
    Lineage,
    NameHazard,
    column_lineage,
)
from explorer.core.versions.provenance import Provenance
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, table
from tests.support.logs.small_schemas import array, field, mapping, struct

MAPPED = Protocol(min_reader_version=2, min_writer_version=5)


def schema(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps(struct(*fields)))


def stored(name: str, number: int, physical: str | None = None, kind: Any = "long", **more: Any) -> dict[str, Any]:
    where = f"c{number}" if physical is None else physical
    ids = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": where}
    return field(name, kind, metadata=ids | more)


def lineage(mode: MappingMode, last: int, **versions: tuple[dict[str, Any], ...]) -> Lineage:
    return column_lineage([(int(name[1:]), schema(*fields), mode) for name, fields in versions.items()], last)


def test_a_column_has_a_span_for_each_thing_that_it_was() -> None:
    inner = struct(field("x"), field("l", array(struct(field("q", "date")))))
    found = lineage(
        "none",
        6,
        v1=(field("id", "long", nullable=False), field("s", inner)),
        v3=(field("id", "long"), field("s", inner)),
        v4=(field("id", "string"), field("s", inner), field("a.b", mapping("string", "long"))),
        v6=(field("id", "string"), field("s", inner)),
    )
    one = "struct<x:integer,l:array<struct<q:date>>>"
    spans = {
        ("id",): [(1, 2, "long", False), (3, 3, "long", True), (4, 6, "string", True)],
        ("s",): [(1, 6, one, True)],
        ("s", "x"): [(1, 6, "integer", True)],
        ("s", "l"): [(1, 6, "array<struct<q:date>>", True)],
        ("s", "l", "element", "q"): [(1, 6, "date", True)],
        ("a.b",): [(4, 5, "map<string,long>", True)],
    }
    names = {path: ".".join(path) for path in spans} | {("a.b",): "`a.b`"}
    lines = [
        ColumnLine(
            None,
            names[path],
            path,
            tuple(ColumnSpan(first, last, names[path], kind, null) for first, last, kind, null in listed),
            6 if path == ("a.b",) else None,
        )
        for path, listed in spans.items()
    ]
    assert found == Lineage(tuple(lines), (), 1, 6)
    assert found.lines_at(0) == {}
    assert found.lines_at(1) == {"id": 0, "s": 1, "s.x": 2, "s.l": 3, "s.l.element.q": 4}
    assert found.lines_at(4) == found.lines_at(5) == found.lines_at(1) | {"`a.b`": 5}
    assert found.lines_at(6) == found.lines_at(1)
    assert found.lines_at(7) == {}


def test_a_column_that_was_away_has_two_spans_and_is_no_other() -> None:
    found = lineage("none", 5, v0=(field("a"), field("b")), v2=(field("b"),), v4=(field("a"), field("b")))
    spans = [[(span.from_version, span.to_version) for span in line.spans] for line in found.columns]
    assert spans == [[(0, 1), (4, 5)], [(0, 5)]]
    assert ([line.dropped_at for line in found.columns], found.hazards) == ([None, None], ())


def test_without_a_version_there_are_no_lines() -> None:
    assert column_lineage([], 7) == Lineage((), (), 0, 7)
    assert repr(Lineage((), (), 3, 7)) == "Lineage(0 columns, 0 hazards, versions 3 to 7)"


def hazard(kind: Any, name: str, version: int, detail: str) -> NameHazard:
    return NameHazard(kind, name, version, detail)


def reused(name: str, version: int, fate: str) -> NameHazard:
    return hazard("reused-name", name, version, f"the earlier {name} was {fate}; another column has the name now")


@pytest.mark.parametrize(
    ("versions", "last", "hazards"),
    [
        ({"v0": [stored("a", 1)], "v2": [stored("b", 1)]}, 3, []),
        (
            {"v0": [stored("a", 1), stored("b", 2)], "v1": [stored("b", 1), stored("a", 2)]},
            1,
            [
                hazard("swapped-name", "a", 1, "a and b swapped names"),
                hazard("swapped-name", "b", 1, "b and a swapped names"),
            ],
        ),
        (
            {"v0": [stored("a", 1)], "v3": [stored("k", 3)], "v5": [stored("k", 3), stored("a", 2)]},
            6,
            [reused("a", 5, "dropped at v3")],
        ),
        (
            {"v0": [stored("a", 1)], "v1": [stored("z", 1)], "v2": [stored("z", 1), stored("a", 2)]},
            2,
            [reused("a", 2, "renamed to z at v1")],
        ),
        (
            {
                "v0": [stored("a", 1), stored("b", 2)],
                "v1": [stored("t", 1), stored("a", 2)],
                "v2": [stored("b", 1), stored("a", 2)],
            },
            2,
            [reused("a", 1, "renamed to t at v1"), reused("b", 2, "renamed to a at v1")],
        ),
        (
            {
                "v0": [stored("a", 1), stored("b", 2)],
                "v1": [stored("b", 1)],
                "v2": [stored("b", 1), stored("a", 2)],
            },
            2,
            [reused("a", 2, "renamed to b at v1"), reused("b", 1, "renamed to a at v2")],
        ),
        (
            {
                "v0": [stored("x", 2), stored("a", 1)],
                "v1": [stored("b", 2), stored("a", 1)],
                "v2": [stored("a", 2), stored("b", 1)],
                "v3": [stored("a", 2), stored("end", 1)],
            },
            3,
            [
                hazard("swapped-name", "b", 2, "b and a swapped names"),
                hazard("swapped-name", "a", 2, "a and b swapped names"),
            ],
        ),
        (
            {"v0": [stored("x", 1, "b"), stored("k", 2)], "v2": [stored("x", 1, "b"), stored("b", 2)]},
            4,
            [hazard("physical-name-shadows", "b", 2, "b is the physical name of x")],
        ),
    ],
)
def test_a_name_that_another_column_had_is_a_hazard(
    versions: dict[str, list[dict[str, Any]]], last: int, hazards: list[NameHazard]
) -> None:
    found = lineage("name", last, **{name: tuple(fields) for name, fields in versions.items()})
    assert list(found.hazards) == hazards


def test_columns_stay_the_same_where_a_mapping_is_taken_off() -> None:
    seen = ColumnIdentities()

    def taken(mode: MappingMode, version: int, *fields: dict[str, Any]) -> list[tuple[str, str, str]]:
        known = seen.take(schema(*fields), mode, version)
        assert [each for *_, each in known] == list(schema(*fields).fields)
        return [("/".join(identity), "/".join(path), "/".join(where)) for identity, path, where, _ in known]

    first = [stored("x", 1, "b"), stored("b", 2)]
    assert taken("name", 0, *first) == [("b", "x", "b"), ("c2", "b", "c2")]
    off = [field("x"), field("b"), field("c2"), field("new")]
    assert taken("none", 4, *off) == [
        ("b", "x", "x"),
        ("c2", "b", "b"),
        ("c2/since 4", "c2", "c2"),
        ("new", "new", "new"),
    ]
    again = [stored("y", 3, "x"), stored("b", 4, "b"), stored("z", 5, "c2"), stored("new", 6, "q")]
    assert taken("name", 5, *again) == [
        ("b", "y", "x"),
        ("c2", "b", "b"),
        ("c2/since 4", "z", "c2"),
        ("q", "new", "q"),
    ]
    assert taken("none", 8, field("y"), field("new")) == [("b", "y", "y"), ("q", "new", "new")]
    assert taken("none", 9, field("c2"), field("x")) == [("c2/since 8", "c2", "c2"), ("x", "x", "x")]


def test_a_column_keeps_its_last_id_and_its_newest_path() -> None:
    found = column_lineage(
        [
            (0, schema(field("s", struct(field("in", "long")))), "none"),
            (1, schema(stored("t", 7, "s", struct(stored("out", 8, "in")))), "name"),
            (3, schema(field("t", struct(field("out", "long")))), "none"),
        ],
        3,
    )
    told = [(line.field_id, line.physical_name, line.path, line.dropped_at) for line in found.columns]
    assert told == [(7, "s", ("t",), None), (8, "s.in", ("t", "out"), None)]
    assert [(span.from_version, span.to_version, span.name) for span in found.columns[1].spans] == [
        (0, 0, "s.in"),
        (1, 3, "t.out"),
    ]


Said = tuple[int, str, str, str | None, str | None, bool, str]


def said(found: explorer.Table | Provenance, name: str | None = None) -> list[Said]:
    """The entries: version, kind, name, before, after, whether it is so now, and what it is called now."""
    rows = blame(found.provenance_record() if isinstance(found, explorer.Table) else found, name).to_pylist()
    keys = ("version", "kind", "name", "before", "after", "current", "current_name")
    return [tuple(row[key] for key in keys) for row in rows]


def settings(*fields: dict[str, Any], **properties: str) -> Metadata:
    given = {name.replace("__", "."): value for name, value in properties.items()}
    mode = {"delta.columnMapping.mode": "name"}
    return Metadata(id="t", schema_string=json.dumps(struct(*fields)), configuration=mode | given)


def told(*versions: Metadata | DomainMetadata) -> explorer.Table:
    first, *later = versions
    return table({0: [MAPPED, first], **{version: [each] for version, each in enumerate(later, 1)}})


def test_a_column_is_blamed_by_any_name_that_it_had_and_constraints_that_mention_it_come_along() -> None:
    check = {"delta__constraints__len": "length(`b c`) > 5"}
    found = told(
        settings(stored("a", 1, kind="string", comment="old"), stored("k", 2), note="a"),
        settings(stored("b c", 1, kind="string", comment="new"), stored("k", 2), note="a"),
        settings(stored("b c", 1, kind="string", comment="new"), stored("k", 2), note="b", **check),
        settings(stored("b c", 1, kind="string"), stored("k", 2), note="b", delta__constraints__len="k > 1"),
        settings(stored("b c", 1, kind="string"), stored("k", 2), note="b", delta__constraints__len="k > 2"),
    )
    rows = [
        (3, "comment", "`b c`", "new", None, False, "`b c`"),
        (3, "constraint", "len", "length(`b c`) > 5", "k > 1", False, "len"),
        (2, "constraint", "len", None, "length(`b c`) > 5", False, "len"),
        (1, "name", "`b c`", "a", "`b c`", True, "`b c`"),
        (1, "comment", "`b c`", "old", "new", False, "`b c`"),
        (0, "column", "a", None, "string", True, "`b c`"),
        (0, "comment", "a", None, "old", False, "`b c`"),
    ]
    for name in ("`b c`", "a", " A "):
        assert said(found, name) == rows
    own = [row for row in said(found) if row[1] == "constraint"]
    assert own == [(4, "constraint", "len", "k > 1", "k > 2", True, "len")]
    for name in ("len", "delta.constraints.len", " delta.constraints.LEN"):
        assert [(row[0], row[1]) for row in said(found, name)] == [(v, "constraint") for v in (4, 3, 2)]
    assert said(found, "note") == [
        (2, "property", "note", "a", "b", True, "note"),
        (0, "property", "note", None, "a", False, "note"),
    ]


def test_what_is_now_are_the_last_entries_of_what_is_there() -> None:
    found = told(
        settings(stored("a", 1, "a", comment="first"), stored("k", 2, comment="key"), one="1", two="2"),
        settings(stored("k", 2, comment="key"), one="1"),
        settings(stored("a", 1, "a"), stored("k", 2), one="1", two="3"),
        settings(stored("a", 1, "a", "string"), two="3"),
    )
    assert [row[:2] + row[2:3] for row in said(found) if row[1] not in ("feature", "protocol")] == [
        (3, "type", "a"),
        (2, "column", "a"),
        (2, "property", "two"),
        (0, "property", "delta.columnMapping.mode"),
    ]
    assert {row[5] for row in said(found)} == {True}
    assert [row[0] for row in said(found, "k")] == [3, 2, 0, 0]
    assert [row[5] for row in said(found, "k")] == [False] * 4
    assert [(row[0], row[4], row[5]) for row in said(found, "two")] == [
        (2, "3", True),
        (1, None, False),
        (0, "2", False),
    ]


def test_of_two_things_of_a_name_the_one_that_is_there_is_meant_and_else_the_last() -> None:
    both = told(
        settings(stored("n", 1), stored("k", 9)),
        settings(stored("m", 1), stored("n", 2), stored("k", 9)),
        settings(stored("m", 1), stored("k", 9)),
        settings(stored("n", 1), stored("k", 9)),
        settings(stored("k", 9)),
    )
    assert [row[0] for row in said(both, "n")] == [4, 3, 1, 0]
    there = told(
        settings(stored("n", 1), stored("k", 9)),
        settings(stored("m", 1), stored("n", 2), stored("k", 9)),
        settings(stored("m", 1), stored("k", 9)),
    )
    assert [row[0] for row in said(there, "n")] == [2, 1]
    same = told(settings(stored("k", 9), Team="x", team="y"))
    assert [row[2] for row in said(same, "team")] == ["team"]
    assert [row[2] for row in said(same, "TEAM")] == ["Team", "team"]
    alive = told(settings(stored("K", 9), k="x"), settings(stored("K", 9)))
    assert [row[1] for row in said(alive, "k")] == ["property", "property"]
    spoken = told(
        settings(stored("k", 9, comment="x"), k="x"), settings(stored("k", 9), k="x"), settings(stored("k", 9))
    )
    assert [row[:2] for row in said(spoken, "k")] == [(1, "comment"), (0, "column"), (0, "comment")]
    former = told(
        settings(stored("n", 1)), settings(stored("m", 1), stored("n", 2)), settings(stored("m", 1), stored("o", 2))
    )
    assert [(row[0], row[6]) for row in said(former, "n")] == [(2, "o"), (1, "o")]


def test_a_name_that_nothing_had_is_answered_with_those_near_it_or_the_first() -> None:
    found = told(settings(stored("team1", 1), **{f"Team{number}": "x" for number in range(2, 8)}))
    with pytest.raises(RequestError) as near:
        found.blame("TEAM")
    assert (near.value.found, near.value.nearest) == ("TEAM", [f"Team{number}" for number in range(3, 8)])
    assert str(near.value) == (
        "The log names no column, property, constraint, feature or domain 'TEAM'. The nearest that it has: "
        "Team3, Team4, Team5, Team6, Team7."
    )
    with pytest.raises(RequestError) as far:
        found.blame("qqq")
    assert "'qqq'. Some that it has: team1, " in str(far.value)
    assert far.value.nearest == ["team1", "delta.columnMapping.mode", "Team2", "Team3", "Team4"]
    with pytest.raises(RequestError) as empty:
        said(Provenance([], None, first_readable=0, latest=0), "x")
    assert (str(empty.value), empty.value.nearest, empty.value.found) == (
        "The log names no 'x': it contains no settings.",
        None,
        "x",
    )


def test_entries_say_who_and_why_beside_what() -> None:
    who = commit_info("WRITE", user_name="eva", user_metadata="why", engine_info="e")
    found = table({0: [PROTOCOL, METADATA, add("a")], 1: [who, DomainMetadata(domain="app", configuration="{}")]})
    (row,) = found.blame("App").to_pylist()
    assert list(row) == [*found.settings_history().column_names, "current", "current_name"]
    assert (row["user_name"], row["operation"], row["reason"], row["engine_info"]) == ("eva", "WRITE", "why", "e")
    assert (row["name"], row["current"], row["current_name"]) == ("app", True, "app")
    assert found.blame("id").column("version").to_pylist() == [0]
