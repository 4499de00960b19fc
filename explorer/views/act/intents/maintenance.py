"""Intents that make no version: checkpoints, compactions, and deleting files that nothing needs any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION
from explorer.core.protocol.table_properties.table_property import Interval
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import Headline, IntentGroup, intent_entry
from explorer.views.act.intents.fields import Answers, FormField, number_or_text
from explorer.views.act.intents.hints import version_hints

__all__ = ["MAINTENANCE_INTENTS"]

_LISTING: Final = "Planning lists all files in the table's folder."


def _compaction(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField("from", "First version", help="Its commit must be in the log.", placeholder="0",
                  value=answers.get("from", ""), is_version=True),
        FormField("to", "Last version", help="A later version. Readers then open one file for all these commits.",
                  placeholder=str(snapshot.version), value=answers.get("to", ""), is_version=True),
    )  # fmt: skip


def _log_age(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return _age(snapshot, answers, LOG_RETENTION, "versions whose log is deleted cannot be read.")


def _file_age(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    what = "versions that need a deleted file cannot be read."
    return _age(snapshot, answers, FILE_RETENTION, what)


def _age(snapshot: Snapshot, answers: Answers, retention: Interval, what: str) -> tuple[FormField, ...]:
    period = retention.text(snapshot.metadata.configuration) or ""
    help_ = (
        f"An interval, or a time with a zone. Empty means the table\u2019s own {retention}: {period}. Nothing "
        f"newer than that is deleted; {what}"
    )
    value = answers.get("olderThan", "")
    return (FormField("olderThan", "Older than", "text", help_, period, value, required=False),)


def _aged(answers: Answers) -> dict[str, object]:
    text = answers.get("olderThan", "").strip()
    return {"olderThan": text} if text else {}


def _retention_text(retention: Interval) -> Callable[[Snapshot], str]:
    return lambda snapshot: (retention.text(snapshot.metadata.configuration) or "").removeprefix("interval ")


def _aged_headline(verb: str, older_than: str | None) -> Headline:
    return Headline(verb) if older_than is None else Headline(f"{verb}, older than", older_than)


MAINTENANCE_INTENTS: Final = IntentGroup(
    "Maintenance",
    (
        intent_entry(
            intents.Checkpoint, "Write a checkpoint",
            "One file with the current state of the table, so that it opens faster.",
            state=lambda s: f"of v{s.version}", headline=lambda _: Headline("Write a checkpoint"), needs_answer=False,
        ),
        intent_entry(
            intents.CompactLog, "Compact the log", "One file for a range of commits that readers can open instead.",
            fields=_compaction, document=lambda a: {name: number_or_text(a.get(name, "")) for name in ("from", "to")},
            state=lambda s: f"now v{s.version}",
            headline=lambda intent: Headline("Compact the log", f"v{intent.from_} to v{intent.to}"),
            hints=version_hints("from", "to"), why_not=lambda s: "" if s.version else "There is only one commit.",
        ),
        intent_entry(
            intents.CleanLog, "Clean up the log", "Delete expired log files. Their versions can no longer be read.",
            fields=_log_age, document=_aged, state=_retention_text(LOG_RETENTION), needs_answer=False,
            headline=lambda intent: _aged_headline("Clean up the log", intent.older_than),
        ),
        intent_entry(
            intents.Vacuum, "Delete unused files",
            "Vacuum: delete data files that were removed from the table long ago. Old versions may need them.",
            fields=_file_age, document=_aged, state=_retention_text(FILE_RETENTION), needs_answer=False,
            headline=lambda intent: _aged_headline("Delete unused files", intent.older_than), costly=_LISTING,
        ),
    ),
)  # fmt: skip
