"""Of a wide table only the columns that its statistics state are parsed, with the same result."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics import json_statistics, present_leaves
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
    monkeypatch.setattr(present_leaves, "_MANY", 10_000)
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
