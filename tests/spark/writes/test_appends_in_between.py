"""Changes of rows that were planned before another writer appended: what may not go on top of the new rows does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitResult
from explorer.spark.engine.session import Engine
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

SERIALIZABLE: Final = {"delta.isolationLevel": "Serializable"}
FIELDS: Final = [column("id", "long"), column("p", "string"), column("at", "timestamp")]
MIDNIGHT: Final = 1_767_225_600_000_000
"""The first moment of 2026 in UTC, in \u00b5s since the epoch."""
HOUR: Final = 3_600_000_000


def rows(*given: tuple[int, str], at: int = MIDNIGHT) -> pa.Table:
    """Rows by id and partition, all of one moment."""
    ids, partitions = zip(*given, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "p": list(partitions),
            "at": pa.array([at] * len(ids), pa.timestamp("us", "UTC")),
        }
    )


def new_table(folder: Path, properties: Mapping[str, str] = SERIALIZABLE) -> Path:
    """Ids 1 and 2 in partition a, 11 and 12 in b."""
    files = [
        DataFile(f"p={p}/0", rows(*((number, p) for number in ids)).drop(["p"]), {"p": p})
        for p, ids in (("a", (1, 2)), ("b", (11, 12)))
    ]
    return write_table(folder, FIELDS, files, ["p"], properties)


Between = dict[str, Any] | pa.Table
"""What another writer did: an intent without rows, or rows that it appended."""


def late(path: Path, intent: dict[str, Any], given: pa.Table | None, between: Between) -> CommitResult:
    """Commit a plan after another change, or after an append of rows, that was planned later."""
    table, other = explorer.open_table(path), explorer.open_table(path)
    plan = table.plan(intent, rows=given)
    assert plan.committable, plan.blocking
    change = between if isinstance(between, dict) else {"kind": "append", "source": ""}
    first = other.commit(other.plan(change, rows=None if isinstance(between, dict) else between), user="ada")
    assert first.outcome == "committed"
    result = table.commit(plan)
    assert isinstance(result, CommitResult)
    return result


def ids(path: Path) -> list[int]:
    found: list[int] = sorted(explorer.open_table(path).rows().toArrow().column("id").to_pylist())
    return found


MERGE: Final = {
    "kind": "merge",
    "source": "",
    "on": "target.p = 'a' AND target.id = source.id",
    "matched": [{"update": {"at": "source.at"}}],
}
ALONE: Final = MERGE | {"notMatchedBySource": [{"delete": True}]}
OVERWRITE: Final = {"kind": "overwrite", "source": ""}
DYNAMIC: Final = OVERWRITE | {"partitions": True}
WHERE_A: Final = {"where": "p = 'a'"}
DELETE_IN_B: Final = {"kind": "delete", "where": "id = 11"}
SOURCE, NEW = rows((1, "a"), (2, "a")), rows((5, "a"))
IN_A, IN_B = rows((3, "a")), rows((13, "b"))


@pytest.mark.sampled(cases=3)
@pytest.mark.conformance("LOG-023")
@pytest.mark.parametrize(
    ("intent", "given", "between", "action", "after"),
    [
        # the new row of b is matched by no row of the source, so it would have gone too
        pytest.param(ALONE, SOURCE, IN_B, "add", [1, 2, 11, 12, 13], id="merge by source"),
        # what matches is in a, and rows of b do not matter where rows without a match stay
        pytest.param(MERGE, SOURCE, IN_B, None, [1, 2, 11, 12, 13], id="merge in a, append to b"),
        pytest.param(MERGE, SOURCE, IN_A, "add", [1, 2, 3, 11, 12], id="merge in a, append to a"),
        # every row goes, that which came since among them
        pytest.param(OVERWRITE, NEW, IN_B, "add", [1, 2, 11, 12, 13], id="whole, append"),
        pytest.param(OVERWRITE, NEW, DELETE_IN_B, "remove", [1, 2, 12], id="whole, delete"),
        # every row of the partition that rows are given for goes
        pytest.param(DYNAMIC, NEW, IN_A, "add", [1, 2, 3, 11, 12], id="dynamic in a, append to a"),
        pytest.param(DYNAMIC, NEW, IN_B, None, [5, 11, 12, 13], id="dynamic in a, append to b"),
        pytest.param(DYNAMIC, NEW, DELETE_IN_B, None, [5, 12], id="dynamic in a, delete in b"),
        pytest.param(DYNAMIC, rows((5, "c")), rows((6, "c")), "add", [1, 2, 6, 11, 12], id="dynamic, new partition"),
        # the rows that meet the condition go
        pytest.param(OVERWRITE | WHERE_A, NEW, IN_A, "add", [1, 2, 3, 11, 12], id="condition on a, append to a"),
        pytest.param(OVERWRITE | WHERE_A, NEW, IN_B, None, [5, 11, 12, 13], id="condition on a, append to b"),
    ],
)
def test_under_serializable_a_change_does_not_go_on_top_of_rows_that_it_should_have_seen(  # noqa: PLR0917  # by name
    tmp_path: Path,
    intent: dict[str, Any],
    given: pa.Table,
    between: Between,
    action: str | None,
    after: list[int],
) -> None:
    path = new_table(tmp_path / "t")
    result = late(path, intent, given, between)
    assert (result.outcome, result.conflict and result.conflict.action) == (
        ("committed", None) if action is None else ("conflicted", action)
    )
    assert ids(path) == after


@contextmanager
def session_in(engine: Engine, zone: str) -> Iterator[None]:
    conf = engine.session().conf
    before = conf.get("spark.sql.session.timeZone")
    conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        conf.set("spark.sql.session.timeZone", before or "UTC")


@pytest.mark.sampled(cases=1)
@pytest.mark.conformance("LOG-023")
@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "update", "where": "at < '2026-01-01 00:00:00'", "set": {"id": "id + 100"}},
        {"kind": "delete", "where": "at < '2026-01-01 00:00:00'"},
        {"kind": "overwrite", "source": "", "where": "at < '2026-01-01 00:00:00'"},
        {
            "kind": "merge",
            "source": "",
            "on": "target.at < '2026-01-01 00:00:00' AND target.id = source.id",
            "matched": [{"delete": True}],
        },
    ],
    ids=lambda intent: str(intent["kind"]),
)
def test_a_time_in_a_condition_is_one_of_the_session_also_for_rows_that_came_in_between(
    tmp_path: Path, spark_engine: Engine, intent: dict[str, Any]
) -> None:
    """Four hours after midnight in UTC it is still 2025 in New York, and the new file is of 2026."""
    with session_in(spark_engine, "America/New_York"):
        path = new_table(tmp_path / "t")
        late_rows = rows((3, "a"), at=MIDNIGHT + 4 * HOUR)
        given = rows((1, "a"), (2, "a")) if "source" in intent else None
        result = late(path, intent, given, late_rows)
        assert result.outcome == "conflicted"
        assert result.conflict is not None
        assert result.conflict.action == "add"
        assert ids(path) == [1, 2, 3, 11, 12]
    (added,) = [line for line in explorer.open_table(path).commit_actions(1) if "add" in json.loads(line)]
    assert json.loads(json.loads(added)["add"]["stats"])["minValues"]["at"].startswith("2026-01-01T04:00:00")
