"""Audit many tables: each by itself, in processes or in Spark's tasks, and ranked when all are done.

In: places at or below which tables are, options of their stores, options of the audits.
Out: an audit or an error a table, as each is done; a row a table, the worst first.
Always: a table is one `TableAudit`, whatever becomes of it; a table that cannot be read, and even one that ends the
process that reads it, stops no other; what is kept of a table that is done is a line, however many there are; no text
holds a credential.
"""

from explorer.fleet.audits import SCHEMA, audit, audits, ranked, row_of
from explorer.fleet.one_table import TableAudit
from explorer.fleet.places import places

__all__ = ["SCHEMA", "TableAudit", "audit", "audits", "places", "ranked", "row_of"]
