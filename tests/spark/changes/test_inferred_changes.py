"""Inferred changes are real changes: what the recorded feed of the same table says, less what only moved."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import explorer
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.changes import CHANGE_COLUMNS, Changes, changes
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

SIDES = {"update_preimage": "delete", "update_postimage": "insert"}
RECORDED = [("change-feed", 2, 10), ("change-feed-partitioned", 0, None)]


def _without_feed(name: str, folder: Path) -> explorer.Table:
    """A copy of a table as if its feed had never been on."""
    shutil.copytree(reference_root() / "tables" / name, folder)
    log = folder / "_delta_log"
    for path in [*log.glob("*.checkpoint*"), *log.glob("*.crc"), *log.glob(".*"), *log.glob("_last*")]:
        path.unlink()
    for path in log.glob("*.json"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if "metaData" in line:
                line["metaData"]["configuration"].pop("delta.enableChangeDataFeed", None)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines if "cdc" not in line))
    return explorer.open_table(folder)


def _sides(found: Changes, versions: set[int]) -> Counter[str]:
    """The net change: rows by side and version, equal rows of one version cancelled out."""
    rows = found.to_arrow().drop_columns([CHANGE_COLUMNS[2]])
    net: Counter[str] = Counter()
    for *row, kind, version in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if version in versions:
            net[repr((*row, version))] += 1 if SIDES.get(kind, kind) == "insert" else -1
    return Counter({row: count for row, count in net.items() if count})


@pytest.mark.parametrize(("name", "first", "last"), RECORDED)
@pytest.mark.conformance("CDF-008")
def test_inferred_changes_are_those_that_the_feed_recorded(
    name: str, first: int, last: int | None, tmp_path: Path
) -> None:
    recorded = changes(explorer.open_table(reference_root() / "tables" / name), first, last, skip=True)
    inferred = changes(_without_feed(name, tmp_path / "t"), first, last, inferred=True, skip=True)
    shared = {v.version for v in recorded.sources.versions} & {v.version for v in inferred.sources.versions}
    compared = {v.version for v in recorded.sources.versions if v.recorded and v.source == "cdc"} & shared
    assert len(compared) >= 2
    assert _sides(inferred, shared) == _sides(recorded, shared)
    # Nothing is left that cancels out: no version deletes and inserts the same row.
    rows = inferred.to_arrow().drop_columns([CHANGE_COLUMNS[2]])
    kinds: dict[str, set[str]] = {}
    for *row, kind, version in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        kinds.setdefault(repr((*row, version)), set()).add(kind)
    assert all(len(found) == 1 for found in kinds.values())


def test_rows_that_a_deletion_only_moved_are_no_changes() -> None:
    """A DELETE without deletion vectors and feed writes the rows that stay to a new file."""
    table = explorer.open_table(reference_root() / "tables" / "copy-on-write")
    deletions = [r["version"] for r in table.history().to_pylist() if r["operation"] == "DELETE"]
    assert deletions
    for version in deletions:
        before, after = (table.rows(version=v).count() for v in (version - 1, version))
        counts = changes(table, version, version, inferred=True).counts().to_pylist()
        assert {row["change_type"]: row["rows"] for row in counts} == {"delete": before - after}
        preview = change_preview(table, version, version, limit=1, inferred=True).result()
        assert (preview.total, preview.table.num_rows) == (before - after, 1)
