"""Plans that drop or rename a column say which values go, and what else names the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.protocol.actions import Add, Metadata
from explorer.core.transaction.proposal import GuardResult
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, commit_info
from tests.support.logs.small_schemas import MAPPED, NAME, field, mapped, struct

KIND = struct(field("id", "long"), field("day", "date"), field("s", struct(field("x"), field("y"))))


def described(**properties: str) -> Metadata:
    text = msgspec.json.encode(mapped(KIND)).decode()
    return msgspec.structs.replace(
        small_logs.METADATA,
        schema_string=text,
        configuration={**NAME, "delta.columnMapping.maxColumnId": "9", **properties},
    )


def made(folder: Path, *commits: list[Any], files: tuple[Add, ...] = (), **properties: str) -> explorer.Table:
    first = [commit_info("CREATE TABLE"), MAPPED, described(**properties), *files]
    return explorer.open_table(small_logs.write_log(folder / "t", [first, *commits]))


def guard(table: explorer.Table, name: str, **intent: Any) -> GuardResult:
    (found,) = (each for each in table.plan(intent).guards if each.name == name)
    return found


def dropped(table: explorer.Table, name: str, *columns: str) -> GuardResult:
    return guard(table, name, kind="drop-columns", columns=list(columns))


def statistics(records: int, **nulls: int) -> str:
    counts = {f"col-{number}": count for number, count in ((1, nulls.get("id")), (2, nulls.get("day")))}
    known = {name: count for name, count in counts.items() if count is not None}
    return msgspec.json.encode({"numRecords": records, "nullCount": known}).decode()


@pytest.mark.parametrize(
    ("files", "columns", "status", "detail"),
    [
        ((), ("day",), "pass", "No row has a value in the column."),
        (({"numRecords": 5, "day": 5},), ("day",), "pass", "No row has a value in the column."),
        (
            ({"numRecords": 5, "day": 4}, {"numRecords": 3, "day": 3}), ("day",), "warn",
            "Readers lose the values of day in 1 row. The files keep them until they are rewritten.",
        ),
        (
            ({"numRecords": 5, "day": 1, "id": 5}, {"numRecords": 3, "day": 1, "id": 3}), ("id", "day"), "warn",
            "Readers lose the values of day in 6 rows. The files keep them until they are rewritten.",
        ),
        (
            ({"numRecords": 1_500},), ("day",), "warn",
            "Readers lose the values of day in up to 1,500 rows. The files keep them until they are rewritten.",
        ),
        (
            ({},), ("s.x",), "warn",
            ("Readers lose the values of s.x in an unknown number of rows. The files keep them until they are "
             "rewritten."),
        ),
    ],
)  # fmt: skip
def test_values_that_go_with_a_column_are_counted(
    tmp_path: Path, files: tuple[dict[str, int], ...], columns: tuple[str, ...], status: str, detail: str
) -> None:
    adds = []
    for place, known in enumerate(files):
        nulls = {name: count for name, count in known.items() if name != "numRecords"}
        stats = statistics(known["numRecords"], **nulls) if known else None
        adds.append(msgspec.structs.replace(add(f"{place}", None), stats=stats))
    found = dropped(made(tmp_path, files=tuple(adds)), "values-dropped", *columns)
    assert (found.status, found.evidence["detail"]) == (status, detail)


SPELLINGS = [
    '["(day#239 > 5)"]',
    '["((spark_catalog.delta.`/tmp/a b`.day IN (0, 9)) AND true)"]',
    "(oldData.`day` = newData.`day`)",
    "day > DATE '2020-01-01'",
    "[\"(('DAY <=> cast(1 as int)) OR ('DAY <=> cast(0 as int)))\"]",
]
OTHERS = ['["(today#239 > 5)"]', "day2 > 5", "id = 'day'", "days(id) > 1", "[]", '["true"]']


@pytest.mark.parametrize("text", SPELLINGS)
@pytest.mark.parametrize(
    "intent",
    [{"kind": "drop-columns", "columns": ["day"]}, {"kind": "rename-column", "column": "day", "to": "date"}],
    ids=["drop", "rename"],
)
def test_a_commit_whose_predicate_names_the_column_is_warned_of(
    tmp_path: Path, text: str, intent: dict[str, Any]
) -> None:
    named = [commit_info("DELETE", operation_parameters={"predicate": text})]
    table = made(tmp_path, named, [commit_info("WRITE", operation_parameters={"mode": "Append"})])
    found = guard(table, "named-elsewhere", **intent)
    assert (found.status, found.evidence["numCommits"]) == ("warn", 1)
    assert str(found.evidence["detail"]).startswith("1 earlier commit names day, such as v1 DELETE with predicate ")
    assert found.remedy


@pytest.mark.parametrize("text", OTHERS)
def test_a_predicate_that_does_not_name_the_column_is_none(tmp_path: Path, text: str) -> None:
    table = made(tmp_path, [commit_info("DELETE", operation_parameters={"predicate": text})])
    found = dropped(table, "named-elsewhere", "day")
    assert (found.status, found.evidence["numCommits"]) == ("pass", 0)


def test_merges_orders_and_nested_columns_are_counted_by_commit(tmp_path: Path) -> None:
    merge = {"predicate": '["(id#1 = id#2)"]', "matchedPredicates": '[{"predicate":"s.x > 1","actionType":"update"}]'}
    order = {"predicate": "[]", "zOrderBy": '["s.x"]'}
    whole = {"predicate": '["(s#4 IS NULL)"]'}
    other = {"predicate": '["(s#4.y = 1)"]'}
    steps = [("MERGE", merge), ("OPTIMIZE", order), ("DELETE", whole), ("UPDATE", other)]
    table = made(tmp_path, *([commit_info(name, operation_parameters=given)] for name, given in steps))
    found = dropped(table, "named-elsewhere", "s.x")
    assert found.evidence["detail"] == (
        '3 earlier commits name s.x, such as v3 DELETE with predicate ["(s#4 IS NULL)"].'
    )
    assert [each["version"] for each in found.evidence["commits"]] == [1, 2, 3]  # type: ignore[attr-defined]


def test_a_setting_of_statistics_that_names_the_column_is_said(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.dataSkippingStatsColumns": "id,`day`"})
    taken = dropped(table, "named-elsewhere", "day")
    renamed = guard(table, "named-elsewhere", kind="rename-column", column="DAY", to="date")
    key = "delta.dataSkippingStatsColumns names it;"
    assert taken.evidence["detail"] == f"{key} the commit takes the column out of it."
    assert renamed.evidence["detail"] == f"{key} the commit writes the new name into it."
    assert {taken.status, renamed.status} == {"warn"}
    assert dropped(table, "named-elsewhere", "s").status == "pass"
