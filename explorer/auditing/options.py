"""Options of an audit, and its optional inputs in addition to the log's actions: a listing, a replay, Spark."""

from __future__ import annotations

import os
import re
from typing import Final

import msgspec
import pyarrow as pa

from explorer.auditing.footers import FooterReport
from explorer.core.errors import RequestError
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.transaction.row_engine import CheckReport


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs to check; see `explorer.Table.audit`."""

    check_files: bool = False
    verify: bool = False
    check_rows: bool = False
    check_footers: bool = False
    chain_head: str | None = None
    clients: str | os.PathLike[str] | None = None

    @property
    def of_one_table(self) -> bool:
        """Whether an option applies to only one table."""
        return self.check_rows or self.chain_head is not None


class AuditInputs(msgspec.Struct, frozen=True):
    """Inputs of an audit; None for inputs that were not requested.

    Attributes:
        stored: The files in the table's folder, as `explorer.core.protocol.log_store.LogStore.list_files` lists them.
        integrity: The log verified against its checksums and checkpoints.
        chain_head: A head of the hash chain that was saved earlier, to compare the log with.
        rows: The table's constraints checked against all rows.
        footers: The statistics of the log compared with the footers of the live files.
    """

    stored: pa.Table | None = None
    integrity: IntegrityReport | None = None
    chain_head: str | None = None
    rows: CheckReport | None = None
    footers: FooterReport | None = None


NOWHERE: Final = AuditInputs()
"""Only the actions of the log."""


def saved_chain_head(text: str) -> str:
    """Return a saved head of the hash chain.

    Raises:
        RequestError: If it is not a chain head.
    """
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise RequestError(
            f"{text!r} is not a chain head, which has 64 hexadecimal digits. Use one printed by verify.", found=text
        )
    return text
