"""Rules that rows keep: CHECK constraints, and columns without nulls."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import COLUMNS, CONSTRAINTS, Headline, IntentGroup, intent_entry
from explorer.views.act.intents.fields import Answers, Choice, FormField, column_field, given_texts
from explorer.views.act.intents.hints import chosen_hint, column_hint, mentioned_columns_hint

__all__ = ["CONSTRAINT_INTENTS"]


def _add_constraint(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "name", "Name", help="Shown in the history, and in the error when a writer violates the rule.",
            placeholder="amount_positive", value=answers.get("name", ""),
        ),
        FormField(
            "expression", "Expression", "code",
            "SQL that must be TRUE for every row, now and in the future. NULL is not TRUE. Put names with dots or "
            "spaces in backticks.",
            "amount > 0 AND amount < 1e9", answers.get("expression", ""),
        ),
    )  # fmt: skip


def _drop_constraint(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    named = constraints(snapshot.metadata.configuration)
    choices = tuple(Choice(name, name, expression) for name, expression in sorted(named.items()))
    help_ = "New rows may violate it afterwards. Existing rows do not change."
    return (FormField("name", "Constraint", "options", help_, value=answers.get("name", ""), choices=choices),)


def _constraint_count(snapshot: Snapshot) -> str:
    named = constraints(snapshot.metadata.configuration)
    return fmt.plural(len(named), "constraint") if named else "no constraint"


def _not_null_count(snapshot: Snapshot) -> str:
    return f"{_required(snapshot)} not null" if _required(snapshot) else ""


def _required(snapshot: Snapshot) -> int:
    return sum(not field.nullable for _, field in walk(snapshot.schema))


CONSTRAINT_INTENTS: Final = IntentGroup(
    "Rules",
    (
        intent_entry(
            intents.AddConstraint, "Add a constraint", "A rule that every row must satisfy, now and in the future.",
            fields=_add_constraint, document=given_texts("name", "expression"), state=_constraint_count,
            headline=lambda intent: Headline("Add constraint", intent.name, intent.expression),
            hints=mentioned_columns_hint, beside=(COLUMNS, CONSTRAINTS),
        ),
        intent_entry(
            intents.DropConstraint, "Drop a constraint", "New rows may violate it afterwards.",
            fields=_drop_constraint, document=given_texts("name"), state=_constraint_count,
            headline=lambda intent: Headline("Drop constraint", intent.name),
            hints=chosen_hint("name", _drop_constraint),
            why_not=lambda s: "" if constraints(s.metadata.configuration) else "The table has no constraints.",
        ),
        intent_entry(
            intents.SetNotNull, "Refuse nulls", "Every row must have a value in the column, now and in the future.",
            fields=column_field, document=given_texts("column"), state=_not_null_count,
            headline=lambda intent: Headline("Refuse nulls in", intent.column),
            hints=column_hint, beside=(COLUMNS,),
        ),
        intent_entry(
            intents.DropNotNull, "Allow nulls", "New rows may have no value in the column.",
            fields=column_field, document=given_texts("column"), state=_not_null_count,
            headline=lambda intent: Headline("Allow nulls in", intent.column),
            hints=column_hint, beside=(COLUMNS,),
            why_not=lambda s: "" if _required(s) else "No column is NOT NULL.",
        ),
    ),
)  # fmt: skip
