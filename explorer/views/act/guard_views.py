"""The guards of a plan as a person reads them: the result, the evidence, what blocks the plan, and the next steps.

A next step is offered where the evidence has all that it needs; what it opens is planned and guarded like any change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeGuard

from explorer import formatting as fmt
from explorer.core.protocol.table_features import FEATURES
from explorer.core.protocol.table_properties.registry import (
    APPEND_ONLY,
    EXPIRED_LOG_CLEANUP,
    FILE_RETENTION,
    LOG_RETENTION,
)
from explorer.core.transaction.commit_plan import CommitPlan, MaintenancePlan, Plan
from explorer.core.transaction.guards.columns import MAP_FIRST
from explorer.core.transaction.intents.records import CleanLog, SetProperties, Vacuum
from explorer.core.transaction.proposal import GRAVEST_FIRST, GuardResult, GuardStatus
from explorer.views.act.intent_form import answers_of

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
        sentence: The result, in words.
        facts: The other evidence, by name.
        tables: Evidence that is a list of records.
        remedy: What to do; empty if there is nothing to do.
        ways: Where that leads.
        acceptable: It blocks until it is accepted by name.
        accepted: It was accepted by name.
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
    acceptable: bool
    accepted: bool
    blocks: bool


def guard_views(plan: Plan) -> tuple[GuardView, ...]:
    """Describe the guards of a plan, those that block it first."""
    blocking = set(map(id, plan.blocking))
    expression = getattr(plan.intent, "expression", None)
    views = [_guard(guard, plan, expression, blocks=id(guard) in blocking) for guard in plan.guards]
    return tuple(sorted(views, key=lambda view: GRAVEST_FIRST.index(view.status)))


_FOUND: Final = frozenset({"changes-something", "files-found", "masked-rows-found", "rows-found"})
"""Guards that fail where a change has nothing to change."""


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
    failing = [guard for guard in guards if guard.blocks and guard.status == "fail" and not guard.acceptable]
    waiting = [guard for guard in guards if guard.blocks and guard.status == "fail" and guard.acceptable]
    unknown = [guard for guard in guards if guard.blocks and guard.status == "unknown"]
    if failing and all(guard.name in _FOUND for guard in failing):
        return "Nothing to do.", "info"
    if failing:
        return f"This must not be {made}: {fmt.plural(len(failing), 'guard')} failed.", "danger"
    if waiting:
        return f"{waiting[0].sentence} Nothing is {made} unless you accept this by name.", "danger"
    if unknown and isinstance(plan, CommitPlan) and plan.rests_on_rows and not plan.checked_rows:
        return "Check the rows before you commit this.", "warning"
    if isinstance(plan, MaintenancePlan) and not plan.files:
        return "Nothing to commit.", "ok"
    if unknown:
        what = "One guard is" if len(unknown) == 1 else f"{len(unknown)} guards are"
        return f"{what} unknown. Fix the cause, or accept by name what cannot be known.", "warning"
    if accepted := [guard for guard in guards if guard.accepted and guard.status == "fail"]:
        return f"This can be {made}, as you accepted {accepted[0].name} by name. {accepted[0].sentence}", "warning"
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
        acceptable=guard.waits_for_acceptance,
        accepted=guard.waits_for_acceptance and guard.name in plan.accepted,
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


_MOST: Final = 4


@dataclass(frozen=True, slots=True)
class GuardStep:
    """A next step.

    Attributes:
        label: What it is, for people.
        kind, answers: The change to open and the answers to its form; no kind opens no change.
        where: The condition of the rows to show.
        compared: The version to compare the newest one with.
        part: A part of the page that is shown already.
    """

    label: str
    kind: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    where: str = ""
    compared: int | None = None
    part: str = ""


def next_steps_of(guard: GuardResult, plan: Plan) -> tuple[GuardStep, ...]:
    """Return the next steps of a guard that did not pass."""
    if guard.status == "pass":
        return ()
    find = _WAYS.get(guard.name)
    steps = [] if find is None else list(find(guard, plan))
    return tuple(steps[:_MOST])


def violating(predicate: str) -> str:
    """Return the condition of the rows that do not satisfy a predicate: for them it is false, or null."""
    return f"({predicate}) IS NOT TRUE"


def _rows(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    predicate, number = guard.evidence.get("predicate"), guard.evidence.get("violations")
    if isinstance(predicate, str) and isinstance(number, int) and guard.status == "fail":
        rows_text = "this row" if number == 1 else f"these {fmt.count(number)} rows"
        yield GuardStep(f"Show {rows_text}", where=violating(predicate))
        yield GuardStep(f"Update {rows_text} \u2026", "update", (("where", violating(predicate)),))
        yield GuardStep(f"Delete {rows_text} \u2026", "delete", (("where", violating(predicate)),))


def _features(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    lacking = guard.evidence.get("lacking")
    names = sorted({str(feature) for feature in lacking.values()}) if isinstance(lacking, Mapping) else []
    yield from (GuardStep(f"Enable {name} \u2026", "enable-feature", (("feature", name),)) for name in names)


def _retention(guard: GuardResult, plan: Plan) -> Iterator[GuardStep]:
    if isinstance(plan, CommitPlan) and plan.proposal.metadata is not None:
        # Only where files outlive the log: a longer log helps with no other retention.
        if guard.status != "fail" or LOG_RETENTION.key not in guard.evidence:
            return
        files = FILE_RETENTION.text(plan.proposal.metadata.configuration) or ""
        requested = plan.intent.properties if isinstance(plan.intent, SetProperties) else {}
        yield _set({**requested, LOG_RETENTION.key: files}, f"Set {LOG_RETENTION} too \u2026")
    elif isinstance(plan.intent, Vacuum):
        yield _set({FILE_RETENTION.key: _interval(plan.intent.older_than)}, f"Set {FILE_RETENTION} \u2026")
    elif isinstance(plan.intent, CleanLog):
        if "ownCutoff" in guard.evidence:
            yield _set({LOG_RETENTION.key: _interval(plan.intent.older_than)}, f"Set {LOG_RETENTION} \u2026")
        else:
            yield _set({EXPIRED_LOG_CLEANUP.key: "true"}, f"Set {EXPIRED_LOG_CLEANUP} \u2026")


def _interval(text: str | None) -> str:
    interval = (text or "").strip()
    return interval if interval.lower().startswith("interval") else ""


def _set(properties: Mapping[str, str], label: str) -> GuardStep:
    answers = answers_of(SetProperties(properties=dict(properties)))
    return GuardStep(label, "set-properties", tuple((name, text) for name, text in answers.items() if text))


def _append_only(_guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    yield _set({APPEND_ONLY.key: "false"}, f"Set {APPEND_ONLY} to false \u2026")


def _mapping(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    if guard.evidence.get("from", "none") == "none":
        yield GuardStep("Map columns by name \u2026", "set-column-mapping", (("mode", "name"),))


def _names(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    if guard.remedy == MAP_FIRST:
        yield from _mapping(guard, _plan)


def _constraints(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    expressions = guard.evidence.get("expressions")
    named = [str(name).partition(" ") for name in expressions] if isinstance(expressions, Mapping) else []
    yield from (
        GuardStep(f"Drop the constraint {fmt.plain(name, 60)} \u2026", "drop-constraint", (("name", name),))
        for word, _, name in named
        if word == "constraint"
    )


def _switched_off(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    name, key = str(guard.evidence.get("feature", "")), str(guard.evidence.get("property", ""))
    feature = FEATURES.get(name.removesuffix("-preview"))
    if name == "columnMapping":
        yield GuardStep("Map columns by nothing \u2026", "set-column-mapping", (("mode", "none"),))
    elif feature is not None and feature.switch is not None:
        yield _set({key: feature.switch.default or ""}, f"Set {key} \u2026")


def _dependents(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    dependents = guard.evidence.get("neededBy")
    names = list(map(str, dependents)) if isinstance(dependents, list) else []
    yield from (GuardStep(f"Drop {name} \u2026", "drop-feature", (("feature", name),)) for name in names)


def _restored(guard: GuardResult, _plan: Plan) -> Iterator[GuardStep]:
    version = guard.evidence.get("version")
    if isinstance(version, int):
        yield GuardStep(f"Compare with v{version}", compared=version)


_WAYS: Final[Mapping[str, Callable[[GuardResult, Plan], Iterator[GuardStep]]]] = {
    "existing-rows": _rows,
    "features-present": _features,
    "retention": _retention,
    "append-only": _append_only,
    "column-mapping": _mapping,
    "mapping-mode": _mapping,
    "column-names": _names,
    "constraint-columns": _constraints,
    "feature-switched-off": _switched_off,
    "feature-dependents": _dependents,
    "history-barrier": lambda _guard, _plan: iter([GuardStep("Write a checkpoint \u2026", "checkpoint")]),
    "protected-history": lambda _guard, _plan: iter([GuardStep("Clean the log \u2026", "clean-log")]),
    "files-exist": lambda _guard, _plan: iter([GuardStep("Choose another version \u2026", "restore")]),
    "restore": _restored,
    "committer": lambda _guard, _plan: iter([GuardStep("Give your name", part="person-card")]),
    "access": lambda _guard, _plan: iter([GuardStep("Show these clients", part="losses")]),
}
"""By the guard's name."""
