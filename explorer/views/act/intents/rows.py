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
    ),
)
