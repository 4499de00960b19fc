"""The guards of a plan as a person reads them: what was found, the evidence, what blocks the plan, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeGuard

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import CommitPlan, MaintenancePlan, Plan
from explorer.core.transaction.proposal import GRAVEST_FIRST, GuardResult, GuardStatus
from explorer.views.act.guard_steps import GuardStep, next_steps_of

__all__ = ["EvidenceTable", "GuardView", "guard_counts", "guard_views", "verdict"]

_SIGNS: Final = {"fail": "\u00d7", "unknown": "?", "warn": "!", "pass": "\u2713"}
_LISTED: Final = 8
_PROTOCOL_NAMES: Final = frozenset({"appId", "highWaterMark", "minReaderVersion", "minWriterVersion"})
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """Evidence that is a list of similar things, such as rows that break a rule."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int


@dataclass(frozen=True, slots=True)
class GuardView:
    """A guard, judged.

    Attributes:
        name, status: As the guard has them.
        sign: One character for the status.
        sentence: What was found, in words.
        facts: The other evidence, by name.
        tables: Evidence that is a list of records.
        remedy: What to do; empty if there is nothing to do.
        ways: Where that leads.
        accepted: Unknown, and accepted by name.
        blocks: It blocks the commit of the plan.
    """

    name: str
    status: GuardStatus
    sign: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[EvidenceTable, ...]
    remedy: str
    ways: tuple[GuardStep, ...]
    accepted: bool
    blocks: bool


def guard_views(plan: Plan) -> tuple[GuardView, ...]:
    """Describe the guards of a plan, those that block it first."""
    blocking = set(map(id, plan.blocking))
    expression = getattr(plan.intent, "expression", None)
    views = [_guard(guard, plan, expression, blocks=id(guard) in blocking) for guard in plan.guards]
    return tuple(sorted(views, key=lambda view: GRAVEST_FIRST.index(view.status)))


def guard_counts(guards: Sequence[GuardView]) -> str:
    """Return how many guards have each status, in words: ``1 failed, 2 warnings, 4 passed``; ``all 5 passed``."""
    counts = {status: sum(guard.status == status for guard in guards) for status in GRAVEST_FIRST}
    if len(guards) > 1 and counts["pass"] == len(guards):
        return f"all {len(guards)} passed"
    words = {"fail": "failed", "unknown": "unknown", "warn": "warning" if counts["warn"] == 1 else "warnings"}
    return ", ".join(f"{n} {words.get(status, 'passed')}" for status, n in counts.items() if n)


def verdict(plan: Plan, guards: Sequence[GuardView]) -> tuple[str, str]:
    """Return what follows from the guards in one sentence, and how serious it is."""
    upkeep = isinstance(plan, MaintenancePlan)
    made = "done" if upkeep else "committed"
    failing = [guard for guard in guards if guard.blocks and guard.status == "fail"]
    unknown = [guard for guard in guards if guard.blocks and guard.status == "unknown"]
    if failing:
        return f"This must not be {made}: {fmt.plural(len(failing), 'guard')} failed.", "danger"
    if unknown and isinstance(plan, CommitPlan) and plan.rests_on_rows and not plan.checked_rows:
        return "Check the rows before you commit this.", "warning"
    if isinstance(plan, MaintenancePlan) and not plan.files:
        return "Nothing to commit.", "ok"
    if unknown:
        what = "One guard is" if len(unknown) == 1 else f"{len(unknown)} guards are"
        return f"{what} unknown. Fix the cause, or accept by name what cannot be known.", "warning"
    if warnings := sum(guard.status == "warn" for guard in guards):
        what = "the warning" if warnings == 1 else f"the {warnings} warnings"
        return f"This can be {made}. Read {what} first.", "warning"
    return f"This can be {made}.", "ok"


def _guard(guard: GuardResult, plan: Plan, expression: str | None, *, blocks: bool) -> GuardView:
    """Describe a guard; ``expression`` is the expression that is shown above all of them."""
    others = {name: value for name, value in guard.evidence.items() if name != "detail" and value != expression}
    tables = tuple(_table(name, value) for name, value in others.items() if _is_table(value))
    facts = tuple(
        (_words(name), _fact(value))
        for name, value in others.items()
        if not _is_table(value) and value not in (None, [], {})
    )
    return GuardView(
        name=guard.name,
        status=guard.status,
        sign=_SIGNS[guard.status],
        sentence=str(guard.evidence.get("detail") or guard.name.replace("-", " ").capitalize()),
        facts=facts,
        tables=tables,
        remedy=guard.remedy or "",
        ways=next_steps_of(guard, plan),
        accepted=guard.status == "unknown" and guard.name in plan.accepted,
        blocks=blocks,
    )


def _is_table(value: object) -> TypeGuard[Sequence[Mapping[str, object]]]:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _table(name: str, records: Sequence[Mapping[str, object]]) -> EvidenceTable:
    flat = [dict(_flat(record)) for record in records[:_LISTED]]
    columns = tuple(dict.fromkeys(column for record in flat for column in record))
    rows = tuple(tuple(record.get(column, "") for column in columns) for record in flat)
    return EvidenceTable(name, columns, rows, len(records) - len(flat))


def _flat(record: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    """Yield the members of a record; the members of a record inside it (a row of the table) replace it."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from ((str(inner), fmt.value_text(item)) for inner, item in value.items())
        else:
            yield str(name), _fact(value)


def _words(name: str) -> str:
    """Return the name of evidence as words: ``rows gone`` for ``rowsGone``; protocol names do not change."""
    if name in _PROTOCOL_NAMES or not name.isalnum():
        return name
    return re.sub(r"(?<=[a-z])([A-Z])", r" \1", name).lower().removeprefix("num ")


def _fact(value: object) -> str:
    match value:
        case None:
            return "\u2014"
        case bool():
            return "yes" if value else "no"
        case int():
            return fmt.count(value)
        case list() | tuple():
            shown = ", ".join(str(item) for item in value[:_LISTED])
            return shown if len(value) <= _LISTED else f"{shown} and {len(value) - _LISTED} more"
        case str() if _MOMENT.fullmatch(value):
            return fmt.moment(datetime.fromisoformat(value))
        case Mapping() if all(isinstance(item, str | int) for item in value.values()):
            return ", ".join(f"{name}: {item}" for name, item in value.items())
        case Mapping():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value).removesuffix(", 0:00:00")  # whole days of an interval
