"""The table as a whole: properties, description, another version, and maintenance, which makes no version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from explorer import formatting as fmt
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION, property_of
from explorer.core.protocol.table_properties.registry import PROPERTIES as KNOWN
from explorer.core.protocol.table_properties.table_property import Interval
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import PROPERTIES, Headline, IntentGroup, counted, intent_entry
from explorer.views.act.intents.fields import (
    Answers,
    Choice,
    FormField,
    age_reading,
    given_pairs,
    listed_answers,
    number_or_text,
    property_hints,
    version_hints,
)
from explorer.views.table.facts import TableFacts


def _set_properties(_snapshot: Snapshot, _answers: Answers) -> tuple[FormField, ...]:
    choices = tuple(
        Choice(known.key, known.effect, "no default" if known.default is None else f"default {known.default}")
        for known in KNOWN.values()
        if known.why_fixed is None
    )
    help_ = "Keys of your own need no prefix; the name, type and range of keys that begin with delta. are checked."
    return (FormField("properties", "Properties", "pairs", help_, LOG_RETENTION.key, choices=choices),)


def _unset_properties(snapshot: Snapshot, _answers: Answers) -> tuple[FormField, ...]:
    options = [
        Choice(key, key, value, _why_required(key)) for key, value in sorted(snapshot.metadata.configuration.items())
    ]
    choices = tuple(sorted(options, key=lambda choice: bool(choice.why_not)))
    help_ = "The default applies again. Data and features do not change."
    return (FormField("keys", "Properties to remove", "checks", help_, choices=choices),)


def _why_required(key: str) -> str:
    if constraint_name(key) is not None:
        return "a constraint; drop it by name"
    known = property_of(key)
    return "" if known is None or known.why_fixed is None else known.why_fixed


def _describe(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    value = answers.get("description", snapshot.metadata.description or "")
    help_ = "Purpose of the table, meaning of a row, and a contact."
    return (FormField("description", "Description", "prose", help_, value=value),)


def _property_count(snapshot: Snapshot) -> str:
    count = len(snapshot.metadata.configuration)
    return f"{fmt.plural(count, 'property', 'properties')} set" if count else "none set"


def _set_headline(intent: intents.SetProperties) -> Headline:
    lines = "\n".join(f"{key} = {value}" for key, value in intent.properties.items())
    return Headline("Set", counted(intent.properties, "property", "properties"), lines)


def _unset_headline(intent: intents.UnsetProperties) -> Headline:
    shown = "\n".join(intent.keys) if len(intent.keys) > 1 else ""
    return Headline("Unset", counted(intent.keys, "property", "properties"), shown)


TABLE_INTENTS: Final = IntentGroup(
    "Table",
    (
        intent_entry(
            intents.SetProperties, "Set properties", "Set how writers behave, and retention periods.",
            fields=_set_properties, document=lambda answers: {"properties": given_pairs(answers)},
            state=_property_count, headline=_set_headline, hints=property_hints, beside=(PROPERTIES,),
        ),
        intent_entry(
            intents.UnsetProperties, "Unset properties", "Remove properties, so that their defaults apply again.",
            fields=_unset_properties, document=lambda answers: {"keys": listed_answers(answers, "keys")},
            state=_property_count, headline=_unset_headline,
            why_not=lambda s: "" if s.metadata.configuration else "No properties are set.",
        ),
        intent_entry(
            intents.SetDescription, "Describe the table", "Shown to readers of the table.",
            fields=_describe, document=lambda answers: {"description": answers.get("description") or None},
            state=lambda s: "has a description" if s.metadata.description else "no description",
            headline=lambda intent: Headline("Describe the table", "", intent.description or ""),
        ),
    ),
)  # fmt: skip


def _fields(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "version", "Version", help="A new version gets the files, schema, and properties of this "
            "version. No version in between is lost.", placeholder=str(max(snapshot.version - 1, 0)),
            value=answers.get("version", ""), required=False,
        ),
        FormField(
            "timestamp", "or time", help="In UTC unless you name a zone. The last version at that time is restored.",
            placeholder="yesterday 18:00, or 2026-03-02 14:05", value=answers.get("timestamp", ""), required=False,
        ),
    )  # fmt: skip


def _document(answers: Answers) -> dict[str, object]:
    version, timestamp = answers.get("version", "").strip(), answers.get("timestamp", "").strip()
    named = number_or_text(version)
    if version and not timestamp and not isinstance(named, int):
        return {"timestamp": version}
    document: dict[str, object] = {"version": named} if version else {}
    return document | ({"timestamp": timestamp} if timestamp else {})


def _headline(intent: intents.Restore) -> Headline:
    return Headline("Restore", f"v{intent.version}" if intent.version is not None else str(intent.timestamp))


RESTORE_INTENTS: Final = IntentGroup(
    "History",
    (
        intent_entry(
            intents.Restore, "Restore a version", "Bring back an earlier state of the table as a new version.",
            fields=_fields, document=_document, headline=_headline, state=lambda s: f"now v{s.version}",
            hints=version_hints("version", "timestamp"),
            why_not=lambda s: "" if s.version else "There is no earlier version.",
        ),
    ),
)  # fmt: skip


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
        f"An interval, or a time such as last Monday, in UTC unless you name a zone. Empty means the table\u2019s own "
        f"{retention}: {period}. Nothing "
        f"newer than that is deleted; {what}"
    )
    value = answers.get("olderThan", "")
    return (FormField("olderThan", "Older than", "text", help_, period, value, required=False),)


def _aged(answers: Answers) -> dict[str, object]:
    text = answers.get("olderThan", "").strip()
    return {"olderThan": text} if text else {}


def _age_hint(answers: Answers, facts: TableFacts, _snapshot: Snapshot) -> dict[str, str]:
    """Return how a time in words is read."""
    text = answers.get("olderThan", "").strip()
    try:
        named = age_reading(text, facts) if text else ""
    except InvalidIntent:
        return {}  # the check says what is wrong with it
    return {"olderThan": f"Older than {named}." if named else ""}


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
            hints=_age_hint,
            headline=lambda intent: _aged_headline("Clean up the log", intent.older_than),
        ),
        intent_entry(
            intents.Vacuum, "Vacuum: delete unused files",
            "Deletes data files that were removed from the table long ago. Old versions may need them.",
            fields=_file_age, document=_aged, state=_retention_text(FILE_RETENTION), needs_answer=False,
            hints=_age_hint,
            headline=lambda intent: _aged_headline("Delete unused files", intent.older_than), costly=_LISTING,
        ),
    ),
)  # fmt: skip
