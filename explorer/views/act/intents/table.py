"""The table's properties and its description."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.table_properties.registry import LOG_RETENTION, property_of
from explorer.core.protocol.table_properties.registry import PROPERTIES as KNOWN
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import PROPERTIES, Headline, IntentGroup, counted, intent_entry
from explorer.views.act.intents.fields import Answers, Choice, FormField, given_pairs, listed_answers
from explorer.views.act.intents.hints import property_hints

__all__ = ["TABLE_INTENTS"]


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
    return Headline("Unset", counted(intent.keys, "property", "properties"), "\n".join(intent.keys))


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
            intents.SetDescription, "Describe the table", "Shown to anyone who looks up the column.",
            fields=_describe, document=lambda answers: {"description": answers.get("description") or None},
            state=lambda s: "has a description" if s.metadata.description else "no description",
            headline=lambda intent: Headline("Describe the table", "", intent.description or ""),
        ),
    ),
)  # fmt: skip
