"""The intents that a page offers, in groups and by their kind."""

from __future__ import annotations

from typing import Final

from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.views.act.intents.columns import COLUMN_INTENTS
from explorer.views.act.intents.constraints import CONSTRAINT_INTENTS
from explorer.views.act.intents.entry import Headline, IntentEntry, IntentGroup, plain_headline
from explorer.views.act.intents.maintenance import MAINTENANCE_INTENTS
from explorer.views.act.intents.protocol import PROTOCOL_INTENTS
from explorer.views.act.intents.restore import RESTORE_INTENTS
from explorer.views.act.intents.rows import ROW_INTENTS
from explorer.views.act.intents.table import TABLE_INTENTS

__all__ = ["GROUPS", "entry_of", "headline", "offered_kinds"]

GROUPS: Final[tuple[IntentGroup, ...]] = (
    CONSTRAINT_INTENTS, COLUMN_INTENTS, ROW_INTENTS, TABLE_INTENTS, PROTOCOL_INTENTS, RESTORE_INTENTS,
    MAINTENANCE_INTENTS,
)  # fmt: skip
_ENTRIES: Final[dict[str, IntentEntry]] = {entry.kind: entry for group in GROUPS for entry in group.entries}


def offered_kinds() -> tuple[str, ...]:
    """Return the kinds of the intents that a page offers."""
    return tuple(_ENTRIES)


def entry_of(kind: str) -> IntentEntry:
    """Return the entry of one of the `offered_kinds`."""
    return _ENTRIES[kind]


def headline(intent: Intent) -> Headline:
    """Return what an intent asks for, in a few words; one that no page offers is described by its fields."""
    entry = _ENTRIES.get(intent_kind(intent))
    return (None if entry is None else entry.headline(intent)) or plain_headline(intent)
