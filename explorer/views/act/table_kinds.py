"""Changes of rules, properties, the protocol, names of columns and the version: what each asks, and its intent."""

from __future__ import annotations

from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.protocol.table_features import (
    CATALOG_FEATURES,
    FEATURES,
    READER_VERSION,
    WRITER_VERSION,
    supported_features,
)
from explorer.core.protocol.table_properties.registry import PROPERTIES
from explorer.core.protocol.table_properties.values import constraints
from explorer.views.act.questions import (
    Answers,
    ChangeKind,
    Choice,
    FormField,
    given_pairs,
    given_texts,
    listed_answers,
    number_or_text,
)

__all__ = ["TABLE_KINDS"]

# --- the questions


def _add_constraint(_snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "name", "Name", help="Stands in the history and in the message of a writer that breaks the rule.",
            placeholder="amount_positive", value=answers.get("name", ""),
        ),
        FormField(
            "expression", "Expression", "code",
            "SQL that must be true for every row, now and from now on. Null is not true. Names with dots or blanks "
            "stand in backticks.",
            "amount > 0 AND amount < 1e9", answers.get("expression", ""),
        ),
    )  # fmt: skip


def _drop_constraint(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    found = constraints(snapshot.metadata.configuration)
    choices = tuple(Choice(name, name, expression) for name, expression in sorted(found.items()))
    help_ = "Rows that break it may be written afterwards; nothing that is there changes."
    return (FormField("name", "Constraint", "options", help_, value=answers.get("name", ""), choices=choices),)


def _upgrade(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    protocol = snapshot.protocol

    def field(name: str, label: str, now: int, newest: int, who: str) -> FormField:
        choices = tuple(
            Choice(str(number), f"{number}, as it is" if number == now else str(number))
            for number in range(max(now, 1), newest + 1)
        )
        return FormField(name, label, "choice", who, value=answers.get(name, str(now)), choices=choices)

    return (
        field("minReaderVersion", "Reader version", protocol.min_reader_version, READER_VERSION,
              "Clients below it can no longer read the table. 3 means that features are listed by name."),
        field("minWriterVersion", "Writer version", protocol.min_writer_version, WRITER_VERSION,
              "Clients below it can no longer write to the table. 7 means that features are listed by name."),
    )  # fmt: skip


def _enable(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    supported = supported_features(snapshot.protocol)
    choices = []
    for feature in FEATURES.values():
        if feature.name in CATALOG_FEATURES or feature.name.endswith("-preview"):
            continue
        why = "" if feature.writable else "this program does not write tables with it"
        binds = "readers and writers" if feature.reader else "writers"
        listed = ", listed already" if feature.name in supported else ""
        choices.append(Choice(feature.name, f"{feature.name}{listed}", f"Binds {binds}. {_switch(feature.name)}", why))
    value = answers.get("feature", "")
    help_ = "One that binds readers is the graver choice: clients that do not know it can no longer read the table."
    return (FormField("feature", "Feature", "choice", help_, value=value, choices=tuple(choices)),)


def _switch(feature: str) -> str:
    for known in PROPERTIES.values():
        if known.feature == feature and known.why_fixed is None:
            value = known.on[0] if known.allowed else "true"
            return f"Sets {known.key} = {value}: {known.effect[0].lower()}{known.effect[1:]}"
    return "No property switches it; it is in use as soon as the schema or an action needs it."


def _set_properties(_snapshot: Any, _answers: Answers) -> tuple[FormField, ...]:
    choices = tuple(
        Choice(known.key, known.effect, _default(known.default))
        for known in PROPERTIES.values()
        if known.why_fixed is None
    )
    help_ = "Keys of your own need no prefix; those that begin with delta. are checked by name, type and range."
    return (FormField("properties", "Properties", "pairs", help_, "delta.logRetentionDuration", choices=choices),)


def _default(default: str | None) -> str:
    return "no default" if default is None else f"default {default}"


def _unset_properties(snapshot: Any, _answers: Answers) -> tuple[FormField, ...]:
    found = [Choice(key, key, value, _why_kept(key)) for key, value in sorted(snapshot.metadata.configuration.items())]
    choices = tuple(sorted(found, key=lambda choice: bool(choice.why_not)))
    help_ = "The default holds again. Data and features stay as they are."
    return (FormField("keys", "Properties to remove", "checks", help_, choices=choices),)


def _why_kept(key: str) -> str:
    if key.startswith("delta.constraints."):
        return "a constraint: drop it by name"
    known = PROPERTIES.get(key.lower())
    return "" if known is None or known.why_fixed is None else known.why_fixed


def _describe(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    value = answers.get("description", snapshot.metadata.description or "")
    help_ = "Who the table is for, what a row is, whom to ask."
    return (FormField("description", "Description", "prose", help_, value=value),)


def _mapping(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    now = snapshot.column_mapping_mode
    about = {
        "name": "Files are read by a name of each column's own. Columns can be renamed and dropped.",
        "id": "Files are read by each column's id. Only for a table that was made so.",
        "none": "Files are read by the names that people see.",
    }
    choices = tuple(Choice(mode, f"{mode}, as it is" if mode == now else mode, text) for mode, text in about.items())
    return (FormField("mode", "Mode", "options", value=answers.get("mode", ""), choices=choices),)


def _rename(_snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "column", "Column", "column", "A nested one with dots: address.city. A part that holds a dot stands in "
            "backticks.", value=answers.get("column", ""),
        ),
        FormField("to", "New name", help="The last part alone; the column stays where it is.",
                  value=answers.get("to", "")),
    )  # fmt: skip


def _restore(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "version", "Version", help="The files and the form of the table become those of this version, in a new "
            "one. Nothing between is lost.", placeholder=str(max(snapshot.version - 1, 0)),
            value=answers.get("version", ""), required=False, is_version=True,
        ),
        FormField(
            "timestamp", "or time", help="ISO 8601 with a zone; the last version at that time is taken.",
            placeholder="2026-03-02T14:05:00Z", value=answers.get("timestamp", ""), required=False,
        ),
    )  # fmt: skip


# --- the intents


def _upgrade_intent(answers: Answers) -> dict[str, Any]:
    return {name: number_or_text(answers.get(name, "")) for name in ("minReaderVersion", "minWriterVersion")}


def _restore_intent(answers: Answers) -> dict[str, Any]:
    version, timestamp = answers.get("version", "").strip(), answers.get("timestamp", "").strip()
    return ({"version": number_or_text(version)} if version else {}) | ({"timestamp": timestamp} if timestamp else {})


# --- how the table stands


def _constraint_count(snapshot: Any) -> str:
    found = constraints(snapshot.metadata.configuration)
    return fmt.plural(len(found), "constraint") if found else "no constraint"


def _property_count(snapshot: Any) -> str:
    count = len(snapshot.metadata.configuration)
    return f"{fmt.plural(count, 'property', 'properties')} set" if count else "none set"


def _versions(snapshot: Any) -> str:
    return f"reader {snapshot.protocol.min_reader_version}, writer {snapshot.protocol.min_writer_version}"


def _features(snapshot: Any) -> str:
    count = len(supported_features(snapshot.protocol))
    return f"{fmt.plural(count, 'feature')} supported" if count else "no feature"


def _rename_why_not(snapshot: Any) -> str:
    mapped = snapshot.column_mapping_mode != "none"
    return "" if mapped else "Columns are not mapped: set the column mapping to name first."


TABLE_KINDS: Final[dict[str, ChangeKind]] = {
    "add-constraint": ChangeKind(
        "Add a constraint", "A rule that every row keeps, now and from now on.",
        _add_constraint, given_texts("name", "expression"), _constraint_count,
    ),
    "drop-constraint": ChangeKind(
        "Drop a constraint", "Rows that break it may be written again.",
        _drop_constraint, given_texts("name"), _constraint_count,
        lambda s: "" if constraints(s.metadata.configuration) else "The table has no constraint.",
    ),
    "set-properties": ChangeKind(
        "Set properties", "How writers behave, what they keep and for how long.",
        _set_properties, lambda answers: {"properties": given_pairs(answers)}, _property_count,
    ),
    "unset-properties": ChangeKind(
        "Unset properties", "Back to the defaults.",
        _unset_properties, lambda answers: {"keys": listed_answers(answers, "keys")}, _property_count,
        lambda s: "" if s.metadata.configuration else "No property is set.",
    ),
    "set-description": ChangeKind(
        "Describe the table", "What people read before they use it.",
        _describe, lambda answers: {"description": answers.get("description") or None},
        lambda s: "has a description" if s.metadata.description else "no description",
    ),
    "set-column-mapping": ChangeKind(
        "Map columns", "Names that may change, apart from those in the files.",
        _mapping, given_texts("mode"), lambda s: f"mode {s.column_mapping_mode}",
    ),
    "rename-column": ChangeKind(
        "Rename a column", "Another name for people; no file is touched.",
        _rename, given_texts("column", "to"), lambda _: "", _rename_why_not,
    ),
    "upgrade-protocol": ChangeKind(
        "Upgrade the protocol", "Which versions of the protocol clients must know. Never goes back.",
        _upgrade, _upgrade_intent, _versions,
    ),
    "enable-feature": ChangeKind(
        "Enable a feature", "List it in the protocol, and switch it on.",
        _enable, given_texts("feature"), _features,
    ),
    "restore": ChangeKind(
        "Restore a version", "The table as it was, as a new version.",
        _restore, _restore_intent, lambda s: f"now v{s.version}",
        lambda s: "" if s.version else "There is no earlier version.",
    ),
}  # fmt: skip
