"""Every export of the page by every role, made for real: what arrives, and that no values of rows are in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from explorer.activity.record import ActivityRecord
from explorer.core.protocol.json_values import JsonRecord
from explorer.page import entry, tabs
from explorer.page.entry import right_of_message
from explorer.page.tab_spec import Document
from explorer.page.tabs import TABS
from explorer.rights import ROLES, Right
from tests.support.at_least_one import at_least_one
from tests.support.pages.decided_rights import EXPORTS
from tests.support.pages.open_windows import Window
from tests.web.test_roles import NAMES, SECRET, Server, table, told

VALUES: Final = ("own-row", "own-row-2")
"""Values of rows of the own table; the log has them as the bounds of a column."""
ALWAYS: Final = frozenset(
    [
        *("diff", "files", "columns", "deletion-vectors", "form-changes", "commits", "schema"),
        *("report", "clients", "settings", "case-report"),
    ]
)
"""Exports that a window can make at once, whose person has the right; others come after what a person did there."""
TABS_OF: Final = {name: tab.key for tab in TABS for name in tab.exports}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    table(tmp_path / "lake" / "eu" / "own", "own")
    table(tmp_path / "lake" / "us" / "other", "other")
    table(tmp_path / f"{SECRET}-root" / "orders", SECRET)
    return tmp_path


@pytest.fixture
def record(tmp_path: Path) -> ActivityRecord:
    return ActivityRecord(tmp_path / "record.jsonl", program="tests/1")


def files_of(window: Window, export: str) -> dict[str, str]:
    """Ask for an export in each form; return the files that arrived, by their names."""
    parts: dict[str, list[str]] = {}
    for form in ("csv", "json", "parquet", "copy"):
        before = len(window.heard)
        window.ask("download", list=export, format=form)
        window.settle()
        for message in window.heard[before:]:
            if message.get("kind") == "file":
                text = message["text"]
                text = base64.b64decode(text).decode("latin-1") if message.get("coded") else text
                parts.setdefault(f"{form} {message['name']}", []).append(text)
    return {name: "".join(texts) for name, texts in parts.items()}


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_export_arrives_where_its_right_is_and_without_values_of_rows_for_others(
    root: Path, record: ActivityRecord, role: str
) -> None:
    server, rights, arrived, checked = Server(root, record, role), ROLES[role], set[str](), 0
    for export, right in at_least_one(EXPORTS.items()):
        window = server.window(f"?t={NAMES['own']}")
        tab = TABS_OF[export]
        # Whoever lacks the right to a tab asks for its exports from another one.
        shown = tab if right_of_tab_is_there(tab, rights) else "overview"
        window.ask("go", query=f"?t={NAMES['own']}&tab={shown}&column=word")
        if export == "case-report":
            window.ask("pin", pin="commit", version=1)
        window.settle()
        # What the page itself says is another test; here it is about what is exported.
        window.host.heard.clear()
        files = files_of(window, export)
        if right not in rights:
            assert files == {}, (role, export)
            assert "You may not" in told(window), (role, export)
        else:
            # Some come after what a person did there, and say that; none is refused.
            assert "You may not" not in told(window), (role, export)
        if files:
            arrived.add(export)
        if Right.ROWS not in rights:
            content = json.dumps(files)
            assert [value for value in VALUES if value in content] == [], (role, export)
        checked += 1
    assert checked == len(EXPORTS) == sum(len(tab.exports) for tab in TABS)
    allowed = {export for export, right in EXPORTS.items() if right in rights}
    assert arrived <= allowed
    assert allowed & ALWAYS <= arrived, "these need nothing but the right"


def right_of_tab_is_there(tab: str, rights: frozenset[Right]) -> bool:
    """Return whether a role sees a tab; an export may be asked for from any."""
    return entry.TABS.get(tab, Right.SEE) in rights


class _Rows(JsonRecord, frozen=True):
    rows: tuple[str, ...]


def test_a_new_export_without_a_right_of_its_own_is_refused_to_everybody(
    root: Path, record: ActivityRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody adds an export to a tab, and forgets its right."""

    def leak(*_: Any) -> Document:
        return Document("all-rows", "rows", _Rows(VALUES))

    first, *others = TABS
    exports: Mapping[str, Any] = {**first.exports, "all-rows": leak}
    monkeypatch.setattr(tabs, "TABS", (replace(first, exports=exports), *others))
    assert tabs.export_named("all-rows") is leak
    assert right_of_message("download", "all-rows") is None
    for role in at_least_one(sorted(ROLES)):
        window = Server(root, record, role).window(f"?t={NAMES['own']}")
        assert files_of(window, "all-rows") == {}, role
        assert "no right of its own" in told(window), role
