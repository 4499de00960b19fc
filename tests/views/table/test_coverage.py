"""Why a column has no statistics: the property that leaves it out, and the value that would take it in."""

from __future__ import annotations

import pytest

from explorer.views import TableFacts
from explorer.views.table.columns import Covered, coverage_of
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs

COLUMNS = {"day": "string", "a": "long", "b": "long", "c": "long"}


def _covered(**properties: str) -> dict[str, Covered]:
    configuration = {f"delta.{name}": value for name, value in properties.items()}
    table = small_logs.table(
        {
            0: [small_logs.PROTOCOL, small_logs.metadata(COLUMNS, ["day"], configuration)],
            1: [small_logs.add("x.parquet", 3, bounds={"a": (1, 2)}, partition_values={"day": "1"})],
        }
    )
    return {row.column: row for row in coverage_of(TableFacts(table), 1)}


def test_a_column_after_the_indexed_ones_names_the_property_and_the_place_that_takes_it_in() -> None:
    rows = _covered(dataSkippingNumIndexedCols="2")
    assert rows["c"].why == "delta.dataSkippingNumIndexedCols is 2: only the first 2 columns have statistics"
    assert rows["c"].setting == ("delta.dataSkippingNumIndexedCols", "3")
    assert (rows["a"].why, rows["a"].files) == ("", 1)
    assert rows["day"].why == ""


def test_an_indexed_column_without_statistics_is_not_blamed_on_a_property() -> None:
    rows = _covered(dataSkippingNumIndexedCols="2")
    assert rows["b"].why == "no file has statistics for it, although no property excludes it"
    assert rows["b"].setting is None


def test_a_column_that_the_list_leaves_out_is_added_to_the_list() -> None:
    rows = _covered(dataSkippingStatsColumns="a,b")
    assert rows["c"].why == "delta.dataSkippingStatsColumns does not list it"
    assert rows["c"].setting == ("delta.dataSkippingStatsColumns", "a,b,c")


@pytest.mark.parametrize("limit", ["-1", "32"])
def test_no_property_leaves_a_column_out(limit: str) -> None:
    assert all(row.setting is None for row in at_least_one(_covered(dataSkippingNumIndexedCols=limit).values()))


def test_what_is_added_to_the_list_is_what_may_be_set() -> None:
    columns = {"a": "long", "größe": "long", "flag": "boolean"}
    described = small_logs.metadata(columns, (), {"delta.dataSkippingStatsColumns": "a"})
    table = small_logs.table({0: [small_logs.PROTOCOL, described], 1: [small_logs.add("x.parquet", 3)]})
    rows = {row.column: row for row in coverage_of(TableFacts(table), 1)}
    assert rows["größe"].setting == ("delta.dataSkippingStatsColumns", "a,`größe`")
    assert (rows["flag"].setting, rows["flag"].why) == (None, "delta.dataSkippingStatsColumns does not list it")
    key, value = rows["größe"].setting
    assert table.plan({"kind": "set-properties", "properties": {key: value}}).committable
