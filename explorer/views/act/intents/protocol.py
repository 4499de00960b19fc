"""The protocol: features that it lists, and its versions."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.table_features import (
    CATALOG_FEATURES,
    FEATURES,
    READER_VERSION,
    WRITER_VERSION,
    TableFeature,
    supported_features,
)
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import Headline, IntentGroup, intent_entry
from explorer.views.act.intents.fields import Answers, Choice, FormField, chosen_hint, given_texts, number_or_text

_VERSIONS: Final = ("minReaderVersion", "minWriterVersion")


def _enable(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    supported = supported_features(snapshot.protocol)
    choices = []
    for feature in FEATURES.values():
        if feature.name in CATALOG_FEATURES or feature.name.endswith("-preview"):
            continue
        why = "" if feature.writable else "Delta Table Explorer cannot write tables with it"
        binds = "readers and writers" if feature.reader else "writers"
        state = _state(feature.name, snapshot) if feature.name in supported else ""
        choices.append(Choice(feature.name, f"{feature.name}{state}", f"Binds {binds}. {_switch(feature)}", why))
    value = answers.get("feature", "")
    help_ = "A reader feature has a higher cost: clients that do not support it can no longer read the table."
    return (FormField("feature", "Feature", "choice", help_, value=value, choices=tuple(choices)),)


def _state(name: str, snapshot: Snapshot) -> str:
    """Return how the protocol already has a feature: by name, or because its version includes it."""
    if name in _listed(snapshot):
        return ", in the protocol already"
    return f", part of writer version {snapshot.protocol.min_writer_version} already"


def _switch(feature: TableFeature) -> str:
    switch = feature.switch
    if switch is None:
        return "No property enables it. It is used as soon as the schema or an action needs it."
    return f"Sets {switch.key} = {feature.on[0]}: {switch.effect[0].lower()}{switch.effect[1:]}"


def _drop(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    choices = tuple(
        Choice(name, name, f"Binds {'readers and writers' if FEATURES[name].reader else 'writers'}.")
        if name in FEATURES
        else Choice(name, name)
        for name in sorted(_listed(snapshot))
    )
    help_ = "Nothing may still use it. The guards list what does."
    return (FormField("feature", "Feature", "options", help_, value=answers.get("feature", ""), choices=choices),)


def _listed(snapshot: Snapshot) -> set[str]:
    return {*(snapshot.protocol.reader_features or ()), *(snapshot.protocol.writer_features or ())}


def _upgrade(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    protocol = snapshot.protocol

    def field(name: str, label: str, now: int, newest: int, who: str) -> FormField:
        choices = tuple(
            Choice(str(number), f"{number}, as now" if number == now else str(number))
            for number in range(max(now, 1), newest + 1)
        )
        return FormField(name, label, "choice", who, value=answers.get(name, str(now)), choices=choices)

    return (
        field("minReaderVersion", "Reader version", protocol.min_reader_version, READER_VERSION,
              "Clients below it can no longer read the table. 3 means that features are listed by name."),
        field("minWriterVersion", "Writer version", protocol.min_writer_version, WRITER_VERSION,
              "Clients below it can no longer write to the table. 7 means that features are listed by name."),
    )  # fmt: skip


def _supported_count(snapshot: Snapshot) -> str:
    count = len(supported_features(snapshot.protocol))
    return f"{fmt.plural(count, 'feature')} supported" if count else "no feature"


def _upgrade_headline(intent: intents.UpgradeProtocol) -> Headline:
    versions = f"reader {intent.min_reader_version}, writer {intent.min_writer_version}"
    return Headline("Upgrade the protocol to", versions)


PROTOCOL_INTENTS: Final = IntentGroup(
    "Protocol",
    (
        intent_entry(
            intents.EnableFeature, "Enable a feature", "Add a table feature to the protocol and enable it.",
            fields=_enable, document=given_texts("feature"), state=_supported_count,
            headline=lambda intent: Headline("Enable feature", intent.feature), hints=chosen_hint("feature", _enable),
        ),
        intent_entry(
            intents.DropFeature, "Drop a feature", "Remove a table feature from the protocol once nothing uses it.",
            fields=_drop, document=given_texts("feature"),
            state=lambda s: fmt.plural(len(supported_features(s.protocol)), "feature"),
            headline=lambda intent: Headline("Drop feature", intent.feature), hints=chosen_hint("feature", _drop),
            why_not=lambda s: "" if _listed(s) else "The protocol lists no feature by name.",
        ),
        intent_entry(
            intents.UpgradeProtocol, "Upgrade the protocol",
            "Minimum protocol versions that clients must support. This cannot be undone.",
            fields=_upgrade, headline=_upgrade_headline,
            document=lambda a: {name: number_or_text(a.get(name, "")) for name in _VERSIONS},
            state=lambda s: f"reader {s.protocol.min_reader_version}, writer {s.protocol.min_writer_version}",
        ),
    ),
)  # fmt: skip
