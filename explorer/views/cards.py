"""Any public object or Arrow table in short, for a notebook cell or a prompt: a title, facts with units, a few rows.

Invariants: a card is made from facts that the object has or reads once; no card starts a job of Spark. Columns of this
program's own tables have the units of their documentation; of other tables only the types are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.auditing import Audit, Finding
from explorer.auditing.erasure import Erasure, MatchedPlace
from explorer.core.compatibility.access import ClientVerdict
from explorer.core.errors import ExplorerError
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.protocol.statistics.data_skipping import SkippingResult
from explorer.core.protocol.times import from_milliseconds
from explorer.core.transaction.commit_plan import CommitResult, JudgedPlan, MaintenanceResult, PlanResult
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.row_engine import CheckReport
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commit_times import moment
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.diff import SnapshotDiff
from explorer.core.versions.history import History
from explorer.core.versions.retention.horizon import Horizon, WhatIf
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intent_form import headline
from explorer.views.card import (
    MOST,
    TONES,
    Card,
    CardRows,
    check_card,
    first_rows,
    history_card,
    horizon_card,
    integrity_card,
    profile_card,
    row_diff_card,
    skipping_card,
    stated,
    what_if_card,
)
from explorer.views.problems import problem_of
from explorer.views.table.commits import commit_sentence

if TYPE_CHECKING:
    from explorer.catalogs.entry import CatalogEntry


@singledispatch
def card_of(value: object) -> Card:
    """Return an object in short.

    Raises:
        TypeError: It is none of the public objects.
    """
    for kind in type(value).__mro__:
        made = CARDED_BY_NAME.get((kind.__module__, kind.__name__))
        if made is not None:
            return made(value)
    raise TypeError(f"There is no card for a {type(value).__name__}.")


@card_of.register
def _of_log(log: DeltaLog) -> Card:
    try:
        snapshot = log.snapshot()
    except ExplorerError as error:
        return _of_error(error)
    first, last = log.version_range()
    versions = f"v{first} to v{last}" if first != last else f"v{last}"
    entry: CatalogEntry | None = getattr(log, "catalog_entry", None)
    place = [("location", log.location)]
    if entry is not None:
        place += [("catalog", entry.address), *([("owner", entry.owner)] if entry.owner else [])]
    return Card(f"{log.name}, v{last}", (*place, ("versions", versions), *_contents(snapshot)))


@card_of.register
def _of_snapshot(snapshot: Snapshot) -> Card:
    fields = [
        (field.name, type_name(field.type), "" if field.nullable else "not null") for field in snapshot.schema.fields
    ]
    return Card(f"v{snapshot.version}", _contents(snapshot), first_rows(("column", "type", ""), fields))


@card_of.register
def _of_history(history: History) -> Card:
    newest = Commits(history.table(MOST)).newest_first()
    cells = [
        (f"v{made.version}", fmt.moment(made.timestamp), made.operation, made.user_name, commit_sentence(made))
        for made in newest
    ]
    headings = ("version", "committed", "operation", "by", "what it did")
    count = len(history.commits)
    return Card(
        f"{fmt.plural(count, 'commit')}, v{history.first_readable} to v{history.latest} readable",
        rows=CardRows(headings, tuple(cells), count - len(cells)),
    )


@card_of.register
def _of_diff(diff: SnapshotDiff) -> Card:
    totals = diff.totals
    files = f"+{totals.files_added:,} \u2212{totals.files_removed:,} ~{totals.files_remasked:,}"
    moved = f"+{fmt.count(totals.rows_added)} \u2212{fmt.count(totals.rows_removed)} rows"
    rows = f"{moved}, {fmt.hidden_rows(totals.rows_masked)}" if totals.rows_masked else moved
    sizes = f"+{fmt.size(totals.bytes_added)} \u2212{fmt.size(totals.bytes_removed)}"
    changes: list[tuple[str, str, str, str]] = [
        (f"column {c.column}", c.kind, c.before or "", c.after or "") for c in diff.schema
    ]
    changes += [(c.key, "property", c.before or "not set", c.after or "not set") for c in diff.properties]
    changes += [(c.key, "attribute", c.before or "", c.after or "") for c in diff.attributes]
    if diff.protocol is not None:
        before, after = (_versions(protocol) for protocol in (diff.protocol.before, diff.protocol.after))
        changes.append(("protocol", "reader, writer", before, after))
    return Card(
        f"v{diff.from_version} to v{diff.to_version}",
        (("rows", rows), ("files", files), ("size", sizes)),
        first_rows(("what", "change", "before", "after"), changes) if changes else None,
    )


@card_of.register
def _of_lineage(lineage: Lineage) -> Card:
    cells = [
        (line.spans[-1].name, line.physical_name, f"v{line.spans[0].from_version}", _dropped(line.dropped_at))
        for line in lineage.columns
    ]
    hazards = tuple((f"v{hazard.version}", hazard.detail) for hazard in lineage.hazards[:MOST])
    title = f"{fmt.plural(len(cells), 'column')}, v{lineage.first_version} to v{lineage.last_version}"
    rows = first_rows(("column", "physical name", "since", "dropped"), cells)
    return Card(title, hazards, rows, "warning" if hazards else "")


@card_of.register
def _of_plan(plan: JudgedPlan) -> Card:
    version = "makes no version" if plan.commit_version is None else f"becomes v{plan.commit_version}"
    facts = (
        ("change", _requested_change(plan.intent)),
        ("on", f"{plan.table}, v{plan.read_version}; {version}"),
        ("time travel", plan.consequences.time_travel),
        ("undo", plan.consequences.undo),
        ("digest", plan.digest),
    )
    notable = [guard for guard in plan.guards if guard.status != "pass"]
    cells = [(g.status, g.name, str(g.evidence.get("detail", "")), g.remedy or "") for g in notable]
    passed = f"{len(plan.guards) - len(notable)} of {fmt.plural(len(plan.guards), 'guard')} pass"
    title = f"A plan that can be committed: {passed}" if plan.committable else f"A plan that is blocked: {passed}"
    rows = first_rows(("status", "guard", "evidence", "next step"), cells) if cells else None
    return Card(title, stated(facts), rows, "ok" if plan.committable else "danger")


@card_of.register(CommitResult)
@card_of.register(MaintenanceResult)
def _of_result(result: PlanResult) -> Card:
    done = result.outcome == "committed"
    facts = [("change", _requested_change(result.plan.intent)), ("table", result.plan.table)]
    if result.conflict is not None:
        facts.append((f"v{result.conflict.version} came first", result.conflict.why))
    facts += [("note", note) for note in result.notes]
    facts += [(guard.name, guard.remedy or guard.status) for guard in result.plan.blocking if not done]
    version = f" as v{result.version}" if result.version is not None else ""
    return Card(f"{result.outcome}{version}", tuple(facts), tone="ok" if done else "danger")


@card_of.register
def _of_audit(audit: Audit) -> Card:
    cells = [(f.severity, f.title, "; ".join(piece.text for piece in f.evidence), f.effect) for f in audit.findings]
    silent, unchecked = len(audit.silent), len(audit.not_answered)
    facts = (
        ("basis", f"{'log and files' if audit.checked_files else 'the log alone'}, {fmt.moment(moment(audit.now))}"),
        ("passed", fmt.plural(silent, "rule")),
        ("not checked", fmt.plural(unchecked, "rule")),
    )
    worst = TONES[audit.findings[0].severity] if cells else "ok"
    title = f"v{audit.version}: {fmt.plural(len(cells), 'finding')}"
    rows = first_rows(("severity", "finding", "evidence", "effect"), cells) if cells else None
    return Card(title, facts, rows, worst)


@card_of.register
def _of_finding(finding: Finding) -> Card:
    evidence = "; ".join(piece.text for piece in finding.evidence)
    step = finding.remedy.label.rstrip("\u2026")
    facts = (("severity", finding.severity), ("evidence", evidence), ("effect", finding.effect), ("next step", step))
    return Card(finding.title, stated(facts), tone=TONES[finding.severity])


@card_of.register
def _of_verdict(verdict: ClientVerdict) -> Card:
    facts = (
        ("read", verdict.read),
        ("write", verdict.write),
        ("because", ", ".join(verdict.because)),
        ("source", f"{verdict.source}, {verdict.as_of}"),
    )
    tone = "danger" if "wrong" in (verdict.read, verdict.write) else ""
    return Card(f"{verdict.client} {verdict.version_from}", stated(facts), tone=tone)


@card_of.register
def _of_erasure(proof: Erasure) -> Card:
    cells = [(place.state, f"{place.rows:,}", place.path, _deletable_from(place)) for place in proof.places]
    facts = (
        ("where", proof.where),
        *((state, fmt.plural(rows, "matching row")) for state, rows in proof.totals.items() if rows),
        ("not checked", fmt.plural(len(proof.not_answered), "place") if proof.not_answered else ""),
        ("in the log itself", fmt.plural(len(proof.traces), "trace") if proof.traces else ""),
        ("not erased yet", "; ".join(proof.obstacles)),
    )
    title = f"v{proof.version}: {fmt.plural(sum(proof.totals.values()), 'matching row')} stored"
    rows = first_rows(("state", "rows", "file", "deletable from"), cells) if cells else None
    return Card(title, stated(facts), rows, "warning" if proof.obstacles else "ok")


@card_of.register
def _of_error(error: ExplorerError) -> Card:
    problem = problem_of(error)
    facts = (("message", problem.statement), ("next step", problem.next_step), *problem.facts)
    return Card(f"{problem.kind}: {problem.title}", facts, tone=problem.severity)


card_of.register(CheckReport, check_card)
card_of.register(Horizon, horizon_card)
card_of.register(IntegrityReport, integrity_card)
card_of.register(SkippingResult, skipping_card)
card_of.register(WhatIf, what_if_card)


def carded() -> tuple[type, ...]:
    """Return the classes that have a card; their subclasses have it too."""
    return tuple(kind for kind in card_of.registry if kind is not object)


CARDED_BY_NAME: Final[Mapping[tuple[str, str], Callable[[Any], Card]]] = {
    ("explorer.spark.changes.row_diff", "RowDiff"): row_diff_card,
    ("explorer.spark.checks.column_profile", "Profile"): profile_card,
    ("explorer.spark.rows.key_history", "RowHistory"): history_card,
}
"""Those of Spark that have one, by module and name: importing them would need PySpark."""


def _contents(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    records, masked = snapshot.num_records, snapshot.num_deleted_records
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    rows = "unknown: not in every file's statistics" if records is None else fmt.quantity(records - masked, "row")
    mode = snapshot.column_mapping_mode
    facts = (
        ("rows", rows + (f", {masked:,} more masked" if masked else "")),
        ("files", f"{fmt.quantity(snapshot.num_files, 'file')}, {fmt.size(snapshot.size_in_bytes)}"),
        ("committed", f"{fmt.moment(snapshot.timestamp)}, {fmt.age(snapshot.timestamp, datetime.now(UTC))}"),
        ("protocol", f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"),
        ("features", ", ".join(features)),
        ("column mapping", "" if mode == "none" else mode),
        ("partitioned by", ", ".join(snapshot.partition_columns)),
        ("clustered by", ", ".join(snapshot.clustering_columns)),
    )
    return stated(facts)


def _versions(protocol: Protocol) -> str:
    return f"{protocol.min_reader_version}, {protocol.min_writer_version}"


def _requested_change(intent: Intent) -> str:
    head = headline(intent)
    return " ".join(part for part in (head.verb, head.subject, head.code) if part)


def _deletable_from(place: MatchedPlace) -> str:
    if place.gone_from is None:
        return place.kept_by
    condition = "if deleted and purged now, " if place.is_conditional else ""
    return f"{condition}{fmt.day(moment(place.gone_from))}"


def _dropped(version: int | None) -> str:
    return "" if version is None else f"v{version}"


_ROWS: Final = 8
_COLUMNS: Final = 12
_OURS: Final = (
    frozenset({"path", "size", "modification_time"}),
    frozenset({"version", "timestamp", "operation", "num_files_added"}),
)
_BYTES: Final = frozenset({"size", "num_bytes", "bytes_added", "bytes_removed", "size_in_bytes", "dv_size_in_bytes"})
_TIMES: Final = frozenset({"modification_time", "deletion_time"})


def arrow_card(table: pa.Table) -> Card:
    """Return the first rows of a table, with how many rows and columns there are."""
    ours = any(names <= set(table.column_names) for names in _OURS)
    fields = list(table.schema)[:_COLUMNS]
    units = {field.name: _unit(field, ours=ours) for field in fields}
    shown = table.select([field.name for field in fields]) if _unlike(table) else table
    cells = tuple(
        tuple(_text(value, units[field.name]) for field, value in zip(fields, row, strict=False))
        for row in _first_rows(shown)
    )
    rows = CardRows(tuple(_heading(field, units) for field in fields), cells, max(table.num_rows - _ROWS, 0))
    more = table.num_columns - len(fields)
    title = f"{fmt.plural(table.num_rows, 'row')}, {fmt.plural(table.num_columns, 'column')}"
    return Card(title, (("not shown", fmt.plural(more, "column")),) if more else (), rows)


def _unlike(table: pa.Table) -> bool:
    """Return whether no two columns have the same name, so that they can be chosen by it."""
    names: list[str] = table.column_names
    return len(set(names)) == len(names)


def _first_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.slice(0, _ROWS).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _heading(field: pa.Field, units: Mapping[str, str]) -> str:
    return f"{field.name} ({units[field.name] or fmt.shorten(str(field.type), 40)})"


def _unit(field: pa.Field, *, ours: bool) -> str:
    """Return the unit of the values, if known."""
    if pa.types.is_timestamp(field.type):
        return "UTC" if field.type.tz in ("UTC", "+00:00") else field.type.tz or "no time zone"
    if not ours:
        return ""
    if field.name in _TIMES:
        return "UTC"
    return "bytes" if field.name in _BYTES else ""


def _text(value: Any, unit: str) -> str:
    match value:
        case None:
            return fmt.value_text(None)
        case int() if unit == "bytes":
            return fmt.size(value)
        case int() if unit == "UTC":
            return fmt.moment(from_milliseconds(value))
        case bool() | float():
            return fmt.value_text(value)
        case int():
            return f"{value:,}"
        case _:
            return fmt.shorten(fmt.value_text(value), 80)
