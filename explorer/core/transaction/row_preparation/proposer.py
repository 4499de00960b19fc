"""Intents over rows -> what makes their proposals.

Invariants: a batch that the table holds already is proposed as such, and nothing is written for it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType, parse_column
from explorer.core.transaction.batches import once
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.rows.first_rows import empty_version, with_first_rows
from explorer.core.transaction.row_preparation.append import appending
from explorer.core.transaction.row_preparation.change import changing
from explorer.core.transaction.row_preparation.delete import deleting
from explorer.core.transaction.row_preparation.describe import describing
from explorer.core.transaction.row_preparation.found_files import OnVersion
from explorer.core.transaction.row_preparation.optimize import optimizing
from explorer.core.transaction.row_preparation.overwrite import overwriting
from explorer.core.transaction.row_preparation.purge import purging
from explorer.core.transaction.row_preparation.sources import evolving, source_of
from explorer.core.versions.delta_log import DeltaLog

__all__ = ["RowIntent", "filled_table", "row_proposer"]


RowIntent: TypeAlias = (
    intents.Append
    | intents.Delete
    | intents.Purge
    | intents.Update
    | intents.Overwrite
    | intents.Merge
    | intents.Optimize
    | intents.RecomputeStatistics
)
"""Intents whose rows the engine finds and writes."""


def row_proposer(log: DeltaLog, intent: RowIntent, context: Context, rows: object | None) -> OnVersion:
    """Gather what an intent over rows needs.

    Args:
        log: The table's log.
        intent: What is asked for.
        context: Clock, identifiers and the engine of rows.
        rows: Rows of the engine instead of the intent's source.

    Raises:
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    propose = _proposer(log, intent, context, rows, context.circumstances())
    return once(log, intent, propose, context.clock()) if isinstance(intent, intents.BatchIntent) else propose


def _proposer(
    log: DeltaLog, intent: RowIntent, context: Context, rows: object | None, circumstances: Circumstances
) -> OnVersion:
    match intent:
        case intents.Delete():
            return deleting(log, intent, context, circumstances)
        case intents.Purge():
            return purging(log, intent, context, circumstances)
        case intents.Optimize():
            return optimizing(log, intent, context, circumstances)
        case intents.RecomputeStatistics():
            return describing(log, intent, context)
        case intents.Update():
            return changing(log, intent, None, context, circumstances)
        case intents.Merge():
            source = source_of(intent.source, rows, context)
            changes = changing(log, intent, source, context, circumstances)
            return evolving(changes, intent, source, context) if _takes_all(intent) else changes
        case intents.Overwrite():
            source = source_of(intent.source, rows, context)
            return evolving(overwriting(log, intent, source, context, circumstances), intent, source, context)
        case intents.Append():
            source = source_of(intent.source, rows, context)
            return evolving(appending(log.store, source, context), intent, source, context)


def filled_table(
    store: LogStore, intent: intents.CreateTable, context: Context, rows: object | None, circumstances: Circumstances
) -> Proposal:
    """Make a table of rows: its schema is theirs unless the intent has one.

    Args:
        store: The place of the table.
        intent: The table.
        context: Clock, identifiers and the engine of rows.
        rows: Rows of the engine instead of the intent's source.
        circumstances: The present and fresh identifiers.

    Raises:
        InvalidIntent: The intent makes no sense, or the rows do not fit its schema.
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    engine, source = context.row_engine("create-table"), source_of(intent.source or "", rows, context)
    if intent.schema is None:
        found = engine.new_fields(StructType(()), source)
        fields = [{**field, "name": parse_column(str(field["name"]))[0]} for field in found]
        intent = msgspec.structs.replace(intent, schema={"type": "struct", "fields": fields})
    creation = create_table(intent, circumstances)
    return with_first_rows(creation, appending(store, source, context)(empty_version(store, creation)))


def _takes_all(intent: intents.Merge) -> bool:
    return any(clause.values is None for clause in intents.merge_clauses(intent))
