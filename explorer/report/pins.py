"""What the log says of the pins of a case, and whether each still holds.

Invariants: a pin that no longer holds stays in the report, with the reason; what a person wrote and what the log says
are kept apart; rows and plans are repeated as they were given, and said to be so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

import msgspec
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.document import ReportFinding, audit_document, canonical
from explorer.auditing.subject import Subject
from explorer.auditing.verdict import Audit
from explorer.core.errors import ExplorerError, RequestError, VersionNotFound
from explorer.core.versions.diff import PropertyChange
from explorer.credentials import safe_path
from explorer.file_names import FileNames
from explorer.report.case_file import (
    AnyPin,
    CaseFile,
    CommitPin,
    DiffPin,
    FilePin,
    FindingPin,
    PlanPin,
    RowsPin,
)
from explorer.report.document import Case, Pin, PinFact

_MOST_ROWS: Final = 50
_MOST_CHANGES: Final = 20


def case(file: CaseFile, subject: Subject, findings: Sequence[ReportFinding], *, only_named: bool = False) -> Case:
    """Say of each pin what the log says of it.

    Args:
        file: The case file.
        subject: The table; pins of other tables are left out.
        findings: Its findings.
        only_named: Leave out pins that name no table.
    """
    location = subject.log.location.rstrip("/")
    mine = (pin for pin in file.pins if (not only_named if pin.table is None else pin.table.rstrip("/") == location))
    pins = tuple(_pin(pin, subject, findings) for pin in mine)
    return Case.of(file, pins=pins)


def report_findings(audited: Audit) -> tuple[ReportFinding, ...]:
    """Return the findings of an audit, as a report states them."""
    return audit_document(audited, "").findings


def pinned(pin: AnyPin, subject: Subject, findings: Sequence[ReportFinding]) -> AnyPin:
    """Return a pin as it goes into a case file: a commit with the digest of its file.

    Raises:
        RequestError: It does not hold now.
    """
    record = _pin(pin, subject, findings)
    if record.problem is not None:
        raise RequestError(f"Nothing to pin: {record.problem}")
    if isinstance(pin, CommitPin):
        return msgspec.structs.replace(pin, digest=_commit_digest(subject, pin.version))
    return pin


def _commit_digest(subject: Subject, version: int) -> str:
    """Return SHA-256 of the file of a commit, in lowercase hexadecimal."""
    path = subject.listing.commits.get(version)
    if path is None:
        raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
    return hashlib.sha256(subject.log.store.read(path.path)).hexdigest()


class _Broken(Exception):
    """A pin that can be checked and no longer holds; with the known facts."""

    def __init__(self, problem: str, facts: Sequence[PinFact] = ()) -> None:
        super().__init__(problem)
        self.facts = tuple(facts)


def _pin(pin: AnyPin, subject: Subject, findings: Sequence[ReportFinding]) -> Pin:
    kind, what = name_of(pin)
    problem: str | None = None
    facts: tuple[PinFact, ...] = ()
    try:
        facts = tuple(_facts(pin, subject, findings))
    except _Broken as broken:
        problem, facts = str(broken), broken.facts
    except ExplorerError as error:
        problem = str(error)
    return Pin(
        kind=kind,
        what=what,
        note=pin.note,
        pinned=None if pin.pinned is None else pin.pinned.isoformat(),
        holds=problem is None,
        problem=problem,
        facts=facts,
    )


def name_of(pin: AnyPin) -> tuple[str, str]:
    """Return of what kind a pin is, and of what: ``("commit", "v3")``."""
    match pin:
        case CommitPin():
            return "commit", f"v{pin.version}"
        case DiffPin():
            return "diff", f"v{pin.from_version} to v{pin.to_version}"
        case FindingPin():
            return "finding", pin.id + (f", {pin.subject}" if pin.subject else "")
        case FilePin():
            return "file", f"{safe_path(pin.path)} at v{pin.version}"
        case PlanPin():
            return "plan", str(pin.plan.intent.get("kind", "plan"))
        case RowsPin():
            return "rows", f"v{pin.version}" + (f", where {pin.where}" if pin.where else "")
        case _:
            assert_never(pin)


def _facts(pin: AnyPin, subject: Subject, findings: Sequence[ReportFinding]) -> Iterator[PinFact]:
    match pin:
        case CommitPin():
            return _commit(pin, subject)
        case DiffPin():
            return _diff(pin, subject)
        case FindingPin():
            return _finding(pin, subject, findings)
        case FilePin():
            return _file(pin, subject)
        case PlanPin():
            return _plan(pin, subject)
        case RowsPin():
            return _rows(pin, subject)
        case _:
            assert_never(pin)


def _commit(pin: CommitPin, subject: Subject) -> Iterator[PinFact]:
    digest = _commit_digest(subject, pin.version)
    commits = subject.commits
    commit = commits.record(pin.version)
    if commit is None:
        raise VersionNotFound(f"The commit of version {pin.version} is not in the log.", version=pin.version)
    columns = {"operation": "operation", "by": "user_name", "with": "engine_info", "reason": "reason"}
    facts = [_fact(name, text) for name, column in columns.items() if (text := commits.text(pin.version, column))]
    facts.insert(1, _fact("time", fmt.moment(commit.timestamp)))
    facts += [
        _fact("rows added", fmt.count(commit.rows_added)),
        _fact("rows removed", fmt.count(commit.rows_removed)),
        *([_fact("rows masked", fmt.count(commit.rows_masked))] if commit.rows_masked != 0 else []),
        *([_fact("rows updated", fmt.count(commit.rows_updated))] if commit.rows_updated else []),
        _fact("files added", fmt.count(commit.files_added)),
        _fact("files removed", fmt.count(commit.files_removed)),
        _fact("SHA-256 of its file", digest),
    ]
    if pin.digest is not None and pin.digest != digest:
        raise _Broken(f"The commit file differs from the pinned one, whose SHA-256 was {pin.digest}.", facts)
    yield from facts


def _diff(pin: DiffPin, subject: Subject) -> Iterator[PinFact]:
    diff = subject.log.diff(pin.from_version, pin.to_version)
    totals = diff.totals
    rows = f"+{fmt.count(totals.rows_added)}, \u2212{fmt.count(totals.rows_removed)}"
    yield _fact("rows", f"{rows}, {fmt.hidden_rows(totals.rows_masked)}" if totals.rows_masked else rows)
    yield _fact("files", f"+{fmt.count(totals.files_added)}, \u2212{fmt.count(totals.files_removed)}")
    changes = [f"{each.column} {each.kind}" for each in diff.schema]
    changes += [_property(each) for each in (*diff.properties, *diff.attributes)]
    if diff.protocol is not None:
        changes.append("protocol changed")
    for text in changes[:_MOST_CHANGES]:
        yield _fact("changed", text)
    if len(changes) > _MOST_CHANGES:
        yield _fact("changed", f"{len(changes) - _MOST_CHANGES:,} more")


def _property(change: PropertyChange) -> str:
    before, after = ("not set" if value is None else value for value in (change.before, change.after))
    return f"{change.key}: {before} \u2192 {after}"


def _finding(pin: FindingPin, subject: Subject, findings: Sequence[ReportFinding]) -> Iterator[PinFact]:
    matches = [each for each in findings if each.id == pin.id and pin.subject in (None, each.subject)]
    if not matches:
        raise _Broken(f"This audit of v{subject.version} no longer reports it.")
    for each in matches:
        yield _fact("claim", each.title)
        yield _fact("effect", each.effect)
        yield from (_fact("evidence", evidence.text) for evidence in each.evidence)


def _file(pin: FilePin, subject: Subject) -> Iterator[PinFact]:
    columns = ["path", "raw_path", "size", "num_records", "dv_cardinality"]
    files = subject.log.snapshot(pin.version).files(columns)
    path = FileNames(files.column("path")).path(pin.path)
    chosen = pc.or_(pc.equal(files.column("path"), path), pc.equal(files.column("raw_path"), path))
    rows = files.filter(chosen).to_pylist()
    if not rows:
        raise _Broken(f"No live file of v{pin.version} has this path.")
    for row in rows:
        yield _fact("size", fmt.size(row["size"]))
        yield _fact("rows in the file", fmt.count(row["num_records"]))
        yield _fact("rows masked", fmt.count(row["dv_cardinality"] or 0))


def _plan(pin: PlanPin, subject: Subject) -> Iterator[PinFact]:
    plan = pin.plan
    yield _fact("intent", canonical(plan.intent).decode())
    yield _fact("made on", f"v{plan.read_version}")
    for guard in plan.guards:
        if guard.status != "pass":
            yield _fact(f"guard {guard.name}", f"{guard.status}: {guard.evidence.get('detail', '')}")
    yield _fact("plan digest", plan.plan_digest)
    if plan.table.rstrip("/") != subject.log.location.rstrip("/"):
        raise _Broken(f"The plan was made for {fmt.plain(plan.table, 200)}.", [])
    if plan.read_version < subject.version:
        yield _fact("since then", fmt.plural(subject.version - plan.read_version, "commit"))


def _rows(pin: RowsPin, subject: Subject) -> Iterator[PinFact]:
    if pin.version > subject.version or pin.version < subject.history.first_readable:
        facts = [*_repeated(pin)]
        raise _Broken(f"v{pin.version} can no longer be read: the readable versions are "
        f"v{subject.history.first_readable} to "
                      f"v{subject.version}.", facts)  # fmt: skip
    yield from _repeated(pin)


def _repeated(pin: RowsPin) -> Iterator[PinFact]:
    yield _fact("basis", "rows from the case file; not read for this report")
    for row in pin.rows[:_MOST_ROWS]:
        yield _fact("row", canonical(row).decode())
    if len(pin.rows) > _MOST_ROWS:
        yield _fact("row", f"{len(pin.rows) - _MOST_ROWS:,} more in the case file")


def _fact(name: str, text: str) -> PinFact:
    return PinFact(name=name, text=text)
