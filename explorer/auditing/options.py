"""Options of an audit, and its optional inputs in addition to the log's actions: a listing, a replay, Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import pyarrow as pa

from explorer.auditing.footers import FooterReport, compared_footers
from explorer.core.errors import RequestError
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.transaction.new_files.row_constraints import named_rules
from explorer.core.transaction.row_engine import CheckReport
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot


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


def read_inputs(
    log: DeltaLog,
    options: AuditOptions,
    check: Callable[[Snapshot, Mapping[str, str]], CheckReport],
    report: Callable[[str], None] = lambda _: None,
    check_cancelled: Callable[[], None] = lambda: None,
) -> AuditInputs:
    """Read the inputs that options ask for.

    Args:
        log: The table.
        options: Which inputs; those that check rows compare footers, too.
        check: Checks the table's own rules against its rows; a table without any needs no engine.
        report: Called with each phase, in words, before it begins; what it raises ends the reading.
        check_cancelled: Called before each part of a phase (a version, a file), on any thread; what it raises ends the
            reading.

    Raises:
        RequestError: The saved chain head is not one.
    """
    chain_head = None if options.chain_head is None else saved_chain_head(options.chain_head)
    stored, integrity, footers, rows = None, None, None, None
    if options.check_files:
        report("Listing the stored files")
        stored = log.store.list_files(check_cancelled)
    if options.verify:
        report("Replaying the log")
        integrity = log.verify(check_cancelled=check_cancelled)
    if options.check_rows:
        report("Checking rows")
        snapshot = log.snapshot()
        rules = named_rules(snapshot)
        rows = check(snapshot, rules) if rules else CheckReport(snapshot.version, ())
    if options.check_footers or options.check_rows:
        report("Reading the footers of the live files")
        footers = compared_footers(log.snapshot(), log.store, check_cancelled)
    return AuditInputs(stored, integrity, chain_head, rows, footers)


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
