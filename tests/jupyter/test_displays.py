"""Public objects in a notebook: a card as HTML and as text, and the command as a magic, in a real IPython."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import explorer
from explorer.auditing.erasure import Erasure, MatchedPlace
from explorer.auditing.erasure.proof import Basis
from explorer.cli.magics import completions, delta
from explorer.core.errors import ExpressionRefused, NotAllowed
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from explorer.jupyter.announced import ANNOUNCED
from explorer.views.cards import CARDED_BY_NAME, carded
from tests.support.comparison.audited_tables import NOW, loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.page_elements import Elements, assert_harmless

ASKED = HOSTILE.replace("${1}", "")
"""A hostile name that a condition may hold: one with `${` is refused, since Spark would put a variable there."""


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "explorer")
    yield made
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table whose every text is hostile, which lost half of its rows."""
    root = tmp_path_factory.mktemp("tables") / "orders"
    columns = {"id": "long", HOSTILE: "string", ASKED: "string"}
    described = small_logs.metadata(columns, configuration={HOSTILE: HOSTILE})
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, described]
    gone = [small_logs.commit_info("DELETE", user_name=HOSTILE, user_metadata=HOSTILE), small_logs.remove("1.parquet")]
    small_logs.write_log(root, [created, loaded("0.parquet"), loaded("1.parquet"), gone])
    return str(root)


def _objects(location: str) -> dict[str, object]:
    table = explorer.open_table(location)
    audit = table.audit()
    plan = table.plan({"kind": "set-description", "description": HOSTILE}, check_rows=False)
    try:
        table.snapshot(99)
    except explorer.RequestError as error:
        missing = error
    return {
        "table": table,
        "snapshot": table.snapshot(),
        "history": table.history_record(),
        "diff": table.diff(0, 3),
        "lineage": table.column_lineage(),
        "audit": audit,
        "finding": audit.findings[0],
        "plan": plan,
        "result": table.commit(plan),
        "maintenance": table.commit(table.plan({"kind": "checkpoint"})),
        "verdict": table.compatibility()[0],
        "erasure": _proof(),
        "error": missing,
        "verified": table.verify(),
        "horizon": table.horizon(NOW),
        "what if": table.horizon(NOW).what_if(0),
        "skipping": table.snapshot().skipping(f"id > 1 AND `{ASKED.replace('`', '``')}` RLIKE '<script>'"),
        "report": table.report(NOW, by=HOSTILE),
        "check": _broken_rule(),
    }


def _shown(shell: Any, value: object) -> dict[str, str]:
    found: dict[str, str] = shell.display_formatter.format(value)[0]
    return found


@pytest.fixture(scope="module")
def objects(location: str) -> dict[str, object]:
    return _objects(location)


def test_every_public_object_has_a_card_without_markup_of_the_table(shell: Any, objects: dict[str, object]) -> None:
    assert set(carded()) <= {kind for value in objects.values() for kind in type(value).__mro__}
    for name, value in objects.items():
        shown = _shown(shell, value)
        assert 'class="dtc' in shown["text/html"], name
        assert_harmless(shown["text/html"])
        assert shown["text/plain"].strip(), name
        assert "\x1b" not in shown["text/plain"], name


def test_a_card_says_what_the_object_says(shell: Any, objects: dict[str, object]) -> None:
    texts = {name: _shown(shell, value)["text/plain"] for name, value in objects.items()}
    assert "1,000 rows" in texts["snapshot"]
    assert "v0 to v4" in texts["table"]  # the plan was committed through the same object
    assert "4 commits, v0 to v3 readable" in texts["history"]
    assert "+1,000 \u22120 rows" in texts["diff"]
    assert "1,000 rows fewer after one commit" in texts["audit"]
    assert "A plan that can be committed" in texts["plan"]
    assert "committed as v4" in texts["result"]
    assert "VersionNotFound" in texts["error"]
    assert "nearest" in texts["error"]
    assert "No problems" in texts["verified"]
    assert "1 of 1 file must be read" in texts["skipping"]
    assert "1 file  read: no statistics for a column" in texts["skipping"]
    assert "Report of" in texts["report"]
    assert "v4: rows violate 1 of 2 rules, 1 could not be checked" in texts["check"]


def test_objects_outside_a_notebook_have_a_form_that_fits_a_line(objects: dict[str, object]) -> None:
    names = ["table", "snapshot", "history", "diff", "lineage", "audit", "plan", "verified", "horizon", "what if"]
    for name in (*names, "skipping", "report", "check"):
        text = repr(objects[name])
        assert len(text) < 300 or name == "plan"  # an intent is shown as it was given
        assert type(objects[name]).__name__ in text
        assert "object at 0x" not in text
        assert "\n" not in text


