"""``tripwires``: quiet until something new happens, and tried on history first."""

import json
from pathlib import Path

from tests.cli.conftest import Call
from tests.support.comparison.audited_tables import DAY, committed, timed_log
from tests.support.logs import small_logs

RULES = """
[[tripwire]]
name = "many rows gone"
when = "rows-removed"
share = 0.2
"""


def _warehouse(tmp_path: Path) -> tuple[Path, Path]:
    loads = [committed(40 * DAY), *(small_logs.add(f"{n}.parquet", 100) for n in range(4))]
    table = small_logs.write_log(tmp_path / "lake" / "orders", timed_log([loads]))
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES)
    return table, rules


def _lose(table: Path, version: int, name: str) -> None:
    gone = [committed(DAY, "DELETE", "ben"), small_logs.remove(name)]
    small_logs.write_log(table, [gone], version)


def test_a_scheduled_job_is_told_once_of_each_new_commit(cli: Call, tmp_path: Path) -> None:
    table, rules = _warehouse(tmp_path)
    _lose(table, 2, "0.parquet")
    arguments = ("tripwires", tmp_path / "lake", "--rules", rules, "--state", tmp_path / "state.json", "--json")
    first = cli(*arguments)
    assert (first.code, first.out, first.err) == (0, "", ""), "what happened before is not new"
    _lose(table, 3, "1.parquet")
    told = cli(*arguments)
    (alarm,) = (json.loads(line) for line in told.out.splitlines())
    assert (told.code, alarm["tripwire"], alarm["version"], alarm["author"]) == (1, "many rows gone", 3, "ben")
    assert alarm["text"] == "100 rows removed, 33.3 % of them"
    assert (cli(*arguments).code, cli(*arguments).out) == (0, "")


def test_tripwires_are_tried_on_history_first(cli: Call, tmp_path: Path) -> None:
    table, rules = _warehouse(tmp_path)
    for version in (2, 3):
        _lose(table, version, f"{version}.parquet")
    tried = cli("tripwires", table, "--rules", rules, "--try", "100000 days")
    assert tried.code == 0
    assert "would have fired twice in 100000 days: v2, v3" in tried.out
    line = cli("tripwires", table, "--rules", rules, "--try", "100000 days", "--json").document()
    assert (line["fired"], line["versions"]) == (2, [2, 3])


def test_a_broken_table_stops_no_other_and_a_log_that_shrank_is_said(cli: Call, tmp_path: Path) -> None:
    table, rules = _warehouse(tmp_path)
    _lose(table, 2, "0.parquet")
    small_logs.write_log(tmp_path / "lake" / "broken", [[small_logs.PROTOCOL, small_logs.METADATA], [b"{"]])
    found = cli("tripwires", tmp_path / "lake", "--rules", rules, "--after", 1, "--json")
    assert (found.code, json.loads(found.err)["error"]) == (3, "MalformedAction")
    assert json.loads(found.out)["version"] == 2
    shrunk = cli("tripwires", table, "--rules", rules, "--after", 9, "--json")
    assert (shrunk.code, shrunk.error()["error"]) == (3, "CorruptTable")


def test_bad_rules_and_no_choice_of_commits_are_bad_requests(cli: Call, tmp_path: Path) -> None:
    table, rules = _warehouse(tmp_path)
    rules.write_text(f"{RULES}often = true\n")
    error = cli("tripwires", table, "--rules", rules, "--after", 0, "--json").error()
    assert (error["error"], error["position"]) == ("RequestError", 2)
    assert cli("tripwires", table, "--rules", rules).code == 2
    assert cli("tripwires", table, "--rules", tmp_path / "none.toml", "--after", 0).code == 2
