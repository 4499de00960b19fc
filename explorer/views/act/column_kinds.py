"""Changes of columns: what each asks, and its intent. One column at a time."""

from __future__ import annotations

from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import walk
from explorer.core.protocol.table_features import FEATURES, supported_features
from explorer.views.act.questions import Answers, ChangeKind, Choice, FormField, given_texts

__all__ = ["COLUMN_KINDS"]

_DOTTED: Final = "A nested one with dots: address.city. A part that holds a dot stands in backticks."


def _column(_snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (FormField("column", "Column", "column", _DOTTED, value=answers.get("column", "")),)


def _at(answers: Answers, *, required: bool) -> FormField:
    help_ = "first, last, after NAME, or a position from 0."
    if not required:
        help_ += " Left empty, it comes last."
    return FormField("at", "Place", help=help_, placeholder="last", value=answers.get("at", ""), required=required)


def _add(_snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField("name", "Name", help="One inside a struct with dots: address.city. A part that holds a dot stands in "
                  "backticks.", placeholder="delivered_on", value=answers.get("name", "")),
        FormField("type", "Type", help="A simple type: string, long, integer, double, boolean, date, timestamp, "
                  "decimal(12,2) and so on. Rows that are there have null.", placeholder="string",
                  value=answers.get("type", "")),
        FormField("comment", "Comment", "prose", "What it means, in which unit.", value=answers.get("comment", ""),
                  required=False),
        _at(answers, required=False),
    )  # fmt: skip


def _move(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (*_column(snapshot, answers), _at(answers, required=True))


def _widen(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    help_ = "One that holds every value of the present type: long for integer, decimal(14,2) for decimal(12,2)."
    return (*_column(snapshot, answers), FormField("type", "New type", help=help_, value=answers.get("type", "")))


def _comment(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    help_ = "What it means, in which unit. Left empty, the comment is removed."
    value = answers.get("comment", "")
    return (*_column(snapshot, answers), FormField("comment", "Comment", "prose", help_, value=value, required=False))


def _drop_feature(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    choices = tuple(
        Choice(name, name, f"Binds {'readers and writers' if FEATURES[name].reader else 'writers'}.")
        if name in FEATURES
        else Choice(name, name)
        for name in sorted(_listed(snapshot))
    )
    help_ = "Nothing may use it any more; the guards say what still does."
    return (FormField("feature", "Feature", "options", help_, value=answers.get("feature", ""), choices=choices),)


def _listed(snapshot: Any) -> set[str]:
    return {*(snapshot.protocol.reader_features or ()), *(snapshot.protocol.writer_features or ())}


def _place(text: str) -> str | int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else text


def _add_intent(answers: Answers) -> dict[str, Any]:
    comment = answers.get("comment", "").strip()
    field = {
        "name": answers.get("name", ""),
        "type": answers.get("type", "").strip(),
        "nullable": True,
        "metadata": {"comment": comment} if comment else {},
    }
    at = answers.get("at", "")
    return {"fields": [field]} | ({"at": _place(at)} if at.strip() else {})


def _mapped_why_not(snapshot: Any) -> str:
    mapped = snapshot.column_mapping_mode != "none"
    return "" if mapped else "Columns are not mapped: set the column mapping to name first."


def _count(snapshot: Any) -> str:
    return fmt.plural(len(snapshot.schema.fields), "column")


def _not_null(snapshot: Any) -> str:
    return f"{_required(snapshot)} not null" if _required(snapshot) else ""


def _nothing(_snapshot: Any) -> str:
    return ""


def _required(snapshot: Any) -> int:
    return sum(not field.nullable for _, field in walk(snapshot.schema))


COLUMN_KINDS: Final[dict[str, ChangeKind]] = {
    "add-columns": ChangeKind(
        "Add a column", "Rows that are there have null in it; no file is touched.", _add, _add_intent, _count,
    ),
    "drop-columns": ChangeKind(
        "Drop a column", "It is no longer shown; files keep its bytes.",
        _column, lambda answers: {"columns": [answers.get("column", "")]}, _nothing, _mapped_why_not,
    ),
    "move-column": ChangeKind(
        "Move a column", "Another place among its siblings; no file is touched.",
        _move, lambda answers: {"column": answers.get("column", ""), "at": _place(answers.get("at", ""))}, _nothing,
    ),
    "widen-type": ChangeKind(
        "Widen a type", "A type that holds more; files stay as they are.", _widen, given_texts("column", "type"),
        _nothing,
    ),
    "set-column-comment": ChangeKind(
        "Comment on a column", "What people read before they use it.",
        _comment, lambda a: {"column": a.get("column", ""), "comment": a.get("comment") or None}, _nothing,
    ),
    "set-not-null": ChangeKind(
        "Refuse nulls", "Every row has a value in the column, now and from now on.",
        _column, given_texts("column"), _not_null,
    ),
    "drop-not-null": ChangeKind(
        "Allow nulls", "Rows without a value may be written again.",
        _column, given_texts("column"), _not_null,
        lambda s: "" if _required(s) else "No column refuses nulls.",
    ),
    "drop-feature": ChangeKind(
        "Drop a feature", "Take it out of the protocol, once nothing uses it.",
        _drop_feature, given_texts("feature"), lambda s: fmt.plural(len(supported_features(s.protocol)), "feature"),
        lambda s: "" if _listed(s) else "The protocol lists no feature by name.",
    ),
}  # fmt: skip