def test_the_names_that_a_notebook_is_told_are_those_of_the_objects_with_a_card() -> None:
    assert sorted(ANNOUNCED) == sorted([*((kind.__module__, kind.__name__) for kind in carded()), *CARDED_BY_NAME])


def test_objects_are_cards_from_the_first_import_on(location: str) -> None:
    shown = "found = shell.display_formatter.format({0})[0]; assert 'class=\"dtc' in found['text/html'], found"
    lines = [
        "import sys",
        "from IPython.core.interactiveshell import InteractiveShell",
        "shell = InteractiveShell.instance()",
        "import explorer",
        "assert 'ipywidgets' not in sys.modules and 'explorer.views.cards' not in sys.modules",
        f"table = explorer.open_table({location!r})",
        *(shown.format(value) for value in ("table", "table.snapshot(0)", "table.history_record()", "table.audit()")),
        "try: table.snapshot(99)",
        f"except explorer.RequestError as error: {shown.format('error')}",
    ]
    code = "\n".join(lines)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_arrow_tables_have_units_and_types(shell: Any, location: str) -> None:
    files = _shown(shell, explorer.open_table(location).snapshot(2).files())
    assert "size (bytes)" in files["text/html"]
    assert "modification_time (UTC)" in files["text/plain"]
    assert "2 rows" in files["text/plain"]
    history = _shown(shell, explorer.open_table(location).history())
    assert "30 columns" in history["text/plain"]
    assert "timestamp (UTC)" in history["text/plain"]
    names = ["version", "timestamp", "operation", "num_files_added", "bytes_added"]
    history = _shown(shell, explorer.open_table(location).history().select(names))
    assert "bytes_added (bytes)" in history["text/plain"]
    assert_harmless(history["text/html"])
    other = pa.table({"size": [12_345_678] * 40, HOSTILE: [HOSTILE] * 40})
    shown = _shown(shell, other)
    assert "size (int64)" in shown["text/plain"]
    assert "12,345,678" in shown["text/plain"]
    assert "and 32 more" in shown["text/plain"]
    assert_harmless(shown["text/html"])
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([None], pa.string())], names=["a", "a"])
    assert "null" in _shown(shell, twice)["text/plain"]
    assert "0 rows" in _shown(shell, other.slice(0, 0))["text/plain"]


def test_a_proof_of_erasure_has_a_card(shell: Any, objects: dict[str, object]) -> None:
    shown = _shown(shell, objects["erasure"])
    assert "3 matching rows stored" in shown["text/plain"]
    assert "It is live." in shown["text/plain"]


def _broken_rule() -> CheckReport:
    """A rule that rows break, and one that could not be checked, whose every text is hostile."""
    where = pa.table({"path": [HOSTILE], "raw_path": [HOSTILE], "violations": [2], "first_row_index": [7]})
    refused = ExpressionRefused(HOSTILE, reason="runtime", expression=HOSTILE)
    broken = CheckResult(HOSTILE, HOSTILE, 2, 10, where, pa.table({HOSTILE: [HOSTILE]}))
    return CheckReport(4, (CheckResult(HOSTILE, HOSTILE, None, None, where.slice(0, 0), where, refused), broken))


def _proof() -> Erasure:
    """A proof with one place; the card reads nothing of the files and of what was found in them."""
    nothing: Any = None
    basis = Basis(
        table="t", table_id="t", version=0, now=0, chain_head=None, program="0", stored=nothing, results=nothing
    )
    place = MatchedPlace(HOSTILE, "live", 3, 10, 0, None, None, "It is live.")
    return Erasure(
        basis=basis,
        where=HOSTILE,
        places=(place,),
        traces=(),
        log_files=1,
        not_answered=(),
        not_read=(),
        steps=(),
        other_tables=(),
    )


def test_a_cell_shows_tables_as_cards(shell: Any, location: str) -> None:
    with capture_output() as out:
        shell.run_line_magic("delta", f"history {location}")
    (card,) = [output.data for output in out.outputs]
    assert Elements(card["text/html"]).names.count("tr") > 3
    assert "CREATE TABLE" in card["text/plain"]
    assert_harmless(card["text/html"])
    assert out.stdout == ""
    with capture_output() as out:
        shell.run_line_magic("delta", f"snapshot {location}")
    assert "dtc" in out.outputs[0].data["text/html"]


def test_a_variable_that_holds_a_table_stands_for_its_location(shell: Any, location: str) -> None:
    shell.user_ns["sold"] = explorer.open_table(location)
    with capture_output() as out:
        shell.run_line_magic("delta", "history --json sold")
    assert json.loads(out.stdout.splitlines()[-1])["version"] == 0
    del shell.user_ns["sold"]


