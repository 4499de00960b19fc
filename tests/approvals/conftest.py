"""A table, a shelf, and people, without a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.activity.record import ActivityRecord
from explorer.approvals.decisions import Decisions, Target
from explorer.approvals.guarded_table import GuardedTable
from explorer.approvals.person import Person
from explorer.approvals.request import ApprovalRequest
from explorer.approvals.rules import ApprovalRule, Rules
from explorer.approvals.shelf import Shelf
from explorer.core.transaction.commit_plan import Plan
from explorer.rights import Place, Right
from tests.support.logs import small_logs

TARGET = Target("lake/orders", ("", "lake", "orders"))
DESCRIBE = {"kind": "set-description", "description": "orders of the shop"}


def person(name: str, **known: Any) -> Person:
    """Return somebody who signed in."""
    return Person(**{"issuer": "https://login.example.org", "subject": f"subject of {name}", "name": name} | known)


@dataclass
class Office:
    """One table, and the requests about it."""

    table: Path
    shelf: Shelf
    record: ActivityRecord
    rules: Rules = field(default_factory=lambda: Rules((ApprovalRule(),)))
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    lost: set[tuple[str, Right]] = field(default_factory=set)
    """Rights that people do not have any more."""

    def may(self, right: Right, _place: Place, who: Person) -> bool:
        """Return whether a person has a right; everyone has all but those that were lost."""
        return (who.name, right) not in self.lost

    def desk(self, who: Person | str | None) -> Decisions:
        """Return what a person can do."""
        known = person(who) if isinstance(who, str) else who
        return Decisions(self.shelf, self.rules, known, may=self.may, announce=self.record.add, clock=lambda: self.now)

    def opened(self) -> explorer.Table:
        """Open the table anew."""
        return explorer.open_table(str(self.table), cache=False)

    def plan(self, intent: object = DESCRIBE, user: str = "ana") -> Plan:
        """Plan a change on the newest version."""
        return self.opened().plan(intent, user=user, check_rows=False)  # type: ignore[arg-type]  # JSON

    def remake(self, request: ApprovalRequest) -> Plan:
        """Make the plan of a request again."""
        return self.opened().plan(request.intent, accept=request.accepted, check_rows=False, user=request.asked_by.name)

    def ask(self, intent: object = DESCRIBE, who: str = "ana", reason: str = "the steward wants it") -> ApprovalRequest:
        """Ask for a change."""
        return self.desk(who).ask(TARGET, self.plan(intent), reason)

    def approve(self, number: int, who: str = "ben", note: str = "") -> ApprovalRequest:
        """Approve a request."""
        return self.desk(who).approve(number, note, TARGET.place, self.remake)

    def guarded(self, who: Person | str | None = "ana") -> GuardedTable:
        """Return the table as a person commits to it."""
        return GuardedTable(self.opened(), TARGET, self.desk(who))

    def move(self, rows: int = 3) -> None:
        """Let somebody else append to the table."""
        version = self.opened().latest_version() + 1
        lines = [small_logs.commit_info("WRITE"), small_logs.add(f"{version}.parquet", rows)]
        small_logs.write_log(self.table, [lines], version)

    def later(self, **much: float) -> None:
        """Let time pass."""
        self.now += timedelta(**much)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the record wait as long as a busy machine takes."""
    monkeypatch.setattr("explorer.activity.record.PATIENCE", 120.0)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    created = [
        small_logs.commit_info("CREATE TABLE"),
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        small_logs.metadata({"id": "long", "amount": "long"}),
    ]
    small_logs.write_log(tmp_path / "orders", [created, [small_logs.add("1.parquet", 3)]])
    record = ActivityRecord(tmp_path / "record", program="tests/1")
    return Office(tmp_path / "orders", Shelf(tmp_path / "shelf", record.files), record)
