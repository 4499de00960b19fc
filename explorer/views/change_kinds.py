"""The kinds of change that a page offers: what each is called, what it asks, and the intent that its answers make.

Answers are texts by the question's name; those to a list are numbered (``key.0``, ``value.0``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.core.features import CATALOG_FEATURES, FEATURES, READER_VERSION, WRITER_VERSION, supported_features
from explorer.core.properties import constraints
from explorer.core.property_registry import PROPERTIES
from explorer.views import formatting as fmt

__all__ = ["GROUPS", "KINDS", "Answers", "ChangeKind", "Choice", "FormField", "numbered_answers"]

Answers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that may be chosen; ``why_not`` says why it cannot be, if it cannot."""

    value: str
    label: str
    hint: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """A question.

    Attributes:
        name: The answer's name.
        label, help: What is asked, and what a good answer is.
        kind: ``text``, ``code`` (several lines of SQL), ``prose``, ``column`` (a dotted path, with suggestions),
            ``choice`` (one of a list), ``options`` (one of a few, each explained), ``checks`` (several of a list),
            ``pairs`` (keys and values).
        value: The answer so far, or what is proposed.
        choices: What may be chosen.
        required: Whether the change makes no sense without it.
    """

    name: str
    label: str
    kind: str = "text"
    help: str = ""
    placeholder: str = ""
    value: str = ""
    choices: tuple[Choice, ...] = ()
    required: bool = True


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """A kind of change: what it is called, what it asks, the intent of its answers, how a version stands to it."""

    title: str
    about: str
    fields: Callable[[Any, Answers], tuple[FormField, ...]]
    intent: Callable[[Answers], dict[str, Any]]
    state: Callable[[Any], str]
    why_not: Callable[[Any], str] = lambda _: ""


def numbered_answers(answers: Answers, name: str) -> dict[str, str]:
    """Return the answers to a question by their names: its own, or the numbered ones of a list."""
    prefix = "key." if name == "properties" else f"{name}."
    numbered = {key: value for key, value in answers.items() if key.startswith(prefix) and key[len(prefix) :].isdigit()}
    return numbered or {name: answers.get(name, "")}


def _listed(answers: Answers, name: str) -> list[str]:
    return [
        value for _, value in sorted(numbered_answers(answers, name).items(), key=lambda pair: _place(pair[0])) if value
    ]


def _place(name: str) -> int:
    number = name.rpartition(".")[2]
    return int(number) if number.isdecimal() and len(number) < 6 else 0


def _pairs(answers: Answers) -> dict[str, str]:
    keys = sorted((name for name in answers if name.startswith("key.")), key=_place)
    return {answers[key]: answers.get(f"value.{_place(key)}", "") for key in keys if answers[key]}


def _number(text: str) -> int | str:
    digits = text.strip().removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else text


def _texts(*names: str) -> Callable[[Answers], dict[str, Any]]:
    return lambda answers: {name: answers.get(name, "") for name in names}


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
            value=answers.get("version", ""), required=False,
        ),
        FormField(
            "timestamp", "or time", help="ISO 8601 with a zone; the last version at that time is taken.",
            placeholder="2026-03-02T14:05:00Z", value=answers.get("timestamp", ""), required=False,
        ),
    )  # fmt: skip


# --- the intents


def _upgrade_intent(answers: Answers) -> dict[str, Any]:
    return {name: _number(answers.get(name, "")) for name in ("minReaderVersion", "minWriterVersion")}


def _restore_intent(answers: Answers) -> dict[str, Any]:
    version, timestamp = answers.get("version", "").strip(), answers.get("timestamp", "").strip()
    return ({"version": _number(version)} if version else {}) | ({"timestamp": timestamp} if timestamp else {})


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


KINDS: Final[dict[str, ChangeKind]] = {
    "add-constraint": ChangeKind(
        "Add a constraint", "A rule that every row keeps, now and from now on.",
        _add_constraint, _texts("name", "expression"), _constraint_count,
    ),
    "drop-constraint": ChangeKind(
        "Drop a constraint", "Rows that break it may be written again.",
        _drop_constraint, _texts("name"), _constraint_count,
        lambda s: "" if constraints(s.metadata.configuration) else "The table has no constraint.",
    ),
    "set-properties": ChangeKind(
        "Set properties", "How writers behave, what they keep and for how long.",
        _set_properties, lambda answers: {"properties": _pairs(answers)}, _property_count,
    ),
    "unset-properties": ChangeKind(
        "Unset properties", "Back to the defaults.",
        _unset_properties, lambda answers: {"keys": _listed(answers, "keys")}, _property_count,
        lambda s: "" if s.metadata.configuration else "No property is set.",
    ),
    "set-description": ChangeKind(
        "Describe the table", "What people read before they use it.",
        _describe, lambda answers: {"description": answers.get("description") or None},
        lambda s: "has a description" if s.metadata.description else "no description",
    ),
    "set-column-mapping": ChangeKind(
        "Map columns", "Names that may change, apart from those in the files.",
        _mapping, _texts("mode"), lambda s: f"mode {s.column_mapping_mode}",
    ),
    "rename-column": ChangeKind(
        "Rename a column", "Another name for people; no file is touched.",
        _rename, _texts("column", "to"), lambda s: fmt.plural(len(s.schema.fields), "column"), _rename_why_not,
    ),
    "upgrade-protocol": ChangeKind(
        "Upgrade the protocol", "Which versions of the protocol clients must know. Never goes back.",
        _upgrade, _upgrade_intent, _versions,
    ),
    "enable-feature": ChangeKind(
        "Enable a feature", "List it in the protocol, and switch it on.",
        _enable, _texts("feature"), _features,
    ),
    "restore": ChangeKind(
        "Restore a version", "The table as it was, as a new version.",
        _restore, _restore_intent, lambda s: f"now v{s.version}",
        lambda s: "" if s.version else "There is no earlier version.",
    ),
}  # fmt: skip

GROUPS: Final = (
    ("Rules", ("add-constraint", "drop-constraint")),
    ("Columns", ("rename-column", "set-column-mapping")),
    ("Table", ("set-properties", "unset-properties", "set-description")),
    ("Protocol", ("enable-feature", "upgrade-protocol")),
    ("History", ("restore",)),
)
