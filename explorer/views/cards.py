"""Any public object in short, for a notebook cell or a prompt: a title, facts with their units, a few rows.

Invariants: what it costs to make a card is what the object knows already or reads once; a list is cut with the number
of what is left; every text is as the table has it, and what draws a card escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import singledispatch
from typing import Final

from explorer import formatting as fmt
from explorer.auditing import Audit, Finding
from explorer.auditing.erasure import Erasure, Place
from explorer.core.compatibility.access import ClientVerdict
from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.transaction.commit_plan import CommitResult, JudgedPlan, MaintenanceResult, PlanResult
from explorer.core.transaction.intents.records import Intent
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.diff import SnapshotDiff
from explorer.core.versions.history import History
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.intents.registry import headline
from explorer.views.problems import problem_of
from explorer.views.table.commits import Commits, commit_sentence

__all__ = ["CARDED", "Card", "Rows", "card_of"]

_MOST: Final = 8
_WIDEST: Final = 64


@dataclass(frozen=True, slots=True)
class Rows:
    """A few rows: the headings, the cells as text, and how many rows are not among them."""

    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """An object in short.

    Attributes:
        title: What it is, in a line.
        facts: Names and texts.
        rows: A list, cut.
        tone: ``""``, ``ok``, ``info``, ``warning`` or ``danger``.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    rows: Rows | None = None
    tone: str = ""

    def plain(self) -> str:
        """The same as text for a terminal."""
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [fmt.plain(self.title), *(f"  {name:<{width}}  {fmt.plain(text)}" for name, text in self.facts)]
        if self.rows is not None:
            cells = [self.rows.headings, *([fmt.shorten(cell, _WIDEST) for cell in row] for row in self.rows.cells)]
            widths = [max(len(row[place]) for row in cells) for place in range(len(self.rows.headings))]
            lines += ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
            lines += [f"  and {self.rows.more:,} more"] if self.rows.more else []
        return "\n".join(lines)


@singledispatch
def card_of(value: object) -> Card:
    """Return an object in short.

    Raises:
        TypeError: It is none of the public objects.
    """
    raise TypeError(f"There is no card of a {type(value).__name__}.")


@card_of.register
def _of_log(log: DeltaLog) -> Card:
    try:
        snapshot = log.snapshot()
    except ExplorerError as error:
        return _of_error(error)
    first, last = log.version_range()
    versions = f"v{first} to v{last}" if first != last else f"v{last}"
    return Card(f"{log.name}, v{last}", (("location", log.location), ("versions", versions), *_contents(snapshot)))


@card_of.register
def _of_snapshot(snapshot: Snapshot) -> Card:
    fields = [
        (field.name, type_name(field.type), "" if field.nullable else "not null") for field in snapshot.schema.fields
    ]
    return Card(f"v{snapshot.version}", _contents(snapshot), _rows(("column", "type", ""), fields))


@card_of.register
def _of_history(history: History) -> Card:
    newest = Commits(history.table(_MOST)).newest_first()
    cells = [
        (f"v{made.version}", fmt.moment(made.timestamp), made.operation, made.user_name, commit_sentence(made))
        for made in newest
    ]
    headings = ("version", "committed", "operation", "by", "what it did")
    found = len(history.commits)
    return Card(
        f"{fmt.plural(found, 'commit')}, v{history.first_readable} to v{history.latest} readable",
        rows=Rows(headings, tuple(cells), found - len(cells)),
    )


@card_of.register
def _of_diff(diff: SnapshotDiff) -> Card:
    totals = diff.totals
    files = f"+{totals.files_added:,} \u2212{totals.files_removed:,} ~{totals.files_remasked:,}"
    rows = f"+{fmt.count(totals.rows_added)} \u2212{fmt.count(totals.rows_removed)} rows, {totals.rows_masked:,} masked"
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
        _rows(("what", "change", "before", "after"), changes) if changes else None,
    )


@card_of.register
def _of_lineage(lineage: Lineage) -> Card:
    cells = [
        (line.spans[-1].name, line.physical_name, f"v{line.spans[0].from_version}", _dropped(line.dropped_at))
        for line in lineage.columns
    ]
    hazards = tuple((f"v{hazard.version}", hazard.detail) for hazard in lineage.hazards[:_MOST])
    title = f"{fmt.plural(len(cells), 'column')}, v{lineage.first_version} to v{lineage.last_version}"
    rows = _rows(("column", "physical name", "since", "dropped"), cells)
    return Card(title, hazards, rows, "warning" if hazards else "")


@card_of.register
def _of_plan(plan: JudgedPlan) -> Card:
    version = "makes no version" if plan.commit_version is None else f"would be v{plan.commit_version}"
    facts = (
        ("change", _asked(plan.intent)),
        ("on", f"{plan.table}, v{plan.read_version}; {version}"),
        ("time travel", plan.consequences.time_travel),
        ("undo", plan.consequences.undo),
        ("digest", plan.digest),
    )
    notable = [guard for guard in plan.guards if guard.status != "pass"]
    cells = [(g.status, g.name, str(g.evidence.get("detail", "")), g.remedy or "") for g in notable]
    passed = f"{len(plan.guards) - len(notable)} of {fmt.plural(len(plan.guards), 'guard')} pass"
    title = f"A plan that can be committed: {passed}" if plan.committable else f"A plan that is blocked: {passed}"
    rows = _rows(("status", "guard", "found", "next step"), cells) if cells else None
    return Card(title, tuple(fact for fact in facts if fact[1]), rows, "ok" if plan.committable else "danger")


