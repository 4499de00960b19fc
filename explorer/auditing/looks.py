"""What an audit looks at beside the actions of the log, if somebody asks: a listing, a replay, Spark."""

from __future__ import annotations

import re
from typing import Final

import msgspec
import pyarrow as pa

from explorer.auditing.footers import FooterReport
from explorer.core.errors import RequestError
from explorer.core.log.verify.verify import IntegrityReport
from explorer.core.transaction.row_engine import CheckReport

__all__ = ["NOWHERE", "Looked", "saved_chain_head"]


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


def saved_chain_head(text: str) -> str:
    """A head of the hash chain as somebody saved it.

    Raises:
        RequestError: It is none.
    """
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise RequestError(
            f"{text!r} is no chain head, which is 64 hexadecimal digits. Give one that verify printed.", found=text
        )
    return text
