"""Each statement of the reference that writes rows, as an intent on a copy of the table as it stood before.

What it leaves is what the reference left, but for what `data_differences` names with its reason; a difference that has
gone is a failure too. `python -m tests.golden.data_commands` lists all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from pyspark.sql import DataFrame

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.transaction.commit_plan import CommitResult
from explorer.spark.engine.session import engine
from tests.support.clients.golden_expectations import expected
from tests.support.clients.reference_steps import copy_before, reference_commit
from tests.support.comparison.data_commands import COMMANDS, DataCommand, data_commands
from tests.support.comparison.data_differences import DATA_DIFFERENCES, REFUSALS
from tests.support.comparison.outcome_comparison import outcome_differences
from tests.support.dose import some_of
from tests.support.shared_tables import reference_root

pytestmark = [
    pytest.mark.spark,
    pytest.mark.reference,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.sampled(tests=5),
]

ROOT = reference_root()
EXPECTED = expected(ROOT)
STATEMENTS: Final = list(data_commands(ROOT))
COMPARED: Final = [one for one in STATEMENTS if one.step.intent and not one.lost]
# How many of each command every run tries.
EVERY_RUN: Final = {"INSERT INTO": 9, "UPDATE": 7, "MERGE": 7, "OPTIMIZE": 8, "REORG": 2, "RESTORE": 3}


def _chosen() -> Iterator[DataCommand]:
    for command in COMMANDS:
        yield from some_of([one for one in COMPARED if one.command == command], EVERY_RUN.get(command, 4))


@pytest.mark.parametrize("one", list(_chosen()), ids=lambda one: one.step.name)
def test_a_statement_of_the_reference_leaves_the_same(one: DataCommand, tmp_path: Path) -> None:
    step, known = one.step, DATA_DIFFERENCES.get(one.step.name)
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    assert table.latest_version() == step.before
    result = _done(table, one)
    found: dict[str, Any]
    if isinstance(result, str):
        assert table.latest_version() == step.before
        found = _refused(result, one)
    elif step.version is None:
        found = {"outcome": (result.version, step.error)}
    else:
        assert result.version == step.version
        found = _unlike(table, result, one, tmp_path)
    assert found.keys() == set(known.parts if known else ()), (step.text, found)


@pytest.mark.parametrize(
    ("name", "where", "parts"),
    [
        ("change-feed#4", "id = 1", {"rows", "feed", "removed files", "metric numUpdatedRows"}),
        ("row-tracking#3", "id = 1", {"rows", "row ids", "removed files", "metric numUpdatedRows"}),
        ("deletion-vectors#6", "id = 5", {"rows", "masked rows", "metric numUpdatedRows"}),
    ],
)
def test_another_change_than_that_of_the_reference_is_seen(
    name: str, where: str, parts: set[str], tmp_path: Path
) -> None:
    found = next(one for one in COMPARED if one.step.name == name)
    step = msgspec.structs.replace(found.step, intent={**found.step.intent, "where": where})
    one = msgspec.structs.replace(found, step=step)
    table = explorer.open_table(copy_before(ROOT, one.step, tmp_path, with_data=True))
    result = _done(table, one)
    assert isinstance(result, CommitResult)
    assert parts <= _unlike(table, result, one, tmp_path).keys()


def _done(table: explorer.Table, one: DataCommand) -> CommitResult | str:
    """What was committed; the reasons where the intent is refused or changes nothing."""
    try:
        plan = table.plan(one.step.intent, rows=_rows(table, one), user="steward")
        result = table.commit(plan)
    except ExplorerError as error:
        return error.message
    assert result.outcome == ("committed" if plan.committable else "rejected")
    return result if plan.committable else ", ".join(guard.name for guard in plan.blocking)


def _refused(said: str, one: DataCommand) -> dict[str, tuple[Any, Any]]:
    """In what a refusal differs from the reference's."""
    step = one.step
    if step.version is not None:
        return {"outcome": (said, step.version)}
    condition = None if step.error is None else step.error["condition"]
    return {} if re.search(REFUSALS[condition], said) else {"refusal": (said, condition)}


def _rows(table: explorer.Table, one: DataCommand) -> DataFrame | None:
    if one.source is None:
        return None
    session = engine().session()
    if one.source.query is None:
        assert one.source.rows is not None
        return session.createDataFrame(*one.source.rows)
    frame = session.sql(one.source.query)
    if not one.source.by_position:
        return frame
    names = one.source.columns or [field.name for field in table.snapshot().schema.fields]
    return frame.toDF(*names[: len(frame.columns)])


def _unlike(table: explorer.Table, result: CommitResult, one: DataCommand, folder: Path) -> dict[str, tuple[Any, Any]]:
    """In what the copy differs from the reference's table, each cut off after the version."""
    step, version = one.step, result.version
    assert version is not None
    after = msgspec.structs.replace(step, before=version)
    same = explorer.open_table(copy_before(ROOT, after, folder / "reference", with_data=True))
    lines = [dict(action) for action in result.plan.actions], reference_commit(ROOT, step)
    record = next(each for each in EXPECTED[step.table]["versions"] if each["version"] == version)
    return outcome_differences(table, same, version, lines, record.get("content_hash"))
