"""How far the ranges of files overlap, and what conditions would read if rows lay in another order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.protocol.statistics.clustering_estimate import ClusteringEstimate, Overlap
from tests.support.logs.small_logs import MASKED, Line, add, metadata, table, vector

KINDS = {"id": "long", "ratio": "double", "price": "decimal(10,2)", "code": "string", "day": "date", "raw": "binary"}


def snapshot(*files: Line, partitions: tuple[str, ...] = ()) -> explorer.Snapshot:
    kinds = KINDS | dict.fromkeys(partitions, "string")
    return table({0: [MASKED, metadata(kinds, partitions), *files]}).snapshot()


def bare(path: str, records: int, **members: Any) -> Line:
    told = json.dumps({"numRecords": records, **members})
    return {
        "add": {
            "path": path,
            "partitionValues": {},
            "size": 100,
            "modificationTime": 1,
            "dataChange": True,
            "stats": told,
        }
    }


@pytest.mark.parametrize(
    ("column", "bounds", "overlap"),
    [
        ("id", [(1, 3), (3, 5), (6, 7)], Overlap(3, 0, 4 / 3, 2)),
        ("id", [(1, 3), (4, 5)], Overlap(2, 0, 1.0, 1)),
        ("id", [(1, 9), (1, 9), (2, 2), None], Overlap(3, 1, 7 / 3, 3)),
        ("id", [(5, 5)], Overlap(1, 0, 1.0, 1)),
        ("code", [("a", "c"), ("c", "d"), ("ca", "cb"), ("b", "b"), None, None], Overlap(4, 2, 7 / 4, 2)),
        ("price", [("1.5", "2"), ("1.50", "1.50"), ("2.00", "10")], Overlap(3, 0, 2.0, 2)),
        ("id", [None, None], Overlap(0, 2, None, None)),
        ("raw", [("a", "b")], Overlap(0, 1, None, None)),
        ("id", [], Overlap(0, 0, None, None)),
    ],
)
def test_ranges_overlap_as_deep_as_files_hold_a_least_value(
    column: str, bounds: list[tuple[Any, Any] | None], overlap: Overlap
) -> None:
    files = [add(f"f{place}", bounds=None if each is None else {column: each}) for place, each in enumerate(bounds)]
    found = snapshot(*files).overlap(column)
    assert found == overlap
    assert (type(found.average), type(found.greatest)) == (type(overlap.average), type(overlap.greatest))


def test_files_with_nothing_but_nulls_overlap_nothing() -> None:
    nulls, half = bare("n", 3, nullCount={"id": 3}), bare("h", 3, nullCount={"id": 1}, minValues={"id": 4})
    assert snapshot(nulls).overlap("id") == Overlap(0, 0, None, None)
    assert snapshot(nulls, half, add("a", bounds={"id": (1, 2)})).overlap("id") == Overlap(1, 1, 1.0, 1)


def estimate(found: explorer.Snapshot, where: str, column: str = "id") -> tuple[Any, ...]:
    estimates = {each.column: each for each in found.clustering(where)}
    return msgspec.structs.astuple(estimates[column])[1:]


def ordered(*files: tuple[int, Mapping[str, tuple[Any, Any]]], size: int = 100) -> explorer.Snapshot:
    return snapshot(
        *(add(f"f{place}", rows, bounds=bounds, size=size * (place + 1)) for place, (rows, bounds) in enumerate(files))
    )


@pytest.mark.parametrize(
    ("files", "where", "read"),
    [
        ([(10, (0, 9))] * 2, "id = 3", 1),
        ([(10, (0, 9))] * 2, "id = 4 OR id = 5", 2),
        ([(10, (0, 9))] * 2, "id < 5", 1),
        ([(10, (0, 9))] * 2, "id <= 5", 2),
        ([(10, (0, 9))] * 2, "id >= 5", 1),
        ([(10, (0, 9))] * 2, "id > 3", 2),
        ([(10, (0, 9))] * 2, "id > 9", 0),
        ([(30, (0, 2)), (10, (3, 3))], "id = 1", 1),
        ([(30, (0, 2)), (10, (3, 3))], "id BETWEEN 1 AND 2", 2),
        ([(30, (0, 2)), (10, (3, 3))], "id >= 2", 1),
        ([(10, (0, 9)), (0, (100, 109))], "id = 105", 0),
        ([(10, (0, 9)), (0, (100, 109))], "id >= 0", 2),
        ([(0, (0, 9)), (0, (5, 5))], "id = 5", 0),
        ([(1, (-1_000, 1_000)), (1, (-1_000, 1_000))], "id < -900", 1),
        ([(1, (-1_000, 1_000)), (1, (-1_000, 1_000))], "id < 900", 2),
        ([(7, (4, 4))] * 5, "id = 4", 5),
    ],
)
def test_rows_in_order_are_cut_into_as_many_files_as_there_are(
    files: list[tuple[int, tuple[int, int]]], where: str, read: int
) -> None:
    found = ordered(*((rows, {"id": bounds}) for rows, bounds in files))
    mean = 100 * (len(files) + 1) / 2
    assert estimate(found, where) == (read, int(mean * read), False, "")


@pytest.mark.parametrize(
    ("column", "bounds", "where", "read"),
    [
        ("ratio", (0.0, 1.0), "ratio < 0.5", 1),
        ("ratio", (0.0, 1.0), "ratio <= 0.5", 2),
        ("ratio", (2.0, 2.0), "ratio < 2.5", 2),
        ("price", (0, 2.56), "price < 1.28", 1),
        ("price", (0, 2.56), "price <= 1.28", 2),
        ("price", (0, 2.56), "price > 1.28", 1),
        ("price", (0, 2.56), "price >= 1.28", 2),
        ("price", (3, 3), "price = 3", 2),
        ("day", ("1970-01-01", "1970-01-04"), "day = '1970-01-02'", 1),
        ("day", ("1970-01-01", "1970-01-04"), "day >= '1970-01-02'", 2),
    ],
)
def test_ranges_of_other_types_are_cut_into_equal_parts(
    column: str, bounds: tuple[Any, Any], where: str, read: int
) -> None:
    found = ordered((256, {column: bounds}), (256, {column: bounds}))
    assert estimate(found, where, column) == (read, 150 * read, False, "")


def test_nulls_come_first_and_other_columns_drop_nothing_any_more() -> None:
    found = snapshot(bare("n", 10, nullCount={"id": 10}), add("a", 10, bounds={"id": (-5, 4), "ratio": (0.0, 1.0)}))
    assert estimate(found, "id = -5 OR id = 4") == (1, 100, False, "")
    assert estimate(found, "id IS NULL") == (1, 100, False, "")
    assert estimate(found, "id IS NULL OR id = 0") == (2, 200, False, "")
    spread = ordered((10, {"id": (0, 9), "ratio": (0.0, 1.0)}), (10, {"id": (0, 9), "ratio": (5.0, 6.0)}))
    assert estimate(spread, "id < 3 AND ratio < 2") == (1, 150, False, "")
    assert estimate(spread, "id < 9 AND ratio < 2") == (2, 300, False, "")
    assert [each.column for each in spread.clustering("ratio < 2 AND id < 3 AND price = 1")] == ["ratio", "id", "price"]


def test_masked_rows_are_left_out_of_the_order() -> None:
    masked = add("b", 30, bounds={"id": (3, 3)}, vector=vector("v", 20))
    found = snapshot(add("a", 30, bounds={"id": (0, 2)}), masked)
    assert estimate(found, "id = 1") == (1, 100, False, "")
    assert estimate(found, "id = 2") == (1, 100, False, "")
    assert estimate(found, "id IN (1, 2)") == (2, 200, False, "")


def _grouped(**files: tuple[int, tuple[Any, Any], int]) -> explorer.Snapshot:
    """Each file is in the partitions that the letters of its name say."""
    return snapshot(
        *(
            add(
                name,
                rows,
                bounds={"id": bounds, "code": ("a", "c")},
                size=size,
                partition_values={"p": name[0], "q": name[1]},
            )
            for name, (rows, bounds, size) in files.items()
        ),
        partitions=("p", "q"),
    )


def test_rows_stay_in_the_partitions_of_every_partition_column() -> None:
    found = _grouped(
        xx1=(10, (0, 9), 1),
        xx2=(10, (0, 9), 3),
        xy1=(10, (0, 9), 10),
        yx1=(10, (0, 3), 100),
        yx2=(10, (0, 3), 300),
        yx3=(40, (6, 9), 500),
    )
    assert estimate(found, "id = 1") == (3, 2 + 10 + 300, False, "")
    assert estimate(found, "id = 7") == (3, 2 + 10 + 300, False, "")
    assert estimate(found, "id >= 6") == (4, 2 + 10 + 600, False, "")
    assert estimate(found, "id >= 6 AND p = 'x'") == (2, 2 + 10, False, "")
    assert estimate(found, "id >= 4 AND q = 'x'") == (2 + 2, 2 * 2 + 2 * 300, False, "")
    assert estimate(found, "code = 'b'", "code") == (3, 2 + 10 + 300, True, "")
    assert estimate(found, "code IN ('a', 'b') AND q = 'x'", "code") == (4, 2 * 2 + 2 * 300, True, "")
    assert estimate(found, "code IN ('a', 'x', 'b') AND p = 'y'", "code") == (3, 900, True, "")


RANGE = "how many rows a range of texts contains is not in the log"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("code = 'b'", (1, 200, True, "")),
        ("code = 'z'", (0, 0, True, "")),
        ("code = 'b' AND id >= 0", (1, 200, True, "")),
        ("code = 'b' OR code = 'c'", (2, 400, True, "")),
        ("code IN ('a', 'b', 'c', 'd')", (2, 400, True, "")),
        ("code = 'b' OR code = 'b'", (1, 200, True, "")),
        ("code > 'b'", (None, None, False, RANGE)),
        ("code = 'b' AND code < 'c'", (None, None, False, RANGE)),
        ("code LIKE 'b%'", (None, None, False, RANGE)),
        ("code IS NULL", (None, None, False, RANGE)),
        ("code <=> 'b'", (None, None, False, RANGE)),
        ("NOT code = 'b'", (None, None, False, RANGE)),
        ("code = 'b' AND NOT id = 5", (None, None, False, RANGE)),
        ("code = 'b' OR id < 5", (None, None, False, "the condition may be true whatever its value")),
        ("code = 'b' OR id < -5", (1, 200, True, "")),
    ],
)
def test_of_texts_the_least_is_told_where_they_are_asked_for_one_by_one(where: str, found: tuple[Any, ...]) -> None:
    bounds = {"code": ("a", "c"), "id": (0, 9)}
    masked = add("m", 10, bounds=bounds, vector=vector("v", 10), size=300)
    files = add("a", 10, bounds=bounds, size=100), add("b", 10, bounds=bounds, size=200), masked
    assert estimate(snapshot(*files), where, "code") == found


@pytest.mark.parametrize(
    ("records", "bounded", "why"),
    [
        (None, 1_200, "not every file has a row count"),
        (10, 1_200, ""),
        (10, 0, "1,200 of 1,201 files have no bounds for it"),
        (10, 1_199, "1 of 1,201 files have no bounds for it"),
    ],
)
def test_why_nothing_is_estimated_is_said(records: int | None, bounded: int, why: str) -> None:
    files = [add(f"{place}", 10, bounds={"id": (0, 9)} if place < bounded else None) for place in range(1_200)]
    last = add("last", records, bounds={"id": (0, 9)})
    [found] = snapshot(*files, last).clustering("id = 3")
    read, size = (None, None) if why else (121, 12_100)
    assert found == ClusteringEstimate("id", read, size, False, why)
