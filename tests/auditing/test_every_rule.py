"""Each rule of the registry fires in some test of this folder, and all are silent on a clean table."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer.auditing import Looked, Subject, audit
from explorer.auditing.footers import look_at_footers
from explorer.auditing.rules import RULES
from explorer.core.transaction.row_engine import CheckReport
from tests.support import small_logs
from tests.support.audited_tables import NOW
from tests.support.small_logs import METADATA, PROTOCOL

FOLDER = Path(__file__).parent


def _called(name: str) -> set[str]:
    """The rules that the tests of this folder name as the second argument of a function."""
    found: set[str] = set()
    for path in sorted(FOLDER.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                found.update(each.value for each in node.args[1:2] if isinstance(each, ast.Constant))
    return found


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
    looked = Looked(
        stored=table.store.list_files(),
        integrity=report,
        chain_head=report.chain_head,
        rows=CheckReport(0, ()),
        footers=look_at_footers(table.snapshot(), table.store),
    )
    found = audit(Subject(table, NOW, looked=looked))
    assert (found.findings, found.not_answered) == ((), ())
    assert len(found.silent) == len(RULES)
