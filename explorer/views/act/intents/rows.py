"""The rows of the table: added, replaced, changed, merged, deleted, purged, and brought together in fewer files."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.statistics.collect import split_columns
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.first_rows.row_page import live_rows
from explorer.views.act.intents.entry import COLUMNS, Headline, IntentGroup, intent_entry
from explorer.views.act.intents.examples import example_bound, example_match
from explorer.views.act.intents.fields import Answers, Choice, FormField, given_pairs, given_texts
from explorer.views.listing import MOST_OFFERED, column_matches

_SOURCE_HELP: Final = (
    "A Parquet or CSV file, or a folder of Parquet files, under a folder that this server serves. Its columns are "
    "matched by name."
)
_EXPRESSIONS: Final = "SQL over the row, such as amount * 1.1. Text is quoted: 'paid'."
_MEBIBYTE: Final = 1 << 20
_AMOUNT: Final = re.compile(r"\d{1,8}(\.\d{1,4})?\Z", re.ASCII)
_KEPT: Final = "keep"
_PROPOSED: Final = {"matched": "update", "notMatched": "insert", "notMatchedBySource": _KEPT}


def _answered(answers: Answers, *names: str) -> dict[str, object]:
    """Return the answers of these names that are not empty."""
    return {name: text for name in names if (text := answers.get(name, "").strip())}


def _source(answers: Answers) -> FormField:
    value = answers.get("source", "")
    return FormField("source", "File with the rows", "text", _SOURCE_HELP, "/data/incoming/orders.parquet", value)


def _append(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    return (_source(answers), _new_columns(answers))


def _append_document(answers: Answers) -> dict[str, object]:
    return {"source": answers.get("source", ""), **_merging(answers)}


def _new_columns(answers: Answers) -> FormField:
    """Return the form field for columns that the table lacks."""
    choices = (
        Choice(_KEPT, "Refuse the rows"),
        Choice("add", "Add them to the table", "Existing rows contain null in them."),
    )
    return _one_of("newColumns", "Columns that the table lacks", choices, answers)


def _merging(answers: Answers) -> dict[str, object]:
    return {"mergeSchema": True} if answers.get("newColumns") == "add" else {}


def _delete(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = (
        "SQL. Rows for which it is TRUE are deleted; NULL is not TRUE. Earlier versions keep them until VACUUM deletes "
        "their files."
    )
    return (FormField("where", "Rows for which", "code", help_, example_match(snapshot), answers.get("where", "")),)


def _purge(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = (
        "SQL. Only files with such a masked row, or with dropped columns of such a row, are rewritten. Empty "
        "means all files with masked rows or dropped columns."
    )
    value = answers.get("where", "")
    return (FormField("where", "Masked rows for which", "code", help_, example_match(snapshot), value, required=False),)


def _setting(snapshot: Snapshot, answers: Answers, label: str, help_: str, *, required: bool) -> FormField:
    """Return the form field for columns and their values; of many columns, those similar to the input are offered."""
    names = [field.name for field in snapshot.schema.fields]
    if len(names) > MOST_OFFERED:
        names = list(column_matches(names, _unfinished(answers, frozenset(names))).names)
    choices = tuple(Choice(name, name) for name in names)
    return FormField(
        "set",
        label,
        "pairs",
        help_,
        _first_column(snapshot),
        choices=choices,
        required=required,
        pair=("Column", "New value", "an SQL expression"),
    )


def _unfinished(answers: Answers, names: frozenset[str]) -> str:
    """Return the last name of a column to set that is not one yet."""
    typed = [text for key, text in answers.items() if key.startswith("key.") and text not in names]
    return typed[-1] if typed else ""


def _update(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "SQL. Rows for which it is TRUE are changed; NULL is not TRUE. Empty means all rows."
    example = example_match(snapshot)
    where = FormField("where", "Rows for which", "code", help_, example, answers.get("where", ""), required=False)
    return (_setting(snapshot, answers, "Columns to set", _EXPRESSIONS, required=True), where)


def _overwrite(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    unpartitioned = "" if snapshot.partition_columns else "the table has no partitions"
    choices = (
        Choice("all", "All rows", "The table then contains only the new rows."),
        Choice("where", "Rows for which a condition is true", "The new rows must match it too."),
        Choice("partitions", "The partitions of the new rows", "Other partitions stay unchanged.", unpartitioned),
    )
    replaced = FormField(
        "replaces", "What they replace", "options", value=answers.get("replaces", "all"), choices=choices
    )
    help_ = "SQL. Used only with the second choice."
    where = FormField(
        "where", "Rows for which", "code", help_, example_bound(snapshot), answers.get("where", ""), required=False
    )
    return (_source(answers), replaced, where, _new_columns(answers))


def _overwrite_document(answers: Answers) -> dict[str, object]:
    given: dict[str, object] = {"source": answers.get("source", ""), **_merging(answers)}
    match answers.get("replaces", "all"):
        case "where":
            given["where"] = answers.get("where", "")
        case "partitions":
            given["partitions"] = True
    return given


def _merge(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    key = _first_column(snapshot)
    on_help = "SQL over the row of the table (target) and the row of the file (source)."
    matched = (
        Choice("update", "Update the row"),
        Choice("delete", "Delete the row"),
        Choice(_KEPT, "Leave it unchanged"),
    )
    new = (Choice("insert", "Insert it"), Choice(_KEPT, "Leave it out"))
    unmatched = (Choice(_KEPT, "Leave it unchanged"), Choice("delete", "Delete it"))
    return (
        _source(answers),
        FormField("on", "Rows match where", "code", on_help, f"target.{key} = source.{key}", answers.get("on", "")),
        _one_of("matched", "A row that matches", matched, answers),
        _condition("matchedWhen", "Only where", example_bound(snapshot, "source."), answers),
        _setting(
            snapshot, answers, "Columns to set in it", f"{_EXPRESSIONS} Empty: all columns of the file.", required=False
        ),
        _one_of("notMatched", "A row of the file that matches none", new, answers),
        _condition("notMatchedWhen", "Only where", example_bound(snapshot, "source."), answers),
        _one_of("notMatchedBySource", "A row of the table that matches none", unmatched, answers),
        _condition("notMatchedBySourceWhen", "Only where", example_bound(snapshot, "target."), answers),
        _new_columns(answers),
    )


def _one_of(name: str, label: str, choices: tuple[Choice, ...], answers: Answers) -> FormField:
    value = answers.get(name, _PROPOSED.get(name, _KEPT))
    return FormField(name, label, "options", value=value, choices=choices, required=False)


def _condition(name: str, label: str, example: str, answers: Answers) -> FormField:
    return FormField(name, label, "text", "SQL; empty means always.", example, answers.get(name, ""), required=False)


def _merge_document(answers: Answers) -> dict[str, object]:
    done: dict[str, dict[str, object]] = {
        "update": {"update": given_pairs(answers) or "*"},
        "delete": {"delete": True},
        "insert": {"insert": "*"},
    }
    given: dict[str, object] = {"source": answers.get("source", ""), "on": answers.get("on", ""), **_merging(answers)}
    for group, proposed in _PROPOSED.items():
        if action := done.get(answers.get(group, proposed)):
            when = answers.get(f"{group}When", "").strip()
            given[group] = [action | ({"when": when} if when else {})]
    return given


def _optimize(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    clustered = snapshot.clustering_columns
    default = "By the clustering columns of the table." if clustered else "Rows keep their order."
    choices = (
        Choice(_KEPT, "As the table is", default),
        Choice("orderBy", "Sorted by columns", "Best for filters on the first of them."),
        Choice("zOrderBy", "Along a Z-order curve", "Best for filters on any of them."),
    )
    names = "Comma-separated names, for a sorted order or a curve."
    return (
        _partitions(snapshot, answers),
        FormField(
            "mebibytes",
            "Size of the new files, MiB",
            "text",
            "Empty means 1,024.",
            "128",
            answers.get("mebibytes", ""),
            required=False,
        ),
        _one_of("order", "Order of the rows", choices, answers),
        FormField("by", "Columns", "text", names, _example_columns(snapshot), answers.get("by", ""), required=False),
    )


def _optimize_document(answers: Answers) -> dict[str, object]:
    given = _answered(answers, "where")
    if size := answers.get("mebibytes", "").strip():
        given["targetSize"] = int(Decimal(size) * _MEBIBYTE) if _AMOUNT.match(size) else size
    if (order := answers.get("order", _KEPT)) != _KEPT:
        given[order] = split_columns(answers.get("by", ""))
    return given


def _recompute(snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "Comma-separated names. Empty means the columns for which the table's properties require statistics."
    return (
        FormField(
            "columns", "Columns", "text", help_, _example_columns(snapshot), answers.get("columns", ""), required=False
        ),
        _partitions(snapshot, answers),
    )


def _recompute_document(answers: Answers) -> dict[str, object]:
    names = split_columns(answers.get("columns", ""))
    return {**_answered(answers, "where"), **({"columns": names} if any(names) else {})}


def _partitions(snapshot: Snapshot, answers: Answers) -> FormField:
    """Return the form field for the partitions."""
    folders = ", ".join(snapshot.partition_columns)
    help_ = f"SQL over {folders}; empty means all." if folders else "The table has no partitions. Leave this empty."
    return FormField("where", "Partitions for which", "code", help_, "", answers.get("where", ""), required=False)


def _overwrite_headline(intent: intents.Overwrite) -> Headline:
    replaced = "whole partitions" if intent.partitions else "all rows" if intent.where is None else "rows"
    return Headline("Overwrite", replaced, intent.where or intent.source)


def _set_headline(intent: intents.Update) -> Headline:
    lines = [f"{column} = {text}" for column, text in intent.set.items()]
    return Headline("Update rows", "", "\n".join([*lines, f"where {intent.where}"] if intent.where else lines))


def _optimize_headline(intent: intents.Optimize) -> Headline:
    order = ", ".join(intent.z_order_by or intent.order_by)
    how = "along a curve through" if intent.z_order_by else "ordered by"
    return Headline("Optimize files", f"{how} {order}" if order else "", intent.where or "")


def _first_column(snapshot: Snapshot) -> str:
    """Return a column name for examples, quoted as in SQL."""
    return format_column((snapshot.schema.fields[0].name,)) if snapshot.schema.fields else "id"


def _example_columns(snapshot: Snapshot) -> str:
    """Return names of columns for an example, as a list."""
    outside = [field.name for field in snapshot.schema.fields if field.name not in snapshot.partition_columns]
    return ", ".join(format_column((name,)) for name in outside[:2])


def _rows(snapshot: Snapshot) -> str:
    return fmt.quantity(live_rows(snapshot), "row")


def _no_rows(snapshot: Snapshot) -> str:
    return "" if snapshot.num_files else "The table has no rows."


_READS_SOURCE: Final = "To plan, Spark reads the file and checks its rows."

ROW_INTENTS: Final = IntentGroup(
    "Rows",
    (
        intent_entry(
            intents.Append, "Append rows", "Add the rows of a file, after they are checked against the table's "
            "constraints.",
            fields=_append, document=_append_document, state=_rows, beside=(COLUMNS,), costly=_READS_SOURCE,
            headline=lambda intent: Headline("Append rows", "", intent.source),
        ),
        intent_entry(
            intents.Update, "Update rows", "Set new values in the rows that match a condition.",
            fields=_update, state=_rows, beside=(COLUMNS,), costly="To plan, Spark searches for the rows.",
            document=lambda answers: {"set": given_pairs(answers), **_answered(answers, "where")},
            headline=_set_headline, why_not=_no_rows,
        ),
        intent_entry(
            intents.Merge, "Merge rows", "Update, delete, and insert rows from a file in one commit.",
            fields=_merge, document=_merge_document, state=_rows, beside=(COLUMNS,),
            costly="To plan, Spark matches the rows of the file with the rows of the table.",
            headline=lambda intent: Headline("Merge rows", "", f"{intent.source}\non {intent.on}"),
        ),
        intent_entry(
            intents.Overwrite, "Overwrite rows", "Replace all rows, matching rows, or partitions with the rows of a "
            "file.",
            fields=_overwrite, document=_overwrite_document, state=_rows, beside=(COLUMNS,), costly=_READS_SOURCE,
            headline=_overwrite_headline,
        ),
        intent_entry(
            intents.Delete, "Delete rows", "Delete the rows that match a condition. The plan counts them first.",
            fields=_delete, document=given_texts("where"), state=_rows, beside=(COLUMNS,),
            headline=lambda intent: Headline("Delete rows", "", intent.where),
            costly="To plan, Spark searches for the rows.", why_not=_no_rows,
        ),
        intent_entry(
            intents.Purge, "Purge masked rows",
            "Rewrite files without their masked rows. The old files stay until VACUUM deletes them.",
            fields=_purge, document=lambda answers: _answered(answers, "where"), beside=(COLUMNS,), needs_answer=False,
            headline=lambda intent: Headline("Purge masked rows", "", intent.where or ""),
            state=lambda snapshot: f"{fmt.quantity(snapshot.num_deleted_records, 'row')} masked",
            costly="Planning reads the deletion vectors, and with a condition the masked rows.",
            why_not=lambda snapshot: "" if snapshot.num_deleted_records else "No live file has masked rows.",
        ),
        intent_entry(
            intents.Optimize, "Optimize files",
            "Combine small files and files with masked rows into larger ones. No row changes.",
            fields=_optimize, document=_optimize_document, beside=(COLUMNS,), needs_answer=False,
            state=lambda snapshot: fmt.plural(snapshot.num_files, "file"), headline=_optimize_headline,
            why_not=_no_rows,
        ),
        intent_entry(
            intents.RecomputeStatistics, "Recompute statistics",
            "Compute the bounds and counts of each file from its rows. No file is rewritten.",
            fields=_recompute, document=_recompute_document, beside=(COLUMNS,), needs_answer=False,
            state=lambda snapshot: fmt.plural(snapshot.num_files, "file"),
            headline=lambda intent: Headline("Recompute statistics", ", ".join(intent.columns), intent.where or ""),
            costly="To plan, Spark reads the columns of all files.", why_not=_no_rows,
        ),
    ),
)  # fmt: skip
