"""The kinds of change that a page offers, by the name of their intent and in groups."""

from __future__ import annotations

from typing import Final

from explorer.views.act.column_kinds import COLUMN_KINDS
from explorer.views.act.maintenance_kinds import MAINTENANCE_KINDS
from explorer.views.act.questions import Answers, ChangeKind, Choice, FormField, numbered_answers
from explorer.views.act.table_kinds import TABLE_KINDS

__all__ = ["GROUPS", "KINDS", "Answers", "ChangeKind", "Choice", "FormField", "numbered_answers"]

KINDS: Final[dict[str, ChangeKind]] = TABLE_KINDS | COLUMN_KINDS | MAINTENANCE_KINDS

GROUPS: Final = (
    ("Rules", ("add-constraint", "drop-constraint", "set-not-null", "drop-not-null")),
    (
        "Columns",
        (
            "add-columns", "rename-column", "move-column", "drop-columns", "widen-type", "set-column-comment",
            "set-column-mapping",
        ),
    ),
    ("Table", ("set-properties", "unset-properties", "set-description")),
    ("Protocol", ("enable-feature", "drop-feature", "upgrade-protocol")),
    ("History", ("restore",)),
    ("Maintenance", ("checkpoint", "compact-log", "clean-log", "vacuum")),
)  # fmt: skip
