"""Columns and rules: columns are added, renamed, moved, dropped, widened, commented on and mapped, one at a time;
constraints are added and dropped."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import COLUMNS, CONSTRAINTS, Headline, IntentGroup, intent_entry, plain_headline
from explorer.views.act.intents.examples import example_bound, example_name
from explorer.views.act.intents.fields import (
    Answers,
    Choice,
    FormField,
    chosen_hint,
    column_comment_hint,
    column_field,
    column_hint,
    given_texts,
    mentioned_columns_hint,
)

# --- what each asks


def _add(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField("name", "Name", help="For a field of a struct, use dots: address.city. Put a name that "
                  "contains a dot in backticks.", placeholder="delivered_on", value=answers.get("name", "")),
        FormField("type", "Type", help="A simple type: string, long, integer, double, boolean, date, timestamp, "
                  "decimal(12,2) and so on. Existing rows contain null.", placeholder="string",
                  value=answers.get("type", "")),
        FormField("comment", "Comment", "prose", "Meaning and unit of the column.", value=answers.get("comment", ""),
                  required=False),
        _at(answers, required=False),
    )  # fmt: skip


def _rename(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "Only the last part of the name. The column keeps its position."
    return (*column_field(snapshot, answers), FormField("to", "New name", help=help_, value=answers.get("to", "")))


def _move(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (*column_field(snapshot, answers), _at(answers, required=True))


def _widen(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "A type with every value of the current type: long for integer, decimal(14,2) for decimal(12,2)."
    return (*column_field(snapshot, answers), FormField("type", "New type", help=help_, value=answers.get("type", "")))


def _comment(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "Meaning and unit of the column. Empty removes the comment."
    value = answers.get("comment", "")
    return (
        *column_field(snapshot, answers),
        FormField("comment", "Comment", "prose", help_, value=value, required=False),
    )


def _mapping(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    now = snapshot.column_mapping_mode
    about = {
        "name": "Each column has a separate physical name in the files. You can rename and drop columns.",
        "id": "Columns are matched by field ID. Only for a table that was created with it.",
        "none": "Columns have the same names in the files as in the schema.",
    }
    choices = tuple(Choice(mode, f"{mode}, as now" if mode == now else mode, text) for mode, text in about.items())
    return (FormField("mode", "Mode", "options", value=answers.get("mode", ""), choices=choices),)


def _at(answers: Answers, *, required: bool) -> FormField:
    help_ = "first, last, after NAME, or a position from 0."
    if not required:
        help_ += " Empty means last."
    return FormField("at", "Place", help=help_, placeholder="last", value=answers.get("at", ""), required=required)


# --- what the answers make


def _added(answers: Answers) -> dict[str, object]:
    comment = answers.get("comment", "").strip()
    field = {
        "name": answers.get("name", ""),
        "type": answers.get("type", "").strip(),
        "nullable": True,
        "metadata": {"comment": comment} if comment else {},
    }
    at = answers.get("at", "")
    return {"fields": [field]} | ({"at": _position(at)} if at.strip() else {})


def _position(text: str) -> str | int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else text


# --- how it reads


def _added_headline(intent: intents.AddColumns) -> Headline:
    if len(intent.fields) != 1:
        return plain_headline(intent)
    (field,) = intent.fields
    return Headline("Add column", str(field.get("name", "")), str(field.get("type", "")))


def _dropped_headline(intent: intents.DropColumns) -> Headline:
    return Headline("Drop column", intent.columns[0]) if len(intent.columns) == 1 else plain_headline(intent)


def _unmapped(snapshot: Snapshot) -> str:
    mapped = snapshot.column_mapping_mode != "none"
    return "" if mapped else "Column mapping is off. Set it to name first."


COLUMN_INTENTS: Final = IntentGroup(
    "Columns",
    (
        intent_entry(
            intents.AddColumns, "Add a column", "Existing rows contain null in it. No file changes.",
            fields=_add, document=_added, headline=_added_headline,
            state=lambda s: fmt.plural(len(s.schema.fields), "column"), beside=(COLUMNS,),
        ),
        intent_entry(
            intents.RenameColumn, "Rename a column", "Change the logical name of a column. No file changes.",
            fields=_rename, document=given_texts("column", "to"),
            headline=lambda intent: Headline("Rename column", f"{intent.column} \u2192 {intent.to}"),
            hints=column_hint, beside=(COLUMNS,), why_not=_unmapped,
        ),
        intent_entry(
            intents.MoveColumn, "Move a column", "Change the position of a column. No file changes.",
            fields=_move, document=lambda a: {"column": a.get("column", ""), "at": _position(a.get("at", ""))},
            headline=lambda intent: Headline("Move column", intent.column, f"to {intent.at}"),
            hints=column_hint, beside=(COLUMNS,),
        ),
        intent_entry(
            intents.DropColumns, "Drop a column", "Remove a column from the schema. Its values stay in the files.",
            fields=column_field, document=lambda answers: {"columns": [answers.get("column", "")]},
            headline=_dropped_headline, hints=column_hint, beside=(COLUMNS,), why_not=_unmapped,
        ),
        intent_entry(
            intents.WidenType, "Widen a type", "Change to a type with a larger range. No file changes.",
            fields=_widen, document=given_texts("column", "type"),
            headline=lambda intent: Headline("Widen", f"{intent.column} \u2192 {intent.type}"),
            hints=column_hint, beside=(COLUMNS,),
        ),
        intent_entry(
            intents.SetColumnComment, "Comment on a column", "Shown to readers of the schema.",
            fields=_comment, document=lambda a: {"column": a.get("column", ""), "comment": a.get("comment") or None},
            headline=lambda intent: Headline("Comment on column", intent.column, intent.comment or ""),
            hints=column_comment_hint, beside=(COLUMNS,),
        ),
        intent_entry(
            intents.SetColumnMapping, "Map columns", "Logical names, separate from the names in the files, that can "
            "be changed.",
            fields=_mapping, document=given_texts("mode"), state=lambda s: f"mode {s.column_mapping_mode}",
            headline=lambda intent: Headline("Set column mapping to", intent.mode),
        ),
    ),
)  # fmt: skip


def _add_constraint(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField(
            "name", "Name", help="Shown in the history, and in the error when a writer violates the rule.",
            placeholder=example_name(snapshot), value=answers.get("name", ""),
        ),
        FormField(
            "expression", "Expression", "code",
            "SQL that must be TRUE for every row, now and in the future. NULL is not TRUE. Put names with dots or "
            "spaces in backticks.",
            example_bound(snapshot), answers.get("expression", ""),
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
            intents.SetNotNull, "Require values (NOT NULL)",
            "Every row must have a value in the column, now and in the future.",
            fields=column_field, document=given_texts("column"), state=_not_null_count,
            headline=lambda intent: Headline("Require values in", intent.column),
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
