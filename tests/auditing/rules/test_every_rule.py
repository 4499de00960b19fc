"""Each rule of the registry fires in some test of the audit, and all are silent on a clean table."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

import explorer
from explorer.auditing import AuditInputs, Subject, audit
from explorer.auditing.finding import Aspect, Place, Remedy
from explorer.auditing.footers import compared_footers
from explorer.auditing.rule import see
from explorer.auditing.rules import RULES
from explorer.cli.app import app
from explorer.core.log.verify import problem
from explorer.core.transaction.row_engine import CheckReport
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL

FOLDER = Path(__file__).parents[1]


def _called(name: str) -> set[str]:
    """The rules that the tests of the audit name as the second argument of a function."""
    result: set[str] = set()
    for path in sorted(FOLDER.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                result.update(each.value for each in node.args[1:2] if isinstance(each, ast.Constant))
    return result


def test_each_rule_is_held_to_a_table_on_which_it_fires() -> None:
    # `_found` demands exactly one finding of the rule that it names.
    assert {rule.id for rule in RULES} - _called("_found") == set()


def test_all_rules_are_silent_on_a_clean_table_at_which_everything_was_looked(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    pq.write_table(rows, tmp_path / "0.parquet")
    size = (tmp_path / "0.parquet").stat().st_size
    add = small_logs.add("0.parquet", 3, bounds={"id": (1, 3)}, size=size)
    small_logs.write_log(tmp_path, [[small_logs.commit_info("CREATE TABLE"), PROTOCOL, METADATA, add]])
    table = explorer.open_table(tmp_path)
    report = table.verify()
    inputs = AuditInputs(
        stored=table.store.list_files(),
        integrity=report,
        chain_head=report.chain_head,
        rows=CheckReport(0, ()),
        footers=compared_footers(table.snapshot(), table.store),
    )
    result = audit(Subject(table, NOW, inputs=inputs))
    assert (result.findings, result.not_answered) == ((), ())
    assert len(result.silent) == len(RULES)


def test_a_step_without_an_intent_or_a_command_is_none() -> None:
    with pytest.raises(ValueError, match="neither an intent nor a command"):
        Remedy("Look at it", place=Place("commit", 1))


def test_each_place_is_listed_by_a_command_of_this_program(tmp_path: Path) -> None:
    small_logs.write_log(tmp_path, [[PROTOCOL, METADATA]])
    subject = Subject(explorer.open_table(tmp_path), NOW)
    for aspect in at_least_one(get_args(Aspect)):
        step = see(subject, "See it", Place(aspect, 3, column="id"))
        program, command, location, *options = shlex.split(step.command)
        assert (program, location, step.place) == (
            "delta-explorer",
            subject.log.location,
            Place(aspect, 3, column="id"),
        )
        offered = {name for param in get_command(app).commands[command].params for name in param.opts}
        assert {option for option in options if option.startswith("--")} <= offered


def test_every_problem_of_a_log_has_a_step() -> None:
    """The kinds of all problems that the source makes, and those of its documentation."""
    said = "\n".join(path.read_text("utf-8") for path in Path(problem.__file__).parent.glob("*.py"))
    made = set(re.findall(r"Problem\(\s*\"([a-z-]+)\"", said)) | set(re.findall(r"yield \(?\s*\"([a-z-]+)\", ", said))
    assert len(made) > 15
    assert all(problem.LogProblem(kind, 1, "f", "d").next_step.endswith(".") for kind in sorted(made))


def test_a_backup_is_advised_only_where_the_log_itself_lost_something() -> None:
    kinds = re.findall(r"``([a-z-]+)``", problem.LogProblem.__doc__ or "")
    advised = {kind for kind in kinds if "backup" in problem.LogProblem(kind, 1, "f", "d").next_step}
    assert advised <= problem.BREAKING
