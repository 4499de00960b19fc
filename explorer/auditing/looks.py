"""What an audit looks at beside the actions of the log, if somebody asks: a listing, a replay, Spark."""

from __future__ import annotations

from typing import Final

import msgspec
import pyarrow as pa

from explorer.auditing.footers import FooterReport
from explorer.core.log.verify.verify import IntegrityReport
from explorer.core.transaction.row_engine import CheckReport

__all__ = ["NOWHERE", "Looked"]


class Looked(msgspec.Struct, frozen=True):
    """What was looked at; None for what was not.

    Attributes:
        stored: The files in the table's folder, as `explorer.core.protocol.log_store.LogStore.list_files` lists them.
        integrity: The log verified against its checksums and checkpoints.
        chain_head: A head of the hash chain that somebody saved earlier, to compare the log with.
        rows: The table's own rules checked against all its rows.
        footers: The statistics of the log held against the footers of the live files.
    """

    stored: pa.Table | None = None
    integrity: IntegrityReport | None = None
    chain_head: str | None = None
    rows: CheckReport | None = None
    footers: FooterReport | None = None


NOWHERE: Final = Looked()
"""Nothing but the actions of the log."""
