"""Public objects in a notebook: a card as HTML and as text, and the command as a magic, in a real IPython."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import explorer
from explorer.views.cards import CARDED
from tests.support import small_logs
from tests.support.audited_tables import loaded
from tests.support.hostile_tables import HOSTILE
from tests.support.page_elements import assert_harmless


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
    described = small_logs.metadata({"id": "long", HOSTILE: "string"}, configuration={HOSTILE: HOSTILE})
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
        "error": missing,
    }


def _shown(shell: Any, value: object) -> dict[str, str]:
    found: dict[str, str] = shell.display_formatter.format(value)[0]
    return found


@pytest.fixture(scope="module")
def objects(location: str) -> dict[str, object]:
    return _objects(location)


def test_every_public_object_has_a_card_without_markup_of_the_table(shell: Any, objects: dict[str, object]) -> None:
    assert set(CARDED) <= {kind for value in objects.values() for kind in type(value).__mro__}
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
    assert "1,000 rows went in one commit" in texts["audit"]
    assert "A plan that can be committed" in texts["plan"]
    assert "committed as v4" in texts["result"]
    assert "VersionNotFound" in texts["error"]
    assert "nearest" in texts["error"]


def test_objects_outside_a_notebook_have_a_form_that_fits_a_line(objects: dict[str, object]) -> None:
    for name in ("table", "snapshot", "history", "diff", "lineage", "audit", "plan"):
        text = repr(objects[name])
        assert type(objects[name]).__name__ in text
        assert "object at 0x" not in text
        assert "\n" not in text


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
