"""Which files may hold a matching row, for every comparison of small numbers, beside all rows that a file may have."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.sql.predicates import Unsplittable, parse_predicate
from explorer.core.protocol.statistics.data_skipping import SkippingCounts, answerable, counts_of_rules
from explorer.core.protocol.statistics.skipping_truth import successor
from tests.support.logs.small_logs import MASKED, METADATA, add, metadata, table, vector

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
RANGES = [(low, high) for low in (2, 3, 5) for high in (2, 3, 5) if low <= high]
NULLS = (0, 1)
CONSTANTS = range(1, 7)
ROWS = 9
"""Enough for every value between the bounds, and a null."""


def _snapshot(kind: str, *stats: dict[str, Any] | None, **metadata: Any) -> explorer.Snapshot:
    field = {"name": "i", "type": kind, "nullable": True, "metadata": metadata}
    schema = json.dumps({"type": "struct", "fields": [field, {**field, "name": "j", "metadata": {}}]})
    files = [
        msgspec.structs.replace(add(f"f{place}", None), stats=None if each is None else json.dumps(each))
        for place, each in enumerate(stats)
    ]
    return table({0: [MASKED, Metadata(id="x", schema_string=schema), *files]}).snapshot()


def _stated(low: Any, high: Any, nulls: int | None, **more: Any) -> dict[str, Any]:
    counted = {} if nulls is None else {"nullCount": {"i": nulls}}
    return {"numRecords": ROWS, "minValues": {"i": low}, "maxValues": {"i": high}, **counted, **more}


def _kept(snapshot: explorer.Snapshot, where: str) -> list[bool]:
    kept: list[bool] = snapshot.skipping(where).files.column("kept").to_pylist()
    return kept


FILES = [*itertools.product(RANGES, NULLS)]


@pytest.fixture(scope="module")
def numbers() -> explorer.Snapshot:
    return _snapshot("long", *(_stated(low, high, nulls) for (low, high), nulls in FILES))


def _values(low: int, high: int, nulls: int) -> Iterator[int | None]:
    """Every value that a row may have."""
    yield from range(low, high + 1)
    yield from [None] * nulls


@pytest.mark.parametrize("operator", [*OPERATORS])
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_file_is_kept_exactly_if_a_value_within_its_bounds_matches(
    numbers: explorer.Snapshot, operator: str, constant: int
) -> None:
    matches = OPERATORS[operator]
    for where, negated in ((f"i {operator} {constant}", False), (f"NOT (i {operator} {constant})", True)):
        expected = [
            any(value is not None and matches(value, constant) is not negated for value in _values(low, high, nulls))
            for (low, high), nulls in FILES
        ]
        assert _kept(numbers, where) == expected, where


@pytest.mark.parametrize("constant", CONSTANTS)
def test_the_comparison_that_takes_nulls_for_values_keeps_files_with_them(
    numbers: explorer.Snapshot, constant: int
) -> None:
    for where, negated in ((f"i <=> {constant}", False), (f"NOT (i <=> {constant})", True)):
        expected = [
            any((value == constant) is not negated for value in _values(low, high, nulls))
            for (low, high), nulls in FILES
        ]
        assert _kept(numbers, where) == expected, where


@pytest.mark.parametrize(
    ("where", "of_nulls"),
    [
        ("i IS NULL", {0: False, 1: True, None: True, ROWS: True}),
        ("i IS NOT NULL", {0: True, 1: True, None: True, ROWS: False}),
        ("i <=> NULL", {0: False, 1: True, None: True, ROWS: True}),
        ("NOT (i <=> NULL)", {0: True, 1: True, None: True, ROWS: False}),
        ("NOT (i <=> 3)", {0: False, 1: True, None: True, ROWS: True}),
        ("i = NULL", dict.fromkeys((0, 1, None, ROWS), False)),
        ("NOT i < NULL", dict.fromkeys((0, 1, None, ROWS), False)),
        ("i = 3", {0: True, 1: True, None: True, ROWS: False}),
        ("i <> 3", {0: False, 1: False, None: False, ROWS: False}),
        ("TRUE", dict.fromkeys((0, 1, None, ROWS), True)),
        ("FALSE", dict.fromkeys((0, 1, None, ROWS), False)),
        ("NULL", dict.fromkeys((0, 1, None, ROWS), False)),
        ("NOT TRUE", dict.fromkeys((0, 1, None, ROWS), False)),
        ("NOT FALSE", dict.fromkeys((0, 1, None, ROWS), True)),
        ("NOT NULL", dict.fromkeys((0, 1, None, ROWS), False)),
        ("i LIKE NULL", dict.fromkeys((0, 1, None, ROWS), False)),
    ],
)
def test_nulls_are_kept_as_far_as_they_are_counted(where: str, of_nulls: dict[int | None, bool]) -> None:
    found = _snapshot("long", *(_stated(3, 3, nulls) for nulls in of_nulls))
    assert _kept(found, where) == [*of_nulls.values()]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("i = 2 AND j = 2", False),
        ("i = 3 AND j = 2", True),
        ("i = 2 OR j = 2", True),
        ("i = 2 OR i = 4", False),
        ("NOT (i = 3 AND j = 2)", True),
        ("NOT (i = 3 OR i = 4)", False),
        ("NOT (i = 3 OR j = 4)", False),
        ("NOT (i = 3 AND i = 3)", False),
        ("NOT (i = 2 AND j = 2)", True),
        ("i = 3 AND i + 1 = 2", True),
        ("i = 2 AND i + 1 = 2", False),
        ("NOT (i + 1 = 2) AND i = 3", True),
        ("NOT (i + 1 = 2 OR i = 3)", False),
    ],
)
def test_parts_are_put_together_as_sql_does(where: str, expected: bool) -> None:
    assert _kept(_snapshot("long", _stated(3, 3, 0)), where) == [expected]


@pytest.mark.parametrize(
    ("where", "rules"),
    [
        ("i = 9", ["min/max", "no statistics", "no statistics", "min/max"]),
        ("i = 3", ["may match", "no statistics", "no statistics", "wide bounds"]),
        ("i IS NULL", ["null count", "no statistics", "no statistics", "null count"]),
        ("i IS NOT NULL", ["may match", "no statistics", "no statistics", "wide bounds"]),
        ("NOT (i <=> 3)", ["min/max", "no statistics", "may match", "min/max"]),
        ("i > 3 OR i < 3", ["min/max", "no statistics", "may match", "min/max"]),
        ("i + 1 = 2", ["may match", "may match", "may match", "may match"]),
        ("FALSE", ["partition", "partition", "partition", "partition"]),
    ],
)
def test_a_file_has_the_first_rule_that_applies(where: str, rules: list[str]) -> None:
    """Of what is known, of nothing known, of one bound and no count, and of wide bounds."""
    one = {"numRecords": ROWS, "minValues": {"i": 2}}
    found = _snapshot("long", _stated(3, 3, 0), None, one, _stated(3, 3, 0, tightBounds=False)).skipping(where)
    assert found.files.column("rule").to_pylist() == rules
    dropped = ("no rows", "partition", "null count", "min/max")
    assert found.files.column("kept").to_pylist() == [rule not in dropped for rule in rules]
    assert found.files.column("path").to_pylist() == [f"f{place}" for place in range(4)]
    kept = [rule for rule in rules if rule not in dropped]
    assert (found.counts.total, found.counts.after_statistics) == (4, len(kept))
    assert found.counts.after_partitions == 4 - rules.count("partition")
    assert found.counts.kept_without_statistics == kept.count("no statistics")
    assert found.counts.kept_wide_bounds == kept.count("wide bounds")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("s LIKE 'b%'", [False, True, True, True]),
        ("s LIKE 'bb%'", [False, True, True, False]),
        ("s LIKE 'bb%x'", [False, True, True, False]),
        ("s LIKE '%x'", [True, True, True, True]),
        ("s NOT LIKE 'b%'", [True, False, True, False]),
        ("s NOT LIKE 'b%x'", [True, True, True, True]),
        ("s NOT LIKE '%'", [False, False, False, False]),
        ("s LIKE '\U0010ffff%'", [False, False, False, False]),
        ("s NOT LIKE '\U0010ffff%'", [True, True, True, True]),
        ("s LIKE '\ud7ff%'", [False, False, False, False]),
        ("s LIKE 'c%'", [False, False, True, False]),
    ],
)
def test_a_text_begins_so_as_far_as_bounds_say(where: str, expected: list[bool]) -> None:
    bounds = [("a", "ab"), ("ba", "bc"), ("a", "c"), ("bc", "bd")]
    found = _snapshot("string", *(_stated(low, high, 0) for low, high in bounds))
    assert _kept(found, where.replace("s ", "i ")) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("p LIKE '%t'", [True, False, False, False]),
        ("p NOT LIKE '%t'", [False, True, True, False]),
        ("p LIKE 'w_s%'", [True, False, False, False]),
        ("p LIKE '_'", [False, True, False, False]),
        ("p LIKE '%o%t' OR p LIKE 'n%h'", [False, False, True, False]),
    ],
)
def test_the_value_of_a_partition_is_held_against_the_whole_pattern(where: str, expected: list[bool]) -> None:
    values = ("west", "\U0001f9ed", "nor\nth", None)
    files = [add(f"f{place}", partition_values={"p": value}) for place, value in enumerate(values)]
    found = table({0: [MASKED, metadata({"id": "long", "p": "string"}, ["p"]), *files]}).snapshot()
    assert _kept(found, where) == expected


def test_what_comes_after_a_text_is_a_text_too() -> None:
    """Between U+D7FF and U+E000 there is no character, and after the last one none at all."""
    found = _snapshot(
        "string",
        _stated("\ud7ff", "\ud7ffz", 0),
        _stated("\ue000", "\ue000", 0),
        _stated("\U0010ffff", "\U0010ffffa", 0),
    )
    assert _kept(found, "i LIKE '\ud7ff%'") == [True, False, False]
    assert _kept(found, "i NOT LIKE '\ud7ff%'") == [False, True, True]
    assert _kept(found, "i LIKE '\U0010ffff%'") == [False, False, True]
    assert _kept(found, "i NOT LIKE '\U0010ffff%'") == [True, True, False]
    assert _kept(found, "i LIKE 'a\U0010ffff%'") == [False, False, False]
    assert _kept(found, "i LIKE '\U0010fffe%'") == [False, False, False]


def test_a_text_without_bounds_is_kept_for_lack_of_them() -> None:
    found = _snapshot("string", None, _stated("b", "b", 0)).skipping("i LIKE 'a%'")
    assert found.files.column("rule").to_pylist() == ["no statistics", "min/max"]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_value_that_is_no_number_is_above_all_others(kind: str) -> None:
    found = _snapshot(kind, _stated(1.0, 2.0, 0), _stated(5.0, 5.0, 0))
    for where, expected in {
        "i = 9": [False, False],
        "i < 2": [True, False],
        "i <= 0.5": [False, False],
        "i > 9": [True, True],
        "i >= 9": [True, True],
        "NOT (i = 5)": [True, True],
        "NOT (i < 9)": [True, True],
        "NOT (i <= 9)": [True, True],
        "NOT (i > 0)": [False, False],
        "NOT (i >= 0)": [False, False],
        "NOT (i > 1)": [True, False],
        "NOT (i <=> 5)": [True, True],
        "i <=> 9": [False, False],
    }.items():
        assert _kept(found, where) == expected, where


@pytest.mark.parametrize(
    ("kind", "metadata", "where", "reason"),
    [
        ("binary", {}, "i = 'a'", "a column of type binary has no bounds"),
        ("binary", {}, "i LIKE 'a%'", "a column of type binary has no bounds"),
        ("variant", {}, "i = 1", "a column of type variant has no bounds"),
        ("void", {}, "i = 1", "a column of type void has no bounds"),
        ("string", {"__COLLATIONS": {"i": "icu.de"}}, "i = 'a'", "texts of this column are compared by a collation"),
        (
            "string",
            {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
            "i = 'a'",
            "texts of this column are padded before they are compared",
        ),
        (
            "double",
            {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]},
            "i = 1",
            "older files record its bounds in the fewest digits of a float, which may not enclose the values",
        ),
        ("long", {}, "i LIKE '1%'", "LIKE turns a column of type long into text"),
        ("long", {}, "i = '1'", "comparing type long with '1' needs a conversion"),
    ],
)
def test_why_statistics_cannot_answer_is_told(kind: str, metadata: dict[str, Any], where: str, reason: str) -> None:
    found = _snapshot(kind, None, **metadata)
    assert found.skipping(where).unsplittable == (Unsplittable("i", 0, reason),)
    assert found.skipping("i IS NULL").unsplittable == ()


@pytest.mark.parametrize(
    ("kind", "metadata", "where"),
    [
        ("string", {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}, "i = 'a'"),
        ("double", {"delta.typeChanges": [{"fromType": "integer", "toType": "double"}]}, "i = 1"),
        ("float", {"delta.typeChanges": [{"fromType": "float", "toType": "float"}]}, "i = 1"),
        ("long", {}, "i = NULL"),
    ],
)
def test_what_statistics_can_answer_is_not_told(kind: str, metadata: dict[str, Any], where: str) -> None:
    assert _snapshot(kind, None, **metadata).skipping(where).unsplittable == ()


NESTED = [
    {"name": "Id", "type": "long", "nullable": True, "metadata": {}},
    {"name": "s", "type": {"type": "struct", "fields": [
        {"name": "A", "type": "long", "nullable": True, "metadata": {}},
        {"name": "m", "type": {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
         "nullable": True, "metadata": {}},
    ]}, "nullable": True, "metadata": {}},
    {"name": "two", "type": "long", "nullable": True, "metadata": {}},
    {"name": "TWO", "type": "long", "nullable": True, "metadata": {}},
    {"name": "current_user", "type": "string", "nullable": True, "metadata": {}},
]  # fmt: skip


def _nested() -> explorer.Snapshot:
    schema = json.dumps({"type": "struct", "fields": NESTED})
    return table({0: [MASKED, msgspec.structs.replace(METADATA, schema_string=schema), add("f")]}).snapshot()


@pytest.mark.parametrize(
    ("where", "text", "reason"),
    [
        ("s = 1", "s", "only simple columns have statistics"),
        ("s.m = 1", "s.m", "only simple columns have statistics"),
        ("s.m.x = 1", "s.m.x", "values inside arrays, maps and variants have no statistics"),
        ("two = 1", "two", "more than one column has this name"),
        ("current_date = 1", "current_date", "current_date is a function"),
        ("CURRENT_TIMESTAMP IS NULL", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP is a function"),
    ],
)
def test_a_name_without_statistics_says_why(where: str, text: str, reason: str) -> None:
    found = _nested().skipping(f"NOT ({where}) AND id = 1 OR s.a = 2")
    assert found.unsplittable == (Unsplittable(text, 0, reason),)


def test_a_name_that_the_table_lacks_is_refused_with_those_it_has() -> None:
    for where, name in {"nope = 1": "nope", "s.nope = 1": "s.nope", "current_date.x = 1": "current_date.x"}.items():
        with pytest.raises(RequestError) as error:
            _nested().skipping(where)
        assert error.value.message == f"The table has no column {name}. Columns: Id, s, two, TWO, current_user."
        assert error.value.column == name
    assert _nested().skipping("current_user = 'x'").unsplittable == ()


def test_a_tree_is_answered_as_its_text_is() -> None:
    tree = parse_predicate("TRUE OR i + 1 = 2")
    assert answerable(tree, StructType(), []) == answerable("TRUE OR i + 1 = 2", StructType(), []) == (tree, {})


def test_a_rule_that_no_file_has_counts_none() -> None:
    assert counts_of_rules({}) == SkippingCounts(0, 0, 0, 0, 0)
    assert counts_of_rules({"may match": 3}) == SkippingCounts(3, 3, 3, 0, 0)
    every = ("no rows", "partition", "null count", "min/max", "no statistics", "wide bounds", "may match")
    by_rule = {rule: 10**place for place, rule in enumerate(every)}
    assert counts_of_rules(by_rule) == SkippingCounts(1_111_111, 1_111_100, 1_110_000, 10_000, 100_000)


def test_a_file_without_rows_is_dropped_whatever_is_asked() -> None:
    files = [
        add("none", 0),
        add("masked", 2, vector=vector("v", 2)),
        add("left", 3, vector=vector("w", 2)),
        add("unknown", None, vector=vector("x", 2)),
    ]
    found = table({0: [MASKED, METADATA, *files]}).snapshot().skipping("TRUE")
    assert found.files.column("rule").to_pylist() == ["no rows", "no rows", "may match", "may match"]
    assert (found.counts.total, found.counts.after_partitions, found.counts.after_statistics) == (4, 2, 2)


@pytest.mark.parametrize(
    ("prefix", "after"),
    [
        ("abc", "abd"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff\U0010ffff", None),
        ("", None),
        ("a\ud7ff", "a\ue000"),
        ("a\uffff", "a\U00010000"),
    ],
)
def test_what_is_above_all_texts_that_begin_so_is_a_text(prefix: str, after: str | None) -> None:
    assert successor(prefix) == after
    if after is not None:
        assert prefix.encode() < (prefix + "\U0010ffff" * 3).encode() < after.encode()
