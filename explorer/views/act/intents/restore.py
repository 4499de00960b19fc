"""The table as it was at another version."""

from __future__ import annotations

from typing import Final

from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import Headline, IntentGroup, intent_entry
from explorer.views.act.intents.fields import Answers, FormField, number_or_text
from explorer.views.act.intents.hints import version_hints

__all__ = ["RESTORE_INTENTS"]


def _fields(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "version", "Version", help="A new version gets the files, schema, and properties of this "
            "version. No version in between is lost.", placeholder=str(max(snapshot.version - 1, 0)),
            value=answers.get("version", ""), required=False, is_version=True,
        ),
        FormField(
            "timestamp", "or time", help="ISO 8601 with a time zone. The last version at that time is restored.",
            placeholder="2026-03-02T14:05:00Z", value=answers.get("timestamp", ""), required=False,
        ),
    )  # fmt: skip


def _document(answers: Answers) -> dict[str, object]:
    version, timestamp = answers.get("version", "").strip(), answers.get("timestamp", "").strip()
    document: dict[str, object] = {"version": number_or_text(version)} if version else {}
    return document | ({"timestamp": timestamp} if timestamp else {})


def _headline(intent: intents.Restore) -> Headline:
    return Headline("Restore", f"v{intent.version}" if intent.version is not None else str(intent.timestamp))


RESTORE_INTENTS: Final = IntentGroup(
    "History",
    (
        intent_entry(
            intents.Restore, "Restore a version", "Bring back an earlier state of the table as a new version.",
            fields=_fields, document=_document, headline=_headline, state=lambda s: f"now v{s.version}",
            hints=version_hints("version"),
            why_not=lambda s: "" if s.version else "There is no earlier version.",
        ),
    ),
)  # fmt: skip
