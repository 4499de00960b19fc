"""Of a wide table only the columns that its statistics state are parsed, with the same result."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pytest

from explorer.core.protocol.actions import Add
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics import file_statistics, json_statistics, present_leaves
from explorer.core.protocol.statistics.column_summary import column_summary
from explorer.core.protocol.statistics.file_statistics import (
    FileStatistics,
    StatisticsColumn,
    column_ranges,
    coverage,
)
from explorer.core.protocol.statistics.json_statistics import StatisticsLeaf, parse_texts

_LONG, _STRING = PrimitiveType("long"), PrimitiveType("string")
_WIDE = [StatisticsLeaf(("s", f"c{number}"), _LONG if number % 2 else _STRING) for number in range(600)]
_TEXTS = [
    '{"numRecords":3,"minValues":{"s":{"c1":1,"c2":"a"}},"maxValues":{"s":{"c1":5}},"nullCount":{"s":{"c599":2}}}',
    '{"numRecords":4,"minValues":{"s":{"c1":"odd"}}}',
    '{"numRecords":5,"minValues":{"s":7}}',
    "{broken",
    '{"numRecords":6,"maxValues":{"s":{"c3":NaN}}}',
]


@pytest.mark.parametrize("texts", [_TEXTS[:1], _TEXTS[:3], _TEXTS, []])
def test_the_bounds_are_those_of_a_reader_of_all_columns(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse_texts(pa.array(texts, pa.string()), _WIDE)
    monkeypatch.setattr(present_leaves, "MANY_LEAVES", 10_000)
    whole = parse_texts(pa.array(texts, pa.string()), _WIDE)
    assert found.num_records.equals(whole.num_records)
    assert list(found.bounds) == _WIDE
    for leaf in _WIDE:
        assert [found.bounds[leaf].low, found.bounds[leaf].high, found.bounds[leaf].nulls] == [
            whole.bounds[leaf].low,
            whole.bounds[leaf].high,
            whole.bounds[leaf].nulls,
        ]


def test_columns_that_no_text_states_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    whole = json_statistics._wire_schema
    monkeypatch.setattr(json_statistics, "_wire_schema", lambda leaves: asked.append(len(leaves)) or whole(leaves))
    parse_texts(pa.array([json.dumps({"minValues": {"s": {"c1": 1}}})] * 3, pa.string()), _WIDE)
    assert asked == [1]


_COLUMNS = [StatisticsColumn(leaf.path, leaf.path, leaf.type, False) for leaf in _WIDE]
_COLUMNS.insert(7, StatisticsColumn(("day",), ("day",), _STRING, True))


def _files(texts: list[str | None]) -> LogicalFiles:
    adds = [
        Add(
            path=f"{n}.parquet",
            partition_values={"day": str(n)},
            size=1,
            modification_time=1,
            data_change=True,
            stats=t,
        )
        for n, t in enumerate(texts)
    ]
    lines = [msgspec.json.decode(msgspec.json.encode(add.to_wire()), type=AddLine) for add in adds]
    return LogicalFiles([LineSource(lines[:2]), LineSource(lines[2:])])


def _answers(texts: list[str | None]) -> list[object]:
    files = FileStatistics(_files(texts), _COLUMNS)
    return [
        files.problems(),
        coverage(files, _COLUMNS),
        [column for some, part in files.parts(_COLUMNS) for column in some if part.is_known(column)],
        [column_ranges(part, column) for some, part in files.parts(_COLUMNS) for column in some],
        [column_summary(part, column) for some, part in files.parts(_COLUMNS) for column in some],
        [column_ranges(FileStatistics(_files(texts), _COLUMNS), _COLUMNS[place]) for place in (0, 1, 7, 300)],
    ]


@pytest.mark.sampled(cases=3)
@pytest.mark.parametrize("texts", [_TEXTS[:1], [None, *_TEXTS], [None], [_TEXTS[3], "{}"]])
@pytest.mark.parametrize("at_once", [10_000, 3])
def test_a_table_of_many_columns_gives_what_one_of_few_gives(
    texts: list[str | None], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_statistics, "_MOST_AT_ONCE", at_once)
    found = _answers(texts)
    for module in (file_statistics, present_leaves):
        monkeypatch.setattr(module, "MANY_LEAVES", 10_000)
    monkeypatch.setattr(file_statistics, "_MOST_AT_ONCE", 10_000)
    assert found == _answers(texts)
