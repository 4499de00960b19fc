"""The public objects by their names, so that a notebook shows them as cards before anything that draws them is loaded.

Invariant: nothing is imported until an object is shown; the names are those of `carded` and
`CARDED_BY_NAME` in `explorer.views.cards`.
"""

from __future__ import annotations

from typing import Any, Final

ANNOUNCED: Final = (
    ("explorer.auditing.erasure.proof", "Erasure"),
    ("explorer.auditing.finding", "Finding"),
    ("explorer.report.document", "TableReport"),
    ("explorer.auditing.verdict", "Audit"),
    ("explorer.core.compatibility.access", "ClientVerdict"),
    ("explorer.core.errors", "ExplorerError"),
    ("explorer.core.log.verify.integrity", "IntegrityReport"),
    ("explorer.core.protocol.statistics.data_skipping", "SkippingResult"),
    ("explorer.core.transaction.commit_plan", "CommitResult"),
    ("explorer.core.transaction.commit_plan", "JudgedPlan"),
    ("explorer.core.transaction.commit_plan", "MaintenanceResult"),
    ("explorer.core.transaction.row_engine", "CheckReport"),
    ("explorer.core.versions.column_lineage", "Lineage"),
    ("explorer.core.versions.delta_log", "DeltaLog"),
    ("explorer.core.versions.diff", "SnapshotDiff"),
    ("explorer.core.versions.history", "History"),
    ("explorer.core.versions.retention.horizon", "Horizon"),
    ("explorer.core.versions.retention.horizon", "WhatIf"),
    ("explorer.core.versions.snapshot", "Snapshot"),
    ("explorer.spark.changes.row_diff", "RowDiff"),
    ("explorer.spark.checks.column_profile", "Profile"),
    ("explorer.spark.rows.key_history", "RowHistory"),
)
"""Module and class."""


def announce(formatter: Any) -> None:
    """Teach IPython's display formatter the public objects by their names."""
    for module, name in ANNOUNCED:
        formatter.formatters["text/html"].for_type_by_name(module, name, _html)
        formatter.formatters["text/plain"].for_type_by_name(module, name, _print)


def _html(value: object) -> str:
    from explorer.jupyter.displays import card_html
    from explorer.views.cards import card_of

    return str(card_html(card_of(value)))


def _print(value: object, printer: Any, _cycle: bool) -> None:
    from explorer.views.cards import card_of

    printer.text(card_of(value).plain())
