"""Values that the log holds, against conditions that are no equalities: what matches, what does not, what is open."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.auditing.erasure.constants import constants_of
from explorer.auditing.erasure.logged_values import LoggedPlace
from explorer.auditing.erasure.traces import LogTraces, log_traces
from explorer.auditing.erasure.value_conditions import ValueCondition, logged_columns, value_condition
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.times import aware_moment, milliseconds
from tests.support.at_least_one import at_least_one
from tests.support.clients.raw_search import raw_values
from tests.support.logs.small_logs import MASKED, add, metadata, write_log
from tests.support.shared_tables import reference_root

NOW: Final = milliseconds(aware_moment("2026-11-22T10:00:00Z"))
COLUMNS: Final = {
    "id": "long",
    "name": "string",
    "part": "string",
    "born": "date",
    "seen": "timestamp",
    "local": "timestamp_ntz",
    "paid": "decimal(38,2)",
    "rate": "double",
    "flag": "boolean",
}
OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<>": operator.ne,
}
LONG: Final = "ana-maria-" * 6


@pytest.mark.parametrize(
    ("where", "held", "matches"),
    [
        ("id > 120", {"id": (5, 121)}, True),
        ("id > 120", {"id": (5, 120)}, False),
        ("120 < id", {"id": (5, 121)}, True),
        ("id >= 120", {"id": (5, 120)}, True),
        ("id < 5.5", {"id": (5, 7)}, True),
        ("id BETWEEN 5 AND 9", {"id": (4, 10)}, False),
        ("id BETWEEN 5 AND 9", {"id": (4, 9)}, True),
        ("id NOT BETWEEN 5 AND 9", {"id": (5, 9)}, False),
        ("id > 3 AND id IN (1, 7)", {"id": (1, 9)}, False),
        ("id > 3 AND id IN (1, 7)", {"id": (7, 9)}, True),
        ("NOT (id = 1)", {"id": (1, 1)}, False),
        ("name LIKE 'zzz%'", {"name": ("ana", "zoe")}, False),
        ("name LIKE 'zzz%'", {"name": ("ana", "zzzoe")}, True),
        ("name LIKE '%zoe'", {"name": ("ana", "zzoe")}, True),
        ("name LIKE '_na'", {"name": ("anna", "zna")}, True),
        ("name LIKE 'ZZZ%'", {"name": ("ana", "zzzoe")}, False),
        ("name NOT LIKE 'a%'", {"name": ("ana", "anna")}, False),
        ("name > 'zoe'", {"name": ("ana", "zoe")}, False),
        ("name > 'Z'", {"name": ("A", "a")}, True),
        ("name LIKE 'b%'", {"name": (LONG[:32], LONG[:32] + "\U0010ffff")}, False),
        ("name LIKE 'ana%'", {"name": (LONG[:32], LONG[:32] + "\U0010ffff")}, True),
        (f"name LIKE '{LONG}%'", {"name": (LONG[:32], LONG[:32] + "\U0010ffff")}, None),
        (f"name < '{LONG}'", {"name": (LONG[:32], LONG[:32] + "\x7f")}, None),
        ("name LIKE '%maria'", {"name": (LONG[:32], LONG[:32] + "\x7f")}, None),
        ("name LIKE 'ab_'", {"name": ("a", "ab\U0010ffff")}, None),
        ("born > DATE '2000-01-01'", {"born": ("1990-01-01", "2000-01-02")}, True),
        ("born > '2000-01-01'", {"born": ("1990-01-01", "2000-01-01")}, False),
        ("seen >= '2000-01-01 00:00:00Z'", {"seen": ("1990-01-01T00:00:00.000Z", "2000-01-01T00:00:00.000Z")}, None),
        ("seen > '2000-01-01 00:00:00Z'", {"seen": ("1990-01-01T00:00:00.000Z", "2000-01-01T00:00:00.002Z")}, True),
        ("seen > '2000-01-01 00:00:00Z'", {"seen": ("1990-01-01T00:00:00.000Z", "1999-12-31T23:59:59.998Z")}, False),
        ("seen > '2000-01-01 00:00:00'", {"seen": ("1990-01-01T00:00:00.000Z", "1999-12-31T23:59:59.998Z")}, None),
        ("seen > '2000-01-01 00:00:00'", {"seen": ("1990-01-01T00:00:00.000Z", "1999-12-30T23:59:59.998Z")}, False),
        ("seen > '2000-01-01 00:00:00Z'", {"seen": ("1990-01-01T00:00:00.000", "1999-12-31T23:59:59.998")}, None),
        ("local > '2000-01-01'", {"local": ("1990-01-01T00:00:00.000", "1999-12-31T23:59:59.998")}, False),
        ("paid > 0.1", {"paid": (0.05, 0.1)}, False),
        ("paid > 0.1", {"paid": (0.05, 0.11)}, True),
        ("paid > 12345678901234567", {"paid": (0, 12345678901234568.5)}, None),
        ("rate > 1.5", {"rate": (1.0, 1.5)}, False),
        ("rate > 1.5", {"rate": (1.0, "NaN")}, None),
        ("id > 5", {"id": (1, "six")}, None),
        ("part LIKE 'w%st'", {"part": "west"}, True),
        ("part LIKE 'w%st'", {"part": "east"}, False),
        ("part > 'a'", {"part": None}, False),
        ("part > 'a'", {"part": ""}, False),
        # Of a way to meet the whole only what it asks of the one column counts, and it counts alone.
        ("id > 120 AND name LIKE 'z%'", {"id": (1, 5), "name": ("a", "zoe")}, True),
        ("id > 120 AND name LIKE 'z%'", {"id": (1, 5), "name": ("a", "b")}, False),
        ("id > 120 OR name LIKE 'z%'", {"id": (1, 5), "name": ("a", "zoe")}, True),
        ("(id > 120 OR name = 'x') AND id > 10", {"id": (1, 50), "name": ("a", "b")}, True),
        ("NOT (id <= 120 AND name = 'ana')", {"id": (1, 121), "name": ("ana", "ana")}, True),
        ("NOT (id <= 120 OR name = 'ana')", {"id": (1, 5), "name": ("ana", "ana")}, False),
    ],
)
def test_bounds_and_partition_values_are_judged_as_spark_would(
    tmp_path: Path, where: str, held: dict[str, Any], matches: bool | None
) -> None:
    bounds = {name: each for name, each in held.items() if isinstance(each, tuple)}
    values = {name: each for name, each in held.items() if not isinstance(each, tuple)}
    file = add("a.parquet", bounds=bounds, partition_values={"part": "-", **values})
    proof = _found(write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS, ["part"]), file]]), where)
    assert (bool(proof.traces), bool(proof.unanswered)) == (matches is True, matches is None), proof


@pytest.mark.parametrize(
    "where",
    [
        "lower(name) > 'a'",
        "name > 'a' AND length(name) > 3",
        "id + 1 > 3",
        "id > '5'",
        "name > 5",
        "name RLIKE '^z'",
        "name ILIKE 'z%'",
        r"name LIKE 'z\%'",
        "name > 'a' OR part IS NULL",
        "name > 'a' OR flag",
        "name <=> NULL OR id > 3",
        "TRUE OR id > 3",
        "id > part",
        "cast(id AS string) > '5'",
        "current_date > born",
        "nothing > 5",
    ],
)
def test_what_is_more_than_comparisons_with_constants_is_not_taken_apart(tmp_path: Path, where: str) -> None:
    table = explorer.open_table(write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS, ["part"])]]))
    assert isinstance(value_condition(where, table.snapshot(), logged_columns(table)), str)


@pytest.mark.parametrize(
    ("where", "said", "open_"),
    [
        ("id > 120", {"predicate": '["(id#5123L > 120)"]'}, False),
        ("id > 120", {"predicate": '["id#5123L IN (121L,7)"]'}, True),
        ("id < 0", {"predicate": '["id#5123L IN (121,7)"]'}, False),
        ("id < 0", {"predicate": "(id = -7)"}, True),
        ("id > 120", {"mode": "Append", "defaultRetentionMillis": 604800000}, False),
        ("id > 120", {"batch": "500"}, True),
        ("id > 120", {"batch": 500}, True),
        ("name LIKE 'zz%'", {"predicate": '["(name#1 = zzana)"]'}, True),
        ("name LIKE 'zz%'", {"predicate": '["(name#1 = pizzzza)"]'}, False),
        ("name LIKE 'ana m%'", {"predicate": "name = 'ana maria'"}, True),
        ("name LIKE 'o%\"%'", {"predicate": '["(name#1 = o\\"x)"]'}, True),
        ("name LIKE '\u00fc%'", {"predicate": '["(name#1 = \\u00fcber)"]'}, True),
        ("name LIKE '%ria'", {"predicate": f"name IN ({', '.join(map(str, range(300)))}, 'ana maria')"}, True),
        ("name > 'm'", {"predicate": "[]"}, False),
        ("born > '2000-01-01'", {"predicate": '["(born#1 = 2000-01-02)"]'}, True),
        ("born > '2000-01-01'", {"predicate": '["(born#1 = 2000-01-01)"]'}, False),
        ("seen > '2000-01-01'", {"predicate": '["(seen#1 = 2000-01-01 09:00:00)"]'}, True),
        ("seen > '2000-01-01'", {"predicate": '["(seen#1 = 1999-12-29 09:00:00)"]'}, False),
    ],
)
def test_what_a_commit_may_quote_is_open(tmp_path: Path, where: str, said: dict[str, Any], open_: bool) -> None:
    first = [MASKED, metadata(COLUMNS, ["part"]), CommitInfo(operation="DELETE", operation_parameters=said)]
    proof = _found(write_log(tmp_path / "t", [first]), where)
    assert [reason for _, reason in proof.unanswered] == [
        f"commitInfo.operationParameters.{key} may contain a matching value" for key in said if open_
    ]


def test_a_folder_states_a_value_and_the_name_of_a_file_does_not(tmp_path: Path) -> None:
    file = add("part=w%25st/part-00500.parquet", partition_values={"part": "w%st"})
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS, ["part"]), file]])
    assert {trace.what for trace in _found(root, "part > 'w'").traces} == {"partition value", "path"}
    assert _found(root, "part > 'x'") == LogTraces((), 1, ())
    assert _found(root, "id > 120") == LogTraces((), 1, ())


def test_statistics_that_cannot_be_read_are_open(tmp_path: Path) -> None:
    file = json.loads('{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}')
    file["add"]["stats"] = '{"minValues":{"id":500'
    proof = _found(write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS), file]]), "id > 120")
    assert [reason for _, reason in proof.unanswered] == ["add.stats may contain a matching value"]


def test_a_column_that_is_called_stats_is_a_column(tmp_path: Path) -> None:
    root = write_log(tmp_path / "t", [[MASKED, metadata({"stats": "string"}), add("a", bounds={"stats": ("1", "{}")})]])
    assert {trace.what for trace in _found(root, "stats LIKE '{%'").traces} == {"greatest value"}


def test_a_column_of_another_type_before_is_open(tmp_path: Path) -> None:
    commits = [
        [MASKED, metadata({"name": "date"}), add("a", bounds={"name": ("2020-01-01", "2020-01-01")})],
        [metadata({"name": "string"})],
    ]
    proof = _found(write_log(tmp_path / "t", commits), "name > 'zzz'")
    assert {path for path, _ in proof.unanswered} == {f"_delta_log/{0:020}.json"}
    assert not proof.traces


@pytest.mark.parametrize(("before", "open_"), [("float", True), ("integer", False)])
def test_a_float_that_became_a_double_is_open_as_its_digits_are_rounded(
    tmp_path: Path, before: str, open_: bool
) -> None:
    commits = [[MASKED, metadata({"a": before}), add("a", bounds={"a": (0, 0)})], [metadata({"a": "double"})]]
    proof = _found(write_log(tmp_path / "t", commits), "a > 0.1")
    assert (bool(proof.unanswered), proof.traces) == (open_, ())


def test_the_log_may_spell_a_column_in_another_case(tmp_path: Path) -> None:
    file = add("PART=zoe/a", bounds={"ID": (1, 500)}, partition_values={"Part": "zoe"})
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS, ["part"]), file]])
    assert {trace.column for trace in _found(root, "id > 120").traces} == {"ID"}
    assert {trace.what for trace in _found(root, "part > 'z'").traces} == {"path", "partition value"}


@pytest.mark.parametrize("as_struct", [False, True])
def test_checkpoints_are_judged_as_their_commits(tmp_path: Path, as_struct: bool) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": str(as_struct).lower()}
    properties["delta.checkpoint.writeStatsAsJson"] = str(not as_struct).lower()
    bounds = {"id": (1, 500), "name": ("ana", "zoe"), "born": ("1990-01-01", "1991-01-01"), "rate": (0.5, 2.5)}
    file = add("part=x/a.parquet", bounds=bounds, partition_values={"part": "x"})
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS, ["part"], properties), file]])
    table = explorer.open_table(root)
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    for where, what in (
        ("id > 120", {"greatest value"}),
        ("id > 500", set()),
        ("name LIKE '%na'", {"least value"}),
        ("born < '1990-06-01'", {"least value"}),
        ("rate > 2.5", set()),
        ("part >= 'x'", {"partition value", "path"}),
    ):
        proof = _found(root, where)
        assert not proof.unanswered
        assert {trace.what for trace in proof.traces if "checkpoint" in trace.path} == what, where


@pytest.mark.reference
@pytest.mark.parametrize("name", ["append-only", "deletion-vectors", "optimize", "schema-changes", "clustering"])
def test_no_file_of_the_reference_is_judged_otherwise_than_its_least_and_greatest_row(name: str) -> None:
    """The rows are read by PyArrow alone; none of these tables has a text that is cut off."""
    root = reference_root() / "tables" / name
    table = explorer.open_table(root)
    held = [
        (column, place, bound, row)
        for column in table.snapshot().statistics_columns
        if column.type.name in {"integer", "long", "string"}
        for place, bound, row in _extremes(root, column.path)
    ]
    for column, place, bound, row in at_least_one(held):
        for constant in sorted({each for other, _, _, each in held if other == column})[::5]:
            for sign, compared in OPERATORS.items():
                text = f"'{constant}'" if isinstance(constant, str) else str(constant)
                (verdict,) = _condition(table, f"{column.name} {sign} {text}").judged(column.physical, place, [bound])
                assert verdict is compared(row, constant), (column, sign, constant, bound)


def test_what_delta_rs_cuts_off_or_rounds_is_never_judged_wrongly(tmp_path: Path) -> None:
    texts = ["ana", "x" * 70, "\u4e2d" * 30, "\u4e2d" * 20 + "\u4e2e", "\U0001f600" * 20, "z" * 63 + "\u00fc"]
    moments = [datetime(2020, 1, 1, 0, 0, 0, micro, UTC) for micro in (0, 1, 999, 1000, 999_999)]
    for place, text in enumerate(texts):
        row = {"name": [text], "seen": pa.array([moments[place % 5]], pa.timestamp("us", "UTC"))}
        deltalake.write_deltalake(tmp_path / "t", pa.table(row), mode="append")
    table = explorer.open_table(tmp_path / "t")
    for add_ in at_least_one(_adds(tmp_path / "t")):
        (row,) = pq.read_table(tmp_path / "t" / add_["path"]).to_pylist()
        stats = json.loads(add_["stats"])
        bounds: dict[LoggedPlace, Any] = {"least value": stats["minValues"], "greatest value": stats["maxValues"]}
        for column, constants in (("name", [*texts, texts[1][:64], texts[2][:21], "y"]), ("seen", moments)):
            for constant in constants:
                quoted = constant if isinstance(constant, str) else constant.isoformat(" ", "microseconds")
                for sign, compared in OPERATORS.items():
                    condition = _condition(table, f"{column} {sign} '{quoted}'")
                    for end, stated in bounds.items():
                        (verdict,) = condition.judged((column,), end, [stated[column]])
                        assert verdict in {compared(row[column], constant), None}, (row, sign, constant, stats)


def _condition(table: explorer.Table, where: str) -> ValueCondition:
    condition = value_condition(where, table.snapshot(), logged_columns(table))
    assert isinstance(condition, ValueCondition), condition
    return condition


def _found(root: Path, where: str) -> LogTraces:
    table = explorer.open_table(root)
    return log_traces(table, constants_of("id = -1", frozenset()), NOW, condition=_condition(table, where))


def _extremes(root: Path, path: tuple[str, ...]) -> Iterator[tuple[LoggedPlace, Any, Any]]:
    """Each bound of a column in commits, with the least or greatest value of the rows of its file."""
    rows = raw_values(root, path)
    for add_ in _adds(root):
        stats = json.loads(add_.get("stats") or "{}")
        values = [each for each in rows.get(add_["path"], []) if each is not None]
        for place, member, row in (("least value", "minValues", min), ("greatest value", "maxValues", max)):
            bound = stats.get(member)
            for part in path:
                bound = None if bound is None else bound.get(part)
            if bound is not None and values:
                yield place, bound, row(values)  # type: ignore[misc]


def _adds(root: Path) -> Iterator[dict[str, Any]]:
    for commit in sorted((root / "_delta_log").glob("*.json")):
        for line in commit.read_text("utf-8").splitlines():
            if "add" in (action := json.loads(line)):
                yield action["add"]
