"""The rows of the table."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.transaction.intents import records as intents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.entry import COLUMNS, Headline, IntentGroup, intent_entry
from explorer.views.act.intents.fields import Answers, FormField, given_texts
from explorer.views.rows.row_work import live_rows

__all__ = ["ROW_INTENTS"]


def _delete(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = (
        "SQL. Rows for which it is TRUE are deleted; NULL is not TRUE. Earlier versions keep them until VACUUM deletes "
        "their files."
    )
    return (FormField("where", "Rows for which", "code", help_, "amount <= 0", answers.get("where", "")),)


def _purge(_snapshot: Snapshot, answers: Answers) -> tuple[FormField, ...]:
    help_ = "SQL. Only files that mask a row for which it is TRUE are rewritten; empty means all that mask rows."
    value = answers.get("where", "")
    return (FormField("where", "Masked rows for which", "code", help_, "customer = 417", value, required=False),)


def _purge_document(answers: Answers) -> dict[str, object]:
    where = answers.get("where", "").strip()
    return {"where": where} if where else {}


ROW_INTENTS: Final = IntentGroup(
    "Rows",
    (
        intent_entry(
            intents.Delete,
            "Delete rows",
            "Rows that satisfy a condition; the plan counts them first.",
            fields=_delete,
            document=given_texts("where"),
            headline=lambda intent: Headline("Delete rows", "", intent.where),
            state=lambda snapshot: fmt.quantity(live_rows(snapshot), "row"),
            beside=(COLUMNS,),
            costly="Planning lets Spark look for the rows.",
            why_not=lambda snapshot: "" if snapshot.num_files else "The table has no rows.",
        ),
        intent_entry(
            intents.Purge,
            "Purge masked rows",
            "Rewrite the files that mask rows without them. The old files stay until VACUUM deletes them.",
            fields=_purge,
            document=_purge_document,
            headline=lambda intent: Headline("Purge masked rows", "", intent.where or ""),
            state=lambda snapshot: f"{fmt.quantity(snapshot.num_deleted_records, 'row')} masked",
            beside=(COLUMNS,),
            costly="Planning lets Spark rewrite the files.",
            needs_answer=False,
            why_not=lambda snapshot: "" if snapshot.num_deleted_records else "No live file masks a row.",
        ),
    ),
)
