"""Changes and differences read here are those that Spark reads: the same rows, counts, types, and refusals."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.changed_rows.change_preview import ChangePreview
from explorer.changed_rows.difference_preview import RowDiffPreview
from explorer.changed_rows.small_changes import small_changes
from explorer.changed_rows.small_differences import small_differences
from explorer.core.errors import ExplorerError
from explorer.first_rows.first_rows import SparkOnly
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.row_diff_preview import row_diff_preview
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

LONG = 120
LIMIT = 20_000
EDGES = ("change-feed", "char-varchar", "row-tracking")


@cache
def _folders() -> list[Path]:
    roots = [reference_root() / "tables", golden_root() / "tables"]
    return [log.parent for root in roots for log in sorted(root.rglob("_delta_log"))]


def _cases() -> list[Path]:
    folders = _folders()
    return folders if WHOLE_DOSE else [folder for folder in folders if folder.name in EDGES]


def _changes(table: explorer.Table, first: int, last: int, *, inferred: bool, keys: tuple[str, ...], here: bool) -> Any:
    """The changes of a range, or the type of the error."""
    try:
        if not here:
            options: dict[str, Any] = {"inferred": inferred, "skip": True, "keys": keys}
            return change_preview(table, first, last, LIMIT, **options).result(LONG)
        sources = table.change_sources(first, last, inferred, skip=True)
        return small_changes(table, sources, LIMIT, keys)
    except ExplorerError as error:
        return type(error).__name__


def _rows(table: pa.Table) -> Counter[str]:
    # NaN is not equal to itself. Of equal rows of which one is shown, either zero may be.
    return Counter(repr(tuple(row.values())).replace("-0.0", "0.0") for row in table.to_pylist())


def _facts(preview: ChangePreview) -> tuple[Any, ...]:
    counts, rewritten = preview.counts, preview.rewritten
    assert counts is not None
    assert rewritten is not None
    told = (preview.total, preview.note, preview.complete, preview.versions, preview.inferred_versions)
    schema = preview.table.column_names, preview.table.schema.types
    return *schema, _rows(preview.table), counts.to_pylist(), rewritten.to_pylist(), *told, preview.skipped


def _differences(table: explorer.Table, ends: tuple[int, int], keys: list[str], *, here: bool) -> Any:
    try:
        if here:
            return small_differences(table, *ends, keys, LIMIT)
        return row_diff_preview(table, *ends, keys, LIMIT).result(LONG)
    except ExplorerError as error:
        return type(error).__name__


def _of(preview: RowDiffPreview) -> tuple[Any, ...]:
    told = preview.counts, preview.note, preview.complete, preview.keys, preview.left_out, preview.estimate
    # Whether the names of columns may be null follows from Spark's plan.
    images = [preview.table.schema.field(name).type for name in ("before", "after")]
    return preview.table.column_names, images, _rows(preview.table), *told


def _outcome(here: Any, there: Any, facts: Any, about: object) -> str:
    if isinstance(here, str) or isinstance(there, str):
        assert isinstance(here, str), f"only Spark refuses {about}: {there}"
        assert isinstance(there, str), f"only Spark reads {about}: {here}"
        return "refused"
    assert facts(here) == facts(there), about
    return "same"


def _versions(table: explorer.Table) -> list[int]:
    first, last = table.version_range()
    return list(range(first, last + 1))[-60:]


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("folder", _cases(), ids=lambda folder: folder.name)
def test_changes_are_those_of_spark(folder: Path) -> None:
    outcomes: Counter[str] = Counter()
    try:
        table = explorer.open_table(folder)
        versions = _versions(table)
        key = (table.snapshot().schema.fields[0].name,)
    except (ExplorerError, IndexError):
        pytest.skip("no reader opens this table")
    every = [(version, version) for version in versions] + [(versions[0], versions[-1])]
    ranges = every if WHOLE_DOSE else every[1::4]
    for first, last in ranges:
        for inferred, keys in ((False, ()), (True, ()), (True, key)):
            asked: dict[str, Any] = {"inferred": inferred, "keys": keys}
            here = _changes(table, first, last, here=True, **asked)
            if isinstance(here, SparkOnly):
                assert here.reason
                outcomes["by Spark"] += 1
                continue
            there = _changes(table, first, last, here=False, **asked)
            outcomes[_outcome(here, there, _facts, f"versions {first} to {last}, {asked}")] += 1
    print(folder.name, dict(outcomes))
    assert outcomes.total() > 0


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("folder", _cases(), ids=lambda folder: folder.name)
def test_differences_are_those_of_spark(folder: Path) -> None:
    outcomes: Counter[str] = Counter()
    try:
        table = explorer.open_table(folder)
        versions = _versions(table)
        key = table.snapshot().schema.fields[0].name
    except (ExplorerError, IndexError):
        pytest.skip("no reader opens this table")
    pairs = list(pairwise(versions))
    pairs += [(versions[0], versions[-1]), (versions[-1], versions[0])]
    for ends in pairs if WHOLE_DOSE else pairs[::5]:
        for keys in ([], [key]):
            here = _differences(table, ends, keys, here=True)
            if isinstance(here, SparkOnly):
                assert here.reason
                outcomes["by Spark"] += 1
                continue
            there = _differences(table, ends, keys, here=False)
            outcomes[_outcome(here, there, _of, f"{ends}, keys {keys}")] += 1
    print(folder.name, dict(outcomes))
    assert outcomes.total() > 0


@pytest.mark.golden
def test_changes_that_spark_reads_in_several_pieces_are_one_table() -> None:
    """Of one piece Spark knows that no kind of change is null, of the next it does not."""
    table = explorer.open_table(golden_root() / "tables" / "deltars__simple_table")
    asked: dict[str, Any] = {"inferred": True, "keys": ()}
    here, there = (_changes(table, 0, 4, here=here, **asked) for here in (True, False))
    assert isinstance(there, ChangePreview), there
    assert _facts(here) == _facts(there)
    assert there.table.num_rows == 41
