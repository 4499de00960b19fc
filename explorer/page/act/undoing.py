"""The step of the Edit tab that says what undoes a commit; its links fill in the forms, and nothing is planned yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explorer.page.address import Address
from explorer.views import TableView
from explorer.views.act.undo_view import UndoStep, undo_view


def undo_values(view: TableView, address: Address) -> dict[str, Any]:
    """Return the values of the template ``act-undo`` for the commit of the version shown."""
    undo = undo_view(view.facts, view.version)
    return {
        "undo": undo,
        "steps_to": [(step, plan_of(address, step)) for step in undo.steps],
        "restore_to": None if undo.instead is None else address.filled("restore", {"version": str(undo.instead)}),
    }


def plan_of(address: Address, step: UndoStep) -> str:
    """Return the address of the plan of a step; opened from elsewhere, it shows the form filled in."""
    plain = replace(address, act=step.kind, step="plan", answers=step.answers, back="", compared="")
    return plain.to(tab="act", version=None)
