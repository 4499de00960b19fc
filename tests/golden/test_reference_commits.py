"""What the reference writer committed for a command, and what the same intent of ours would commit.

Each step that an intent can express is planned on the table as it stood before. The lines are those of the reference
but for ids, times, names and their order; what it refused is refused. Every difference stands in the table
`commit_differences`, with its reason, and must be there: a difference that has gone is a failure too.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent, TableNotFound, VersionNotFound
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.new_table import NewTable, new_table
from tests.support.clients.reference_steps import Step, copy_before, reference_commit, steps
from tests.support.comparison.commit_comparison import differences
from tests.support.comparison.commit_differences import DIFFERENCES, GONE
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
STEPS = list(steps(ROOT))
COMMITTED = [step for step in STEPS if step.version is not None and step.name not in GONE]
REFUSED = [step for step in STEPS if step.error is not None and step.name not in GONE]


def _table(step: Step, folder: Path) -> explorer.Table | NewTable:
    if step.before < 0:
        return new_table(folder / step.table)
    with_data = step.intent["kind"] == "restore"
    table = explorer.open_table(copy_before(ROOT, step, folder, with_data=with_data))
    assert table.latest_version() == step.before
    return table


def _failed(plan: CommitPlan) -> dict[str, Any]:
    return {f"guard {guard.name}": guard.evidence for guard in plan.guards if guard.status == "fail"}


def _written(table: explorer.Table | NewTable, step: Step) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What stands against a step, and the lines that were committed, or would be.

    Guards that wait for a look at the rows are accepted: Spark's part is tested with Spark.
    """
    plan = table.plan(step.intent, check_rows=False, user="tester")
    unknown = [guard.name for guard in plan.guards if guard.status == "unknown"]
    plan = msgspec.structs.replace(plan, accepted=tuple(unknown))
    failed = _failed(plan)
    if failed:
        return failed, list(plan.actions)
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", step.before + 1)
    assert result.notes == ()
    opened = table.open() if isinstance(table, NewTable) else table
    return {}, [json.loads(line) for line in opened.commit_actions(step.before + 1)]


@pytest.mark.sampled(cases=100)
@pytest.mark.conformance("WRITER-005", "WRITER-006", "LOG-024", "LOG-001", "LOG-002", "PROTO-005", "ICT-001", "ICT-003")
@pytest.mark.conformance("FILE-010", "LOG-018", "LOG-019", "META-004")
@pytest.mark.parametrize("step", COMMITTED, ids=lambda step: step.name)
def test_an_intent_commits_what_the_reference_committed(step: Step, tmp_path: Path) -> None:
    expected = DIFFERENCES.get(step.name)
    try:
        found, lines = _written(_table(step, tmp_path), step)
    except InvalidIntent as error:
        found = {"refused": error.message}
    else:
        found = found or differences(reference_commit(ROOT, step), lines)
        assert next(iter(lines[0])) == "commitInfo"
        keys = [_key(kind, action) for line in lines for kind, action in line.items()]
        assert [key for key, times in Counter(keys).items() if times > 1] == []
        files = [(kind, file) for line in lines for kind, file in line.items() if kind in ("add", "remove")]
        vectors = {(kind, file["path"]): file.get("deletionVector") for kind, file in files}
        both = [path for kind, path in vectors if kind == "add" and ("remove", path) in vectors]
        assert [path for path in both if vectors["add", path] == vectors["remove", path]] == []
    allowed = expected.paths if expected else ()
    assert [path for path in found if not any(_under(path, begin) for begin in allowed)] == [], (step.text, found)
    assert [begin for begin in allowed if not any(_under(path, begin) for path in found)] == [], (step.text, found)


def _key(kind: str, action: dict[str, Any]) -> tuple[Any, ...]:
    """What a commit may say once: an application, a domain, a path; of other kinds anything."""
    match kind:
        case "txn":
            return kind, action["appId"]
        case "domainMetadata":
            return kind, action["domain"]
        case "add" | "remove" | "cdc":
            return kind, action["path"]
    return (kind,)


def _under(path: str, begin: str) -> bool:
    return path == begin or path.startswith((f"{begin}.", f"{begin}["))


@pytest.mark.parametrize("step", REFUSED, ids=lambda step: step.name)
def test_what_the_reference_refused_is_refused(step: Step, tmp_path: Path) -> None:
    table = _table(step, tmp_path)
    try:
        plan = table.plan(step.intent, check_rows=False, user="tester")
    except (InvalidIntent, VersionNotFound):
        return
    assert bool(plan.blocking) is (step.name not in DIFFERENCES), (step.text, step.error)


@pytest.mark.parametrize("name", sorted(GONE))
def test_steps_that_are_left_out_cannot_be_tried(name: str, tmp_path: Path) -> None:
    step = next(step for step in STEPS if step.name == name)
    with pytest.raises(TableNotFound):
        _table(step, tmp_path)


def test_every_difference_names_a_step_and_gives_its_reason() -> None:
    assert {*DIFFERENCES, *GONE} <= {step.name for step in STEPS}
    assert all(difference.reason.endswith(".") for difference in DIFFERENCES.values())
