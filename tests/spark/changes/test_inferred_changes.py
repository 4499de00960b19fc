"""Inferred changes are real changes: what the recorded feed of the same table says, less what only moved."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import explorer
from explorer.changed_rows.change_preview import CHANGE_COLUMNS
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.changes import Changes, changes
from tests.support.at_least_one import at_least_one
from tests.support.dose import some_of
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


@pytest.mark.sampled(cases=1)
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


@pytest.mark.whole("test_inferred_changes_are_those_that_the_feed_recorded")
def test_rows_that_a_deletion_only_moved_are_no_changes() -> None:
    """A DELETE without deletion vectors and feed writes the rows that stay to a new file."""
    table = explorer.open_table(reference_root() / "tables" / "copy-on-write")
    deletions = [r["version"] for r in table.history().to_pylist() if r["operation"] == "DELETE"]
    for version in at_least_one(some_of(deletions, 2)):
        before, after = (table.rows(version=v).count() for v in (version - 1, version))
        counts = changes(table, version, version, inferred=True).counts().to_pylist()
        assert {row["change_type"]: row["rows"] for row in counts} == {"delete": before - after}
        preview = change_preview(table, version, version, limit=1, inferred=True).result()
        assert (preview.total, preview.table.num_rows) == (before - after, 1)


def _by_version(found: Changes) -> dict[int, Counter[str]]:
    rows = found.to_arrow().drop_columns([CHANGE_COLUMNS[2]])
    by_version: dict[int, Counter[str]] = {}
    for *row, kind, version in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        by_version.setdefault(version, Counter())[repr((kind, *row))] += 1
    return by_version


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(("name", "first", "last"), RECORDED)
@pytest.mark.conformance("CDF-008")
def test_with_keys_every_inferred_version_is_what_the_feed_recorded(
    name: str, first: int, last: int | None, tmp_path: Path
) -> None:
    recorded = changes(explorer.open_table(reference_root() / "tables" / name), first, last, skip=True)
    inferred = changes(_without_feed(name, tmp_path / "t"), first, last, inferred=True, skip=True, keys=["id"])
    told = {v.version for v in recorded.sources.versions if v.recorded and v.source == "cdc"}
    meant, found = _by_version(recorded), _by_version(inferred)
    assert sum("update_postimage" in row for version in told for row in meant[version]) >= 3
    assert {version: found.get(version, Counter()) for version in told} == {version: meant[version] for version in told}


def _identified(table: explorer.Table, version: int) -> dict[int, str]:
    rows = table.rows(version, row_identity=True).toArrow()
    ids = rows.column("_row_id").to_pylist()
    values = zip(*(rows.column(field.name).to_pylist() for field in table.snapshot(version).schema.fields), strict=True)
    return dict(zip(ids, map(repr, values), strict=True))


@pytest.mark.whole(
    "test_with_keys_every_inferred_version_is_what_the_feed_recorded, and tests/spark/scan/test_row_ids.py"
)
@pytest.mark.conformance("ROWTRACK-006")
def test_updates_of_a_table_with_row_ids_have_both_images() -> None:
    """What each commit did to each row follows from the ids of the rows before and after it."""
    table = explorer.open_table(reference_root() / "tables" / "row-tracking")
    paired = 0
    for version in (2, 3, 4, 5, 7, 8):
        before, after = _identified(table, version - 1), _identified(table, version)
        meant = Counter[tuple[str, str]]()
        for row_id in before.keys() | after.keys():
            old, new = before.get(row_id), after.get(row_id)
            if old is not None and new is not None and old != new:
                meant += Counter({("update_preimage", old): 1, ("update_postimage", new): 1})
                paired += 1
            elif old is None or new is None:
                meant[("delete", old) if old is not None else ("insert", str(new))] += 1
        found = changes(table, version, version, inferred=True)
        rows = found.to_arrow().drop_columns([*CHANGE_COLUMNS[1:]])
        told = Counter(
            (kind, repr(tuple(row))) for *row, kind in zip(*(c.to_pylist() for c in rows.columns), strict=True)
        )
        assert told == meant, version
        tally = found.tally()
        assert {r["change_type"]: r["rows"] for r in tally.changes.to_pylist()} == Counter(
            kind for kind, _ in meant.elements()
        )
    assert paired >= 3


def test_rows_that_were_only_rewritten_are_counted_and_named_so() -> None:
    table = explorer.open_table(reference_root() / "tables" / "copy-on-write")
    deletions = [r["version"] for r in table.history().to_pylist() if r["operation"] == "DELETE"]
    inserts = {
        version: sum(
            file["num_records"]
            for file in table.change_sources(version, version, True).files.to_pylist()
            if file["kind"] == "insert"
        )
        for version in deletions
    }
    version, written = max(inserts.items(), key=lambda found: found[1])
    assert written
    tally = changes(table, version, version, inferred=True).tally()
    assert tally.rewritten.to_pylist() == [{"version": version, "rows": written}]
    preview = change_preview(table, version, version, inferred=True).result()
    assert preview.rewritten == tally.rewritten
    assert preview.note.endswith(f"{written} rows were only rewritten: in another file now, with the same values.")


def test_a_key_that_is_no_column_is_refused() -> None:
    table = explorer.open_table(reference_root() / "tables" / "copy-on-write")
    with pytest.raises(explorer.ExplorerError, match="no column 'nope'"):
        table.changes(1, 1, inferred=True, keys=["nope"])
    with pytest.raises(explorer.ExplorerError, match="named twice"):
        table.changes(1, 1, inferred=True, keys=["id", "id"])


def test_a_range_is_never_cut_within_an_inferred_version() -> None:
    """Rows with variants are streamed piece by piece; half of a commit would show its copies as changes."""
    sources = explorer.open_table(reference_root() / "tables" / "copy-on-write").change_sources(0, 5, True)
    versions = sources.files.column("version").to_pylist()
    assert len(versions) > len(set(versions))
    for end in range(1, len(versions) + 1):
        cut = sources.next_cut(end)
        assert cut >= end
        assert cut == len(versions) or versions[cut] != versions[cut - 1]
