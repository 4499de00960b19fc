"""Constraints on tables of the reference writer: what it found in the rows, Spark finds here too."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.core.errors import InvalidIntent
from tests.support.clients.reference_steps import Step, copy_before, steps
from tests.support.comparison.commit_differences import DIFFERENCES
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.reference, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
STEPS = [
    step for step in steps(ROOT) if step.intent["kind"] == "add-constraint" and step.table.startswith("constraints")
]


@pytest.mark.sampled(cases=5)
@pytest.mark.conformance("CONSTR-007", "CONSTR-008", "CONSTR-009")
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_constraint_is_added_only_if_every_row_satisfies_it(step: Step, tmp_path: Path) -> None:
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    refused = step.version is None or "refused" in getattr(DIFFERENCES.get(step.name), "paths", ())
    try:
        plan = table.plan(step.intent, user="tester")
    except InvalidIntent:
        assert refused
        return
    guards = {guard.name: guard for guard in plan.guards}
    if guards["expression"].status == "unknown":
        # A rule that names no column, or holds double quotes, is in doubt: a person has to accept it by name.
        assert "current_timestamp()" in step.intent["expression"] or '"' in step.intent["expression"]
        assert (guards["expression"].remedy or "").endswith("accept this guard by name.")
        plan = table.plan(step.intent, user="tester", accept=["expression"])
    assert plan.committable is not refused, guards
    if refused:
        assert guards["existing-rows"].status == "fail"
        assert guards["existing-rows"].remedy
        return
    assert guards["existing-rows"].status == "pass"
