"""A restore that takes back a rename shows a rename, also where it takes back the column mapping with it."""

from __future__ import annotations

import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.views.act.written_lines import written_lines
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, metadata


def _table(*renames: tuple[str, str]) -> explorer.Table:
    """A table of two columns whose mapping is switched on, and then some names change."""
    table = small_logs.table({0: [small_logs.PROTOCOL, metadata({"a": "long", "z": "long"}), add("f", 5)]})
    table.store.put("f", b"PAR1")
    wishes = [{"kind": "set-column-mapping", "mode": "name"}]
    wishes += [{"kind": "rename-column", "column": column, "to": to} for column, to in renames]
    for wish in at_least_one(wishes):
        plan = table.plan(wish)
        assert table.commit(table.plan(wish, accept=[guard.name for guard in plan.guards])).outcome == "committed"
    return table


@pytest.mark.parametrize(
    ("renames", "version", "lines"),
    [
        ([("a", "b")], 0, {"a": "renamed: b \u2192 a"}),
        ([("a", "b")], 1, {"a": "renamed: b \u2192 a"}),
        ([("a", "b"), ("z", "y")], 0, {"a": "renamed: b \u2192 a", "z": "renamed: y \u2192 z"}),
        ([("a", "b"), ("b", "c")], 0, {"a": "renamed: c \u2192 a"}),
        ([("a", "b"), ("b", "a")], 0, {}),
    ],
)
def test_the_plan_and_the_diff_after_it_show_a_rename(
    renames: list[tuple[str, str]], version: int, lines: dict[str, str]
) -> None:
    table = _table(*renames)
    newest = table.snapshot()
    plan = table.plan({"kind": "restore", "version": version}, check_rows=False)
    assert isinstance(plan, CommitPlan)
    written = written_lines(plan.proposal, newest)
    shown = {
        line.subject.removeprefix("column "): line.detail for line in written if line.subject.startswith("column ")
    }
    assert shown == lines
    accepted = table.plan({"kind": "restore", "version": version}, accept=[guard.name for guard in plan.guards])
    assert table.commit(accepted).outcome == "committed"
    changes = table.diff(newest.version, newest.version + 1).schema
    assert {change.column: f"{change.kind}: {change.before} \u2192 {change.after}" for change in changes} == lines