@card_of.register(CommitResult)
@card_of.register(MaintenanceResult)
def _of_result(result: PlanResult) -> Card:
    done = result.outcome == "committed"
    facts = [("change", _asked(result.plan.intent)), ("table", result.plan.table)]
    if result.conflict is not None:
        facts.append((f"v{result.conflict.version} came first", result.conflict.why))
    facts += [("note", note) for note in result.notes]
    facts += [(guard.name, guard.remedy or guard.status) for guard in result.plan.blocking if not done]
    version = f" as v{result.version}" if result.version is not None else ""
    return Card(f"{result.outcome}{version}", tuple(facts), tone="ok" if done else "danger")


@card_of.register
def _of_audit(audit: Audit) -> Card:
    cells = [(f.severity, f.title, "; ".join(piece.text for piece in f.evidence), f.effect) for f in audit.findings]
    silent, open_ = len(audit.silent), len(audit.not_answered)
    facts = (
        ("basis", f"{'log and files' if audit.checked_files else 'the log alone'}, {fmt.moment(moment(audit.now))}"),
        ("found nothing", fmt.plural(silent, "rule")),
        ("not answered", fmt.plural(open_, "rule")),
    )
    worst = {"error": "danger", "warning": "warning"}.get(audit.findings[0].severity, "info") if cells else "ok"
    title = f"v{audit.version}: {fmt.plural(len(cells), 'finding')}"
    rows = _rows(("severity", "finding", "evidence", "effect"), cells) if cells else None
    return Card(title, facts, rows, worst)


@card_of.register
def _of_finding(finding: Finding) -> Card:
    evidence = "; ".join(piece.text for piece in finding.evidence)
    step = "" if finding.remedy is None else finding.remedy.label.rstrip("\u2026")
    facts = (("severity", finding.severity), ("evidence", evidence), ("effect", finding.effect), ("next step", step))
    tone = {"error": "danger", "warning": "warning"}.get(finding.severity, "info")
    return Card(finding.title, tuple(fact for fact in facts if fact[1]), tone=tone)


@card_of.register
def _of_verdict(verdict: ClientVerdict) -> Card:
    facts = (
        ("read", verdict.read),
        ("write", verdict.write),
        ("because", ", ".join(verdict.because)),
        ("source", f"{verdict.source}, {verdict.as_of}"),
    )
    tone = "danger" if "wrong" in (verdict.read, verdict.write) else ""
    return Card(f"{verdict.client} {verdict.version_from}", tuple(fact for fact in facts if fact[1]), tone=tone)


@card_of.register
def _of_erasure(proof: Erasure) -> Card:
    cells = [(place.state, f"{place.rows:,}", place.path, _gone(place)) for place in proof.places]
    facts = (
        ("where", proof.where),
        *((state, fmt.plural(rows, "matching row")) for state, rows in proof.totals.items() if rows),
        ("not answered", fmt.plural(len(proof.not_answered), "place") if proof.not_answered else ""),
        ("in the log itself", fmt.plural(len(proof.traces), "trace") if proof.traces else ""),
        ("not erased yet", "; ".join(proof.obstacles)),
    )
    title = f"v{proof.version}: {fmt.plural(sum(proof.totals.values()), 'matching row')} stored"
    rows = _rows(("state", "rows", "file", "gone from"), cells) if cells else None
    return Card(title, tuple(fact for fact in facts if fact[1]), rows, "warning" if proof.obstacles else "ok")


@card_of.register
def _of_error(error: ExplorerError) -> Card:
    problem = problem_of(error)
    facts = (("message", problem.message), ("next step", problem.next_step), *problem.facts)
    return Card(f"{problem.kind}: {problem.title}", facts, tone=problem.severity)


CARDED: Final[tuple[type, ...]] = tuple(kind for kind in card_of.registry if kind is not object)
"""The classes that have a card; their subclasses have it too."""


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
    return tuple(fact for fact in facts if fact[1])


def _versions(protocol: Protocol) -> str:
    return f"{protocol.min_reader_version}, {protocol.min_writer_version}"


def _rows(headings: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> Rows:
    return Rows(headings, tuple(cells[:_MOST]), max(len(cells) - _MOST, 0))


def _asked(intent: Intent) -> str:
    found = headline(intent)
    return " ".join(part for part in (found.verb, found.subject, found.code) if part)


def _gone(place: Place) -> str:
    if place.gone_from is None:
        return place.kept_by
    condition = "if deleted and purged now, " if place.is_conditional else ""
    return f"{condition}{fmt.day(moment(place.gone_from))}"


def _dropped(version: int | None) -> str:
    return "" if version is None else f"v{version}"
