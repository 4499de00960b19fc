"""Work on the columns of a table grows with their number, and not with its square."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest

import explorer
from explorer.core.protocol.actions import Metadata
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines

_FEW, _MANY = 500, 2_000
# Four times the columns take four times as long; sixteen times if each is compared with each.
_MOST: Final = 9

WORK: Final[dict[str, Callable[[explorer.Table], object]]] = {
    "snapshot": lambda table: table.snapshot().schema,
    "statistics": lambda table: table.snapshot().statistics(),
    "coverage": lambda table: table.snapshot().statistics_coverage(),
    "lineage": lambda table: table.column_lineage(),
    "diff": lambda table: table.diff(0, 2),
    "blame": lambda table: table.blame(),
    "blame of a column": lambda table: table.blame("c7"),
    "verify": lambda table: table.verify(),
    "audit": lambda table: table.audit(),
    "compatibility": lambda table: table.compatibility(),
    "retention": lambda table: table.horizon(),
    "restore": lambda table: table.plan({"kind": "restore", "version": 1}),
    "comment": lambda table: table.plan({"kind": "set-column-comment", "column": "c7", "comment": "x"}),
    "add columns": lambda table: table.plan(
        {"kind": "add-columns", "fields": [{"name": "new", "type": "long", "nullable": True, "metadata": {}}]}
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_four_times_the_columns_take_no_more_than_nine_times_as_long(name: str, tmp_path: Path) -> None:
    few, many = (_wide_table(tmp_path / str(count), count) for count in (_FEW, _MANY))
    WORK[name](explorer.open_table(few, cache=False))  # what is imported late
    least = min(_seconds(name, few) for _ in range(2))
    most = _seconds(name, many)
    assert most < _MOST * max(least, 0.02), f"{least:.3f} s, then {most:.3f} s"


def _seconds(name: str, place: Path) -> float:
    table = explorer.open_table(place, cache=False)
    start = time.process_time()
    WORK[name](table)
    return time.process_time() - start


def _wide_table(place: Path, columns: int) -> Path:
    """A table of many columns, with statistics of each, whose metadata changes twice."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    bounds = {f"c{number}": (1, 2) for number in range(columns)}
    for version in range(3):
        actions = [_metadata(columns + version), add(f"f{version}", bounds=bounds)]
        data = lines([PROTOCOL, *actions] if version == 0 else actions)
        (log / f"{version:020}.json").write_bytes(data)
    return place


def _metadata(columns: int) -> Metadata:
    fields = [{"name": f"c{number}", "type": "long", "nullable": True, "metadata": {}} for number in range(columns)]
    schema = json.dumps({"type": "struct", "fields": fields})
    return msgspec.structs.replace(METADATA, schema_string=schema)