INTENT = '{"kind":"set-description","description":"x"}'


@pytest.mark.parametrize(
    ("given", "line", "lost"),
    [
        ({"read_only": True}, "commit sold --reason why --yes", "read_only"),
        ({"read_only": True}, "--debug --no-cache commit sold --reason why --yes", "read_only"),
        ({"roots": "/", "time_zone": "Europe/Berlin"}, "snapshot sold", "roots and time_zone"),
    ],
)
def test_a_command_does_nothing_that_the_object_of_a_variable_would_refuse(
    given: dict[str, Any], line: str, lost: str, shell: Any, location: str
) -> None:
    shell.user_ns["sold"] = explorer.open_table(location, **given)
    before = shell.user_ns["sold"].latest_version()
    with pytest.raises(NotAllowed) as refused:
        delta(line, INTENT if "commit" in line else None, lambda _: "")
    assert str(refused.value) == (
        f"sold was opened with {lost}, which a command does not know. Use the object itself, or give the command the "
        f"location: {shell.user_ns['sold'].location}."
    )
    assert explorer.open_table(location).latest_version() == before
    del shell.user_ns["sold"]


def test_a_table_for_reading_only_is_read_by_a_command(shell: Any, location: str) -> None:
    shell.user_ns["sold"] = explorer.open_table(location, read_only=True)
    with capture_output() as out:
        shell.run_line_magic("delta", "history --json sold")
    assert json.loads(out.stdout.splitlines()[-1])["version"] == 0
    del shell.user_ns["sold"]


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%delta his", {"history"}),
        ("%delta history so", {"sold"}),
        ("%delta history {root}/or", {"{root}/orders"}),
        ("%delta history {root}/", {"{root}/orders", "{root}/other/"}),
        ("%delta diff sold ", {"0", "1", "2", "3"}),
        ("%delta diff sold 1 ", {"0", "1", "2", "3"}),
        ("%delta snapshot sold --ver", {"--version"}),
        ("%delta snapshot sold --version ", {"0", "1", "2", "3"}),
        ("%delta snapshot {root}/orders --version ", {"0", "1", "2", "3"}),
        ("%delta changes sold --from ", {"0", "1", "2", "3"}),
        ("%delta statistics sold --column ", {"id"}),
        ("%delta blame sold i", {"id"}),
        ("%%delta plan so", {"sold"}),
    ],
)
def test_tables_versions_and_columns_complete(
    shell: Any, location: str, tmp_path: Path, line: str, expected: set[str]
) -> None:
    shutil.copytree(location, tmp_path / "orders")
    (tmp_path / "other").mkdir()
    shell.user_ns["sold"] = explorer.open_table(tmp_path / "orders")
    line = line.replace("{root}", str(tmp_path))
    with provisionalcompleter():
        found = {each.text for each in shell.Completer.completions(line, len(line))}
    del shell.user_ns["sold"]
    assert {text.replace("{root}", str(tmp_path)) for text in expected} <= found


def test_nothing_completes_from_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    small_logs.write_log(tmp_path / "t", [[small_logs.PROTOCOL, small_logs.METADATA], [b'{"add":']])
    for words in (["blame", str(tmp_path / "t")], ["diff", str(tmp_path / "nowhere")], ["nonsense"]):
        assert set(completions(words, "", {})) <= {"0", "1"}


def test_the_command_runs_in_a_cell(shell: Any, location: str, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("delta", f"history --json {location}")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["version"] for line in lines][-4:] == [3, 2, 1, 0]
    intent = json.dumps({"kind": "set-description", "description": "x"})
    shell.run_cell_magic("delta", f"plan --json {location}", intent)
    assert json.loads(capsys.readouterr().out)["intent"]["description"] == "x"


def test_a_command_that_fails_says_why_and_stops_the_notebook(
    shell: Any, location: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(explorer.RequestError, match="exit code 2"):
        shell.run_line_magic("delta", f"snapshot {location} --version 99")
    assert "There is no version 99" in capsys.readouterr().err
    with pytest.raises(explorer.RequestError, match="Quote"):
        shell.run_line_magic("delta", "history 'unclosed")


def test_the_names_of_commands_complete(shell: Any) -> None:
    with provisionalcompleter():
        found = {each.text for each in shell.Completer.completions("%delta his", 10)}
    assert "history" in found


def test_a_table_that_cannot_be_read_is_shown_as_its_error(shell: Any, tmp_path: Path) -> None:
    small_logs.write_log(tmp_path / "t", [[small_logs.PROTOCOL, small_logs.METADATA], [b'{"add":']])
    shown = _shown(shell, explorer.open_table(str(tmp_path / "t")))
    assert "MalformedAction" in shown["text/html"]
