"""Where the rows of an intent come from, and the columns that they bring along.

Invariants: a place that an intent names is one that may be read; new columns are added only where the intent asks.
"""

from __future__ import annotations

from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.add_columns import add_columns
from explorer.core.transaction.proposals.rows.new_columns import with_columns
from explorer.core.transaction.row_preparation.found_files import OnVersion
from explorer.core.versions.snapshot import Snapshot

__all__ = ["evolving", "source_of"]


def source_of(named: str, rows: object | None, context: Context) -> object:
    """Where rows come from; a place that an intent names must be one that may be read."""
    if rows is not None:
        return rows
    if context.check_source is not None:
        context.check_source(named)
    return named


def evolving(
    propose: OnVersion, intent: intents.Append | intents.Overwrite | intents.Merge, source: object, context: Context
) -> OnVersion:
    """The same on top of the columns that the source has and the table lacks, where the intent asks for that."""
    if not intent.merge_schema:
        return propose
    engine, circumstances = context.row_engine(intent_kind(intent)), context.circumstances()

    def evolve(snapshot: Snapshot) -> Proposal:
        fields = engine.new_fields(snapshot.schema, source)
        if not fields:
            return propose(snapshot)
        columns = add_columns(intents.AddColumns(fields=fields), snapshot, circumstances)
        assert columns.metadata is not None, "new columns change the metadata"
        return with_columns(propose(snapshot.changed(columns.protocol or snapshot.protocol, columns.metadata)), columns)

    return evolve
