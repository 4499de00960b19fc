"""Changes of rows where a small mistake loses or keeps some: far down a file, where a condition is NULL, in dropped
columns, in the feed of an overwrite. What is right is worked out in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.spark.engine.session import engine
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

VECTORS: Final = {"delta.enableDeletionVectors": "true"}
FEED: Final = {"delta.enableChangeDataFeed": "true"}
EDGES: Final = (0, 32_766, 32_767, 32_768, 32_769, 33_998, 33_999)
"""Places beside the ends of bitmaps of 32,768 rows, from which rows that match come."""
FIELDS: Final = [column("id", "long"), column("v", "string")]

Rows = dict[int | None, str | None]


def new_table(folder: Path, rows: Mapping[int | None, str | None], properties: Mapping[str, str]) -> explorer.Table:
    """One file of these rows, in their order."""
    data = pa.table({"id": pa.array(rows, pa.int64()), "v": pa.array(rows.values(), pa.string())})
    features = ["changeDataFeed"] if properties.keys() & FEED.keys() else []
    path = write_table(folder, FIELDS, [DataFile("a.parquet", data)], (), properties, writer_features=features)
    return explorer.open_table(path)


def committed(table: explorer.Table, intent: Mapping[str, Any], rows: pa.Table | None = None) -> list[dict[str, Any]]:
    """Commit an intent; returns the lines of its commit."""
    result = table.commit(table.plan(dict(intent), rows=rows))
    assert result.outcome == "committed", result
    return [dict(line) for line in result.plan.actions]


def contents(table: explorer.Table) -> Counter[tuple[Any, ...]]:
    return counted(table.rows().toArrow())


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(values.to_pylist() for values in rows.columns), strict=True))


def feed(table: explorer.Table, version: int) -> Counter[tuple[Any, ...]]:
    """Each change that a version records: its kind, then the row."""
    return counted(table.changes(version, version).toArrow().select(["_change_type", "id", "v"]))


def _deleted(rows: Rows) -> Rows:
    return {number: value for number, value in rows.items() if number not in EDGES}


def _updated(rows: Rows) -> Rows:
    return {number: "updated" if number - 3 in EDGES else value for number, value in rows.items()}


def _merged(rows: Rows) -> Rows:
    """Of the rows that match, those with an even number go and the others change."""
    after = {number: "merged" if number + 6 in EDGES else value for number, value in rows.items()}
    return {number: value for number, value in after.items() if value != "merged" or number % 2}


BESIDE_EDGES: Final = {
    "kind": "merge",
    "source": "",
    "on": "target.id = source.edge - 6",
    "matched": [{"when": "target.id % 2 = 0", "delete": True}, {"update": {"v": "'merged'"}}],
}


@pytest.mark.whole("the case rewrites", cases=["masks"])
@pytest.mark.conformance("DV-022", "DV-024")
@pytest.mark.parametrize("properties", [VECTORS, {}], ids=["masks", "rewrites"])
def test_rows_at_any_place_of_a_long_file_are_those_that_change(tmp_path: Path, properties: dict[str, str]) -> None:
    rows: Rows = dict.fromkeys(range(34_000), "as it was")
    table = new_table(tmp_path / "t", rows, properties)
    source = pa.table({"edge": pa.array(EDGES, pa.int64())})
    committed(table, {"kind": "delete", "where": f"id IN {EDGES}"})
    rows = _deleted(rows)
    assert contents(table) == Counter(rows.items())
    committed(table, {"kind": "update", "where": f"id - 3 IN {EDGES}", "set": {"v": "'updated'"}})
    rows = _updated(rows)
    assert contents(table) == Counter(rows.items())
    committed(table, BESIDE_EDGES, source)
    assert contents(table) == Counter(_merged(rows).items())


NULLS: Final[Rows] = {1: "a", 2: None, 3: "b", None: "c", 5: "d", 6: None}
MERGE_NULLS: Final = {
    "kind": "merge",
    "source": "",
    "on": "target.id <=> source.id",
    "matched": [{"when": "target.v = 'a'", "delete": True}, {"when": "target.id < 5", "update": {"v": "'x'"}}],
    "notMatched": [{"when": "source.id > 7", "insert": {"id": "source.id"}}],
    "notMatchedBySource": [{"when": "target.v <> 'z'", "delete": True}],
}


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize(
    ("properties", "intent", "given", "after"),
    [
        (FEED, {"kind": "delete", "where": "v < 'c'"}, None, {2: None, None: "c", 5: "d", 6: None}),
        ({}, {"kind": "delete", "where": "NOT (id > 2)"}, None, {3: "b", None: "c", 5: "d", 6: None}),
        (
            FEED,
            {"kind": "update", "where": "id < 5", "set": {"v": "'x'"}},
            None,
            {1: "x", 2: "x", 3: "x", None: "c", 5: "d", 6: None},
        ),
        (
            FEED,
            {"kind": "overwrite", "source": "", "where": "id < 3"},
            [0],
            {0: None, 3: "b", None: "c", 5: "d", 6: None},
        ),
        # 1 goes, 2 changes, and the row without an id meets no condition; no row of the source matches 3, 5 and 6, and
        # of 6 it is not known whether it is to go; 7 matches nothing, and does not come.
        *(
            (properties, MERGE_NULLS, [1, 2, None, 7, 8, 9], {2: "x", None: "c", 6: None, 8: None, 9: None})
            for properties in (FEED, VECTORS)
        ),
    ],
    ids=["delete", "delete by a negation", "update", "overwrite", "merge", "merge that masks"],
)
def test_a_row_for_which_a_condition_is_null_stays_as_it_is(
    tmp_path: Path, properties: dict[str, str], intent: dict[str, Any], given: list[int | None] | None, after: Rows
) -> None:
    table = new_table(tmp_path / "t", NULLS, properties)
    committed(table, intent, None if given is None else pa.table({"id": pa.array(given, pa.int64())}))
    assert contents(table) == Counter(after.items())
    if properties is FEED:
        assert followed(Counter(NULLS.items()), feed(table, 1)) == contents(table)


def followed(before: Counter[tuple[Any, ...]], changes: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """The rows that a consumer of the feed has, who had these before."""
    rows = Counter(before)
    for (kind, *row), count in at_least_one(changes.items()):
        rows[tuple(row)] += count if kind in ("insert", "update_postimage") else -count
    assert min(rows.values()) >= 0, "only rows that were there go"
    return +rows


TAKE_ALL: Final = {
    "kind": "merge",
    "on": "target.id = source.id",
    "matched": [{"update": {"v": "source.v"}}],
    "notMatched": [{"insert": "*"}],
}


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("by_name", [True, False], ids=["a file", "a frame over the file"])
def test_a_merge_whose_source_changed_since_the_plan_is_not_committed(tmp_path: Path, by_name: bool) -> None:
    """The file by its size and time, where as many rows match as before; a frame, which has no file, by its rows."""
    table = new_table(tmp_path / "t", NULLS, VECTORS)
    source = tmp_path / "rows.parquet"

    def given(ids: tuple[int, ...], value: str) -> None:
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "v": [value] * len(ids)}), source)

    given((1, 2, 9), "first")
    rows = None if by_name else engine().session().read.parquet(str(source))
    plan = table.plan(TAKE_ALL | {"source": str(source) if by_name else ""}, rows=rows)
    assert plan.committable
    given((1, 2, 9) if by_name else (1, 3, 9), "later")
    if rows is not None:
        engine().session().catalog.refreshByPath(str(source))
    result = table.commit(plan)
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["source-unchanged"]
    assert (table.latest_version(), contents(table)) == (0, Counter(NULLS.items()))
    assert sorted(path.name for path in (tmp_path / "t").glob("*.parquet")) == ["a.parquet"], "nothing is left"


@pytest.mark.conformance("CDF-001", "CDF-005")
@pytest.mark.parametrize("properties", [FEED, FEED | VECTORS], ids=["rewrites", "masks"])
def test_the_feed_of_an_overwrite_has_every_row_that_went_and_every_row_that_came(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    """One file loses all of its rows, one loses some, one none; a row that comes equals one that goes."""
    files = [
        DataFile(name, pa.table({"id": pa.array(ids, pa.int64()), "v": [f"v{number}" for number in ids]}))
        for name, ids in (("all", (1, 2)), ("some", (3, 10)), ("none", (11, 12)))
    ]
    path = write_table(tmp_path / "t", FIELDS, files, (), properties, writer_features=["changeDataFeed"])
    table = explorer.open_table(path)
    given = pa.table({"id": pa.array([2, 4, 4], pa.int64()), "v": ["v2", "new", "new"]})
    lines = committed(table, {"kind": "overwrite", "source": "", "where": "id < 5"}, given)
    kept = [(number, f"v{number}") for number in (10, 11, 12)]
    assert contents(table) == Counter([*kept, (2, "v2"), (4, "new"), (4, "new")])
    assert feed(table, 1) == Counter(
        [
            *(("delete", number, f"v{number}") for number in (1, 2, 3)),
            ("insert", 2, "v2"),
            *[("insert", 4, "new")] * 2,
        ]
    )
    assert sorted(line["remove"]["path"] for line in lines if "remove" in line) == ["all", "some"]
    assert any("cdc" in line for line in lines) == (properties == FEED)


@pytest.mark.whole("the case of columns by id", cases=["name"])
@pytest.mark.conformance("CM-007", "CM-010")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_purge_under_a_condition_takes_dropped_columns_from_the_files_of_matching_rows_alone(
    tmp_path: Path, mode: str
) -> None:
    """Files that hold a dropped column, and files that mask a row; of each kind some with a row that matches."""

    def mapped(name: str, kind: str, number: int) -> dict[str, Any]:
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return column(name, kind, **metadata)

    def file(name: str, ids: list[int], *, dropped: bool, masked: tuple[int, ...] = ()) -> DataFile:
        fields = [("col-1", pa.int64()), ("col-2", pa.string()), *([("col-3", pa.string())] if dropped else [])]
        schema = pa.schema([pa.field(key, kind, metadata={"PARQUET:field_id": key[-1]}) for key, kind in fields])
        values = [pa.array(ids), *[[f"v{number}" for number in ids]] * (len(fields) - 1)]
        return DataFile(name, pa.table(values, schema), masked=masked)

    files = [
        file("dropped-matches", [1, 2], dropped=True),
        file("dropped-its-masked-row-matches", [3, 1], dropped=True, masked=(1,)),
        file("dropped-no-match", [4], dropped=True),
        file("masked-its-masked-row-matches", [5, 1], dropped=False, masked=(1,)),
        file("masked-its-live-row-matches", [1, 6], dropped=False, masked=(1,)),
        file("nothing-to-purge-matches", [1], dropped=False),
    ]
    mapping = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "3"}
    path = write_table(tmp_path / "t", [mapped("id", "long", 1), mapped("v", "string", 2)], files, (), mapping)
    table = explorer.open_table(path)
    before = contents(table)
    for where, wanted in (("id = 1", files[:2] + files[3:4]), (None, [files[2], files[4]])):
        intent = {"kind": "purge"} | ({} if where is None else {"where": where})
        (told,) = [guard for guard in table.plan(intent).guards if guard.name == "masked-rows-found"]
        assert told.evidence["filesWithDroppedColumns"] == sum(each.rows.num_columns == 3 for each in wanted)
        lines = committed(table, intent)
        removed = sorted(line["remove"]["path"] for line in lines if "remove" in line)
        assert removed == sorted(each.path for each in wanted), where
        assert contents(table) == before
    assert not table.plan({"kind": "purge"}).committable


@pytest.mark.conformance("FILE-007")
@pytest.mark.parametrize(
    "intent",
    [{"kind": "optimize"}, {"kind": "optimize", "zOrderBy": ["id"]}, {"kind": "purge"}],
    ids=["optimize", "z-order", "purge"],
)
def test_rows_of_files_that_go_without_a_change_of_data_are_in_files_of_the_same_commit(
    tmp_path: Path, intent: dict[str, Any]
) -> None:
    """Read from the files themselves, by PyArrow, less what the vectors of their removals hide."""
    folder = tmp_path / "t"
    files = [
        DataFile(
            f"{first}", pa.table({"id": pa.array([first, first, first + 1]), "v": ["a", None, "b"]}), masked=masked
        )
        for first, masked in ((10, [0]), (20, [2]), (30, ()), (40, [0, 1, 2]))
    ]
    table = explorer.open_table(write_table(folder, FIELDS, files, (), VECTORS))
    masked = {each.path: each.masked for each in files}
    lines = committed(table, intent)
    gone, came = ([line[kind] for line in lines if kind in line] for kind in ("remove", "add"))
    assert {action["dataChange"] for action in at_least_one([*gone, *came])} == {False}
    rows = {kind: Counter[tuple[Any, ...]]() for kind in ("gone", "came")}
    for action in at_least_one(gone):
        data = pq.read_table(folder / action["path"])
        hidden = masked[action["path"]]
        rows["gone"] += counted(data.filter([place not in hidden for place in range(data.num_rows)]))
        vector = action.get("deletionVector")
        assert (0 if vector is None else vector["cardinality"]) == len(hidden), "the removal is of the file as it was"
    for action in at_least_one(came):
        assert "deletionVector" not in action
        rows["came"] += counted(pq.read_table(folder / action["path"]))
    assert rows["came"] == rows["gone"]
    assert len(rows["gone"]) >= 2
