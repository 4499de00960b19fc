"""What of the case of a window names a column that a plan renames or drops: pinned rows, findings, and plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.transaction.commit_plan import Plan
from explorer.core.transaction.guards.column_traces import names_column
from explorer.core.transaction.intents.records import DropColumns, RenameColumn
from explorer.report.case_file import AnyPin, CaseFile, FindingPin, PlanPin, RowsPin

_MOST: Final = 20


def case_traces(case: CaseFile, plan: Plan, location: str) -> tuple[str, ...]:
    """Return what the pins of a table say that names a column of the plan, a line each.

    Args:
        location: The table's root as a URL; pins of other tables are left out.
    """
    match plan.intent:
        case RenameColumn(column=column):
            names: tuple[str, ...] = (column,)
        case DropColumns(columns=columns):
            names = columns
        case _:
            return ()
    paths = [tuple(parse_column(name)) for name in names]
    here = location.rstrip("/")
    pins = (pin for pin in case.pins if pin.table is None or pin.table.rstrip("/") == here)
    return tuple(text for pin in pins for text in _named(pin, paths))[:_MOST]


def _named(pin: AnyPin, paths: Sequence[Path]) -> Iterator[str]:
    match pin:
        case RowsPin(where=where, version=version) if _names(where, paths):
            yield f"pinned rows of v{version} where {where}"
        case FindingPin(id=rule, subject=subject) if subject is not None and _names(subject, paths):
            yield f"the finding {rule} of {subject}"
        case PlanPin(plan=plan) if _names(msgspec.json.encode(plan.intent).decode(), paths):
            yield f"the plan {plan.intent.get('kind')}, {plan.plan_digest[:12]}"
        case _:
            return


def _names(text: str, paths: Sequence[Path]) -> bool:
    return any(names_column(text, path) for path in paths)
