"""Which file a condition drops, by which rule; and what of a condition statistics cannot answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Add, Metadata
from tests.support.logs.small_logs import MASKED, METADATA, add, table, vector

FIELDS = {
    "id": "long",
    "f": "float",
    "s": "string",
    "t": "timestamp",
    "w": "timestamp_ntz",
    "d": "date",
    "n": "decimal(5,2)",
    "b": "boolean",
    "x": "binary",
    "v": "variant",
    "p": "string",
    "a": {"type": "array", "elementType": "long", "containsNull": True},
}


def snapshot(*stats: dict[str, object] | None, partitions: tuple[str | None, ...] = ()) -> explorer.Snapshot:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in FIELDS.items()]
    schema = json.dumps({"type": "struct", "fields": fields})
    values = [*partitions, *["x"] * len(stats)]
    adds = [
        Add(
            path=f"f{row}",
            size=1,
            modification_time=1,
            partition_values={"p": values[row]},
            stats=None if each is None else json.dumps(each),
        )
        for row, each in enumerate(stats)
    ]
    return table({0: [MASKED, Metadata(id="x", schema_string=schema, partition_columns=("p",)), *adds]}).snapshot()


def bounds(column: str, low: object, high: object, nulls: int = 0, **more: object) -> dict[str, object]:
    return {
        "numRecords": 4,
        "minValues": {column: low},
        "maxValues": {column: high},
        "nullCount": {column: nulls},
        **more,
    }


def kept(found: explorer.Snapshot, where: str) -> list[bool]:
    kept: list[bool] = found.skipping(where).files.column("kept").to_pylist()
    return kept


def test_each_rule_is_named_and_counted() -> None:
    found = snapshot(
        bounds("id", 1, 5),
        bounds("id", 6, 9),
        bounds("id", 6, 9, tightBounds=False),
        {"numRecords": 4, "nullCount": {"id": 4}},
        None,
        bounds("id", 6, 9),
        {"numRecords": 0},
        partitions=("x", "x", "x", "x", "x", "y"),
    )
    result = found.skipping("id > 5 AND p = 'x' AND upper(s) = 'A'")
    assert result.files.column("rule").to_pylist() == [
        "min/max",
        "may match",
        "wide bounds",
        "null count",
        "no statistics",
        "partition",
        "no rows",
    ]
    counts = result.counts
    assert (counts.total, counts.after_partitions, counts.after_statistics) == (7, 5, 3)
    assert (counts.kept_without_statistics, counts.kept_wide_bounds) == (1, 1)
    assert [(part.text, part.position) for part in result.unsplittable] == [("upper(s) = 'A'", 24)]


@pytest.mark.conformance("STATS-011")
def test_the_greatest_time_is_raised_by_a_millisecond() -> None:
    found = snapshot(bounds("t", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.123Z"))
    assert kept(found, "t > TIMESTAMP '2026-01-01 00:00:01.123'") == [True]
    assert kept(found, "t >= TIMESTAMP '2026-01-01 00:00:01.123999Z'") == [True]
    assert kept(found, "t > '2026-01-01T01:00:01.124+01:00'") == [False]


@pytest.mark.conformance("STATS-011")
def test_the_greatest_wall_clock_time_is_raised_by_a_millisecond_too() -> None:
    found = snapshot(bounds("w", "2026-01-01T00:00:00.000", "2026-01-01T00:00:01.123"))
    assert kept(found, "w > TIMESTAMP_NTZ '2026-01-01 00:00:01.123'") == [True]
    assert kept(found, "w >= TIMESTAMP_NTZ '2026-01-01 00:00:01.123999'") == [True]
    assert kept(found, "w > TIMESTAMP_NTZ '2026-01-01 00:00:01.124'") == [False]


@pytest.mark.conformance("STATS-005")
def test_wide_bounds_leave_out_what_tight_ones_do() -> None:
    found = snapshot(*(bounds("id", 3, 5, tightBounds=tight) for tight in (True, False)))
    assert kept(found, "id = 2 OR id > 5") == [False, False]
    assert kept(found, "id = 3") == [True, True]


@pytest.mark.conformance("STATS-008")
def test_bounds_say_nothing_of_a_column_whose_rows_are_all_null() -> None:
    found = snapshot(*(bounds("id", 5, 5, 4, tightBounds=tight) for tight in (True, False)))
    assert kept(found, "id IS NULL") == [True, True]
    assert kept(found, "NOT (id <=> 5)") == [True, True]
    assert kept(found, "id = 5") == [False, False]


@pytest.mark.conformance("STATS-007", "STATS-008")
def test_a_null_count_says_something_only_where_it_is_none_or_all() -> None:
    found = snapshot(*({"numRecords": 4, "nullCount": {"id": nulls}, "tightBounds": False} for nulls in (0, 2, 4)))
    assert kept(found, "id IS NULL") == [False, True, True]
    assert kept(found, "id IS NOT NULL") == [True, True, False]
    assert kept(found, "id <> 5") == [True, True, False]
    assert kept(found, "NOT (id <=> 5)") == [True, True, True]
    assert kept(found, "id = NULL OR NOT id = NULL") == [False, False, False]


@pytest.mark.conformance("STATS-003")
def test_a_file_whose_rows_are_all_masked_holds_none() -> None:
    masked = Add(path="f", size=1, modification_time=1, stats='{"numRecords":3}', deletion_vector=vector("v", 3))
    metadata = Metadata(id="x", schema_string='{"type":"struct","fields":[{"name":"id","type":"long"}]}')
    result = table({0: [MASKED, metadata, masked]}).snapshot().skipping("id = 1")
    assert result.files.column("rule").to_pylist() == ["no rows"]


@pytest.mark.conformance("STATS-003")
def test_rows_of_files_and_masked_rows_are_counted_apart() -> None:
    files = (add("a", 5, vector=vector("v", 2)), add("b", 7), add("c", 4, vector=vector("w", 4)))
    found = table({0: [MASKED, METADATA, *files]}).snapshot()
    assert (found.num_records, found.num_deleted_records) == (5 + 7 + 4, 2 + 4)
    listed = found.files(["path", "num_records", "dv_cardinality"]).to_pylist()
    counts = {row["path"]: (row["num_records"], row["dv_cardinality"]) for row in listed}
    assert counts == {"a": (5, 2), "b": (7, None), "c": (4, 4)}
    rules = found.skipping("id = 1").files
    assert dict(zip(rules["path"].to_pylist(), rules["kept"].to_pylist(), strict=True)) == {
        "a": True,
        "b": True,
        "c": False,
    }


def test_texts_are_compared_by_their_bytes_and_by_prefix() -> None:
    found = snapshot(bounds("s", "abc", "abd\U0010ffff"))
    for where, expected in {
        "s = 'abd\U0001f600x'": True,
        "s = 'abe'": False,
        "s > 'abe'": False,
        "s < 'abc'": False,
        "s LIKE 'ab%'": True,
        "s LIKE 'abd%x'": True,
        "s LIKE 'b%'": False,
        "s LIKE 'aa%'": False,
        "s NOT LIKE 'ab%'": False,
        "s NOT LIKE 'abc%'": True,
        "s NOT LIKE 'ab%c'": True,
        "s LIKE '%'": True,
        "s NOT LIKE '%'": False,
    }.items():
        assert kept(found, where) == [expected], where


def test_numbers_are_compared_exactly() -> None:
    found = snapshot(bounds("id", 9007199254740993, 9007199254740993), bounds("n", "1.00", "1.10"))
    assert kept(found, "id = 9007199254740992") == [False, True]
    assert kept(found, "id > 9007199254740992.5") == [True, True]
    assert kept(found, "id <= 9007199254740992.5") == [False, True]
    assert kept(found, "id < 99999999999999999999999") == [True, True]
    assert kept(found, "id > 99999999999999999999999") == [False, True]
    assert kept(found, "n > 1.1") == [True, False]
    assert kept(found, "n = 1.095") == [True, True]
    assert kept(found, "n = 1.105") == [True, False]
    assert kept(found, "n > 12345.678") == [True, False]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("id = 1e3", "conversion"),
        ("id = '1'", "conversion"),
        ("s = 1", "conversion"),
        ("f = 16777217", "conversion"),
        ("d = timestamp '2020-01-01'", "conversion"),
        ("x = 'a'", "no bounds"),
        ("v = 1", "no bounds"),
        ("id LIKE '1%'", "into text"),
        ("a = 1", "simple columns"),
        ("a.element = 1", "inside arrays"),
        ("id + 1 = 2", "a column with plain constants"),
        ("id = id", "a column with plain constants"),
        ("current_date = DATE '2020-01-01'", "function"),
        ("s = 'it''s'", "a column with plain constants"),
        ("(id, s) IN ((1, 'a'))", "a column with plain constants"),
        ("id BETWEEN 1 AND id", "a column with plain constants"),
    ],
)
def test_what_statistics_cannot_answer_keeps_files_and_is_listed(where: str, reason: str) -> None:
    found = snapshot(bounds("id", 5, 5), bounds("d", "2020-01-01", "2020-01-01"))
    result = found.skipping(f"{where} AND d = '2021-01-01'")
    assert result.files.column("kept").to_pylist() == [True, False]
    assert len(result.unsplittable) == 1
    assert reason in result.unsplittable[0].reason


@pytest.mark.parametrize(
    ("where", "character"),
    [
        ("", 1),
        ("id =", 5),
        ("id = 1 AND", 11),
        ("(id = 1", 8),
        ("id = 1)", 7),
        ("s = 'a", 5),
        ("id = 1 OR OR s", 11),
        ("`id = 1", 1),
    ],
)
def test_what_is_no_condition_is_refused_at_its_character(where: str, character: int) -> None:
    found = snapshot(bounds("id", 5, 5))
    with pytest.raises(RequestError, match=f"character {character}:"):
        found.skipping(where)


@pytest.mark.parametrize(
    "where", ["nope = 1", "id = 1 OR nope.x IS NULL", "(" * 5_000 + "id = 1" + ")" * 5_000, "id " * 50_000]
)
def test_unknown_columns_and_excess_are_refused(where: str) -> None:
    with pytest.raises(RequestError):
        snapshot(bounds("id", 5, 5)).skipping(where)


@pytest.mark.conformance("STATS-016")
@pytest.mark.parametrize("where", [None, 3])
def test_what_is_neither_text_nor_parsed_is_refused(where: Any) -> None:
    with pytest.raises(RequestError) as refused:
        snapshot(None).skipping(where)
    told = {
        "error": "RequestError",
        "message": f"{where!r} is not a condition. Enter a SQL expression such as amount > 0.",
    }
    assert refused.value.facts().items() >= (told | {"field": "where", "found": repr(where)}).items()


def test_a_nan_bound_keeps_the_file() -> None:
    found = snapshot(bounds("f", 1.0, "NaN"), bounds("f", "NaN", "NaN"), bounds("f", 3.0, 1.0))
    assert kept(found, "f > 100") == [True, True, True]
    assert kept(found, "f < 0") == [False, True, True]


@pytest.mark.conformance("SCHEMA-010")
def test_names_are_found_in_any_case_and_in_backticks() -> None:
    assert kept(snapshot(bounds("id", 5, 5)), "`ID` = 6 or Id = 7") == [False]


def test_the_overlap_of_ranges_is_the_depth_at_their_least_values() -> None:
    ranges = [(1, 3), (2, 4), (3, 5), (10, 11)]
    found = snapshot(
        *(bounds("id", low, high) for low, high in ranges), None, {"numRecords": 1, "nullCount": {"id": 1}}
    )
    overlap = found.overlap("id")
    assert (overlap.files, overlap.unbounded, overlap.average, overlap.greatest) == (4, 1, (1 + 2 + 3 + 1) / 4, 3)
    assert snapshot(bounds("s", "a", "b"), bounds("s", "c", "d")).overlap("s").average == 1.0
    assert snapshot(None).overlap("id").greatest is None
