"""Plans as records for people: what would be written, what is asked for, and whether the rows have been looked at."""

from typing import Any

import pytest

import explorer
from explorer.views.act.plan_view import PlanView, plan_view
from tests.support.logs import hostile_tables, small_logs


@pytest.fixture
def table(tmp_path: Any) -> explorer.Table:
    created = hostile_tables.created({"id": "long"}, {"team": "ana"})
    small_logs.write_log(tmp_path / "t", [created, [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)]])
    return explorer.open_table(tmp_path / "t")


def view(table: explorer.Table, **intent: Any) -> PlanView:
    plan = table.plan(intent, check_rows=False, user="ana")
    return plan_view(plan, table.snapshot(plan.read_version))


def written(plan: PlanView) -> list[tuple[str, str, str]]:
    return [(line.sign, line.subject, line.detail) for line in plan.written]


def test_what_a_property_brings_along_is_written_out(table: explorer.Table) -> None:
    plan = view(table, kind="set-properties", properties={"delta.enableDeletionVectors": "true", "team": "bob"})
    assert written(plan) == [
        ("+", "delta.enableDeletionVectors", "true"),
        ("\u25c7", "team", "ana \u2192 bob"),
        ("\u25c7", "protocol", "(1, 2) \u2192 (3, 7)"),
        ("+", "feature deletionVectors", "binds readers and writers"),
        ("\u00b7", "no data file", "is added or removed"),
    ]
    assert (plan.headline.verb, plan.headline.subject) == ("Set", "2 properties")
    assert plan.losses
    assert {loss.operation for loss in plan.losses} == {"reads", "writes"}
    assert [loss.severity for loss in plan.losses] == sorted(loss.severity for loss in plan.losses)
    assert "lose" in plan.who_reads


def test_a_rename_is_a_rename(table: explorer.Table) -> None:
    mapping = table.plan({"kind": "set-column-mapping", "mode": "name"})
    table.commit(mapping, reason="names may change")
    plan = view(table, kind="rename-column", column="id", to="key")
    assert ("\u25c7", "column key", "renamed: id \u2192 key") in written(plan)
    assert (plan.headline.verb, plan.headline.subject) == ("Rename column", "id \u2192 key")


def test_rows_that_were_not_looked_at_are_asked_for(table: explorer.Table) -> None:
    plan = view(table, kind="add-constraint", name="positive", expression="id > 0")
    assert (plan.needs_rows, plan.row_check_done, plan.committable, plan.tone) == (True, False, False, "warning")
    assert plan.verdict == "Check the rows before you commit this."
    assert [guard.name for guard in plan.guards if guard.blocks] == ["existing-rows"]
    assert plan.guards[0].name == "existing-rows"
    assert plan.headline.code == "id > 0"
    assert [action.name for action in plan.actions][:1] == ["commitInfo"]
    assert '"schemaString": {' in plan.actions[-1].pretty


def test_the_worst_consequence_is_named_and_no_guard_calls_a_plan_that_breaks_clients_safe(
    table: explorer.Table,
) -> None:
    plan = view(table, kind="set-properties", properties={"delta.enableDeletionVectors": "true"})
    assert plan.worst_tone == "danger"
    assert " clients " in plan.worst
    assert "lose access" in plan.worst
    assert plan.lost_clients > 1
    (properties,) = (guard for guard in plan.guards if guard.name == "properties")
    assert properties.sentence == "1 property changes. The guard access shows what that means for clients."
    harmless = view(table, kind="set-description", description="What a row is.")
    assert (harmless.worst, harmless.worst_tone) == ("", "")
    sooner = view(table, kind="set-properties", properties={"delta.deletedFileRetentionDuration": "interval 2 days"})
    assert sooner.worst_tone == "warning"
    assert "2 days" in sooner.worst
