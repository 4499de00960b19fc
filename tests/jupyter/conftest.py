"""A small table with a history of every kind of mark."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.table import Table
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, remove, write_log


@pytest.fixture
def orders(tmp_path: Path) -> Table:
    """v0 creates, v1 to v3 append 10, 20 and 30 rows, v4 sets a property, v5 removes the file of v2."""
    columns = {"order_id": "long", "amount": "double"}
    commits = [
        [commit_info("CREATE TABLE", user_name="ana"), PROTOCOL, metadata(columns)],
        *[[commit_info("WRITE", user_name="etl"), add(f"part-{n}.parquet", n * 10)] for n in (1, 2, 3)],
        [
            commit_info("SET TBLPROPERTIES", user_name="ben"),
            metadata(columns, configuration={"delta.appendOnly": "false"}),
        ],
        [commit_info("DELETE", user_name="ana"), remove("part-2.parquet")],
    ]
    return explorer.open_table(write_log(tmp_path / "orders", commits))
