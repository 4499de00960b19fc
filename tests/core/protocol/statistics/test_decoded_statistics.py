"""Statistics of files out of text, and those of several parts of a log beside each other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.protocol.arrow.arrays import floats
from explorer.core.protocol.statistics.bounds import decode_statistics
from tests.core.protocol.statistics.test_statistics import snapshot
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"minValues":{"a":1.10}}', {"minValues": {"a": Decimal("1.10")}}),
        ('{"minValues":{"a":NaN,"b":Infinity,"c":-Infinity}}', {"minValues": {"a": None, "b": None, "c": None}}),
        ("[1]", "not an object"),
        ("1", "not an object"),
        ('{"a":1,"b":2,"a":3}', "the key 'a' occurs twice"),
        ('{"m":{"x":1,"x":1}}', "the key 'x' occurs twice"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_a_text_is_decoded_or_said_to_be_of_no_use(text: str, found: Any) -> None:
    assert decode_statistics(text) == found


def test_problems_of_every_part_of_a_log_name_their_own_files() -> None:
    good, bad = {"id": (1, 2)}, {"id": ("x", None)}
    store = small_logs.new_store()
    files = [add("a", bounds=good), add("b", bounds=bad)]
    small_logs.write(store, {0: [PROTOCOL, METADATA, *files], 1: [add("c", bounds=good)]})
    write_checkpoint(store, 0, [PROTOCOL, METADATA, *files], "multi-part")
    small_logs.write(store, {2: [add("d", bounds=good), add("e", bounds=bad)], 3: [add("f", bounds=bad)]})
    newest = small_logs.table({}, store).snapshot()
    ranges = {row["path"]: (row["min"], row["max"]) for row in newest.column_ranges("id").to_pylist()}
    assert ranges == {**dict.fromkeys("acd", (1, 2)), **dict.fromkeys("bef", (None, None))}
    assert sorted(problem.path for problem in newest.statistics_problems()) == ["b", "e", "f"]
    assert {problem.detail for problem in newest.statistics_problems()} == {"'x' is not a valid long, the type of id"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1, None, 3]), [1.0, np.nan, 3.0]),
        (pa.array([0.25, None, -1.5]), [0.25, np.nan, -1.5]),
        (pa.array([None, None], pa.int64()), [np.nan, np.nan]),
        (pa.array([2**53 + 1, 0]), [float(2**53), 0.0]),
        (pa.array([1_000, None], pa.timestamp("us", "UTC")), [1_000.0, np.nan]),
        (pa.array([], pa.int64()), []),
    ],
)
def test_a_column_of_numbers_or_times_is_one_of_floats(values: pa.Array, expected: list[float]) -> None:
    found = floats(pa.chunked_array([values[:1], values[1:]], values.type))
    assert (found.dtype, found.tolist()) == (np.float64, pytest.approx(expected, nan_ok=True, rel=0, abs=0))
    assert floats(pa.chunked_array([], values.type)).dtype == np.float64


def test_bounds_that_are_converted_one_by_one_are_cut_outwards() -> None:
    texts = ['{"minValues":{"c":1.005},"maxValues":{"c":1.005}}', '{"minValues":{"c":"x"},"maxValues":{"c":"y"}}']
    found = snapshot([("c", "decimal(5,2)")], texts)
    rows = [(row["min"], row["max"]) for row in found.column_ranges("c").to_pylist()]
    assert rows == [(Decimal("1.00"), Decimal("1.01")), (None, None)]
    assert [(each.path, each.detail) for each in found.statistics_problems()] == [
        ("f1", f"'{odd}' is not a valid decimal, the type of c") for odd in "xy"
    ]
