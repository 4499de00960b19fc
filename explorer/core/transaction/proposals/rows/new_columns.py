"""Rows that bring columns: the commit that writes them adds the columns too.

Protocol sections: Change Metadata, Schema Serialization Format. Invariants: what the rows need is on top of the new
metadata; guards of both hold.
"""

from __future__ import annotations

import msgspec

from explorer.core.transaction.proposal import Proposal, Writing
from explorer.core.versions.reads import Reads

__all__ = ["with_columns"]


def with_columns(rows: Proposal, columns: Proposal) -> Proposal:
    """Return a proposal that writes rows and adds columns.

    Args:
        rows: The rows, proposed for the version as it is with the columns.
        columns: The columns.
    """
    writing = rows.writing
    if writing is not None:
        complete = writing.complete
        writing = Writing(writing.write, lambda written: with_columns(complete(written), columns))
    return msgspec.structs.replace(
        rows,
        metadata=rows.metadata or columns.metadata,
        protocol=rows.protocol or columns.protocol,
        reads_files=rows.reads_files or columns.reads_files,
        reads=Reads() if columns.reads_files else rows.reads,
        guards=(*columns.guards, *rows.guards),
        writing=writing,
    )
