"""Columns named like words of SQL, in conditions of several parts: they leave files out, as any other column does."""

from __future__ import annotations

import pytest

from tests.support.logs.small_logs import PROTOCOL, add, metadata, table


@pytest.mark.parametrize("name", ["date", "timestamp_ltz", "timestamp_ntz", "cast", "escape", "then"])
@pytest.mark.parametrize(
    "where", ["{0} = '1'", "k > 0 AND {0} IN ('1')", "NOT {0} <> '1'", "({0}) IS NOT NULL AND '1' = {0}"]
)
def test_only_the_file_of_the_value_is_read(name: str, where: str) -> None:
    files = [add(value, 1, partition_values={name: value}) for value in ("1", "2")]
    found = table({0: [PROTOCOL, metadata({"k": "long", name: "string"}, (name,)), *files]})
    kept = found.snapshot().skipping(where.format(name)).files.to_pylist()
    assert [each["path"] for each in kept if each["kept"]] == ["1"]


@pytest.mark.parametrize("name", ["values", "from", "table", "map"])
@pytest.mark.parametrize("where", ["{0} IN ('1')", "k > 0 AND {0} IN ('1')", "NOT {0} NOT IN ('1')", "({0} = '1')"])
def test_a_column_that_is_called_like_the_beginning_of_a_query_leaves_files_out(name: str, where: str) -> None:
    files = [add(value, 1, partition_values={name: value}) for value in ("1", "2")]
    found = table({0: [PROTOCOL, metadata({"k": "long", name: "string"}, (name,)), *files]})
    kept = found.snapshot().skipping(where.format(name)).files.to_pylist()
    assert [each["path"] for each in kept if each["kept"]] == ["1"]
