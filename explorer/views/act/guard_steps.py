"""Where a guard's remedy leads: to a change with its form filled in, to the rows, to the versions, or down the page.

A way is offered where the guard's evidence says all that the next step needs; it decides nothing: what it opens is
planned and guarded like any other change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.table_features import FEATURES
from explorer.core.protocol.table_properties.registry import (
    APPEND_ONLY,
    EXPIRED_LOG_CLEANUP,
    FILE_RETENTION,
    LOG_RETENTION,
)
from explorer.core.transaction.commit_plan import CommitPlan, Plan
from explorer.core.transaction.guards.columns import MAP_FIRST
from explorer.core.transaction.intents.records import CleanLog, SetProperties, Vacuum
from explorer.core.transaction.proposal import GuardResult
from explorer.views.act.intent_form import answers_of

__all__ = ["GuardStep", "next_steps_of", "violating"]

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
