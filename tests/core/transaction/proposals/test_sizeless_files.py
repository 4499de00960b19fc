"""A live file whose size the log does not have: nothing is planned on it, and a restore takes it away."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.row_preparation.proposer import row_proposer
from explorer.spark.engine.file_addresses import FileAddress, check_present
from tests.support.logs.given_rows import GivenRows
from tests.support.logs.small_logs import PROTOCOL, add, metadata, table


def _table() -> explorer.Table:
    line = {"add": {name: value for name, value in add("a", 3).to_wire().items() if name != "size"}}
    return table({0: [PROTOCOL, metadata({"id": "long"})], 1: [line, add("b", 3)]})


@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "delete", "where": "id > 1"},
        {"kind": "update", "where": "id > 1", "set": {"id": "1"}},
        {"kind": "overwrite", "source": ""},
        {"kind": "overwrite", "source": "", "where": "id > 1"},
        {"kind": "optimize"},
    ],
)
def test_rows_of_such_a_file_are_not_changed(intent: dict[str, Any]) -> None:
    log, engine = _table(), GivenRows({"a": (0,), "b": (1,)}, rows=2)
    asked: Any = parse_intent(intent)
    with pytest.raises(CorruptTable, match="no size for the file a"):
        row_proposer(log, asked, engine.context(), "rows" if "source" in intent else None)(log.snapshot())


def test_rows_of_such_a_file_are_not_given() -> None:
    with pytest.raises(CorruptTable, match="no size for the file a"):
        check_present([FileAddress("a", "a", "a", None)], [None], 1)


def test_a_restore_of_a_version_before_it_takes_the_file_away() -> None:
    found = _table()
    assert found.commit(found.plan({"kind": "restore", "version": 0})).outcome == "committed"
    assert found.snapshot().num_files == 0
