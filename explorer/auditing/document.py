"""An audit as a JSON object: one line of ``delta-explorer audit``, and what its digest is taken of."""

from __future__ import annotations

import hashlib
from typing import Final, TypeVar

import msgspec

from explorer import formatting as fmt
from explorer.auditing.finding import SEVERITIES, Evidence, Finding, Remedy, Severity
from explorer.auditing.verdict import Audit
from explorer.core.protocol.json_values import JsonObject, JsonRecord, JsonValue
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.versions.commit_times import moment

_WORDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


_SealedType = TypeVar("_SealedType", bound=JsonRecord)


class ReportEvidence(JsonRecord, frozen=True, kw_only=True):
    """A piece of evidence, and the version at which it can be seen."""

    text: str
    version: int | None


class NextStep(JsonRecord, frozen=True, kw_only=True):
    """A remedy: its name, and an intent filled in or a command."""

    label: str
    intent: JsonValue
    command: str | None


class ReportFinding(JsonRecord, frozen=True, kw_only=True):
    """A finding.

    Attributes:
        id: The id of its rule.
        subject: What of the table it is about, if a rule can report the same of several things.
        versions: The versions concerned, as ranges with both ends.
        files, rows, bytes: How many are concerned; null if that is not the point, or not known.
        deadline: When the next step stops working.
    """

    id: str
    subject: str = ""
    severity: Severity
    title: str
    evidence: tuple[ReportEvidence, ...]
    effect: str
    remedy: NextStep | None
    versions: tuple[tuple[int, int], ...]
    files: int | None
    rows: int | None
    bytes: int | None
    deadline: str | None


class NotAnsweredRule(JsonRecord, frozen=True, kw_only=True):
    """A rule that could not run, and why."""

    id: str
    reason: str


class AuditDocument(JsonRecord, frozen=True, kw_only=True):
    """The audit of a table.

    Attributes:
        version: The newest version.
        time: When the audit was made.
        basis: What was read: the log, and files, replay, chain, rows or footers if requested.
        verdict: The result in a sentence.
        found_nothing: The ids of the rules that passed.
        digest: SHA-256 of the rest, as JSON with sorted keys and no spaces.
    """

    table: str
    version: int
    time: str
    basis: str
    verdict: str
    findings: tuple[ReportFinding, ...]
    not_answered: tuple[NotAnsweredRule, ...]
    found_nothing: tuple[str, ...]
    digest: str = ""


def verdict(audit: Audit) -> str:
    """Say in a sentence or two how a table is: errors, warnings and notes, and how many rules have no answer."""
    counts = {level: sum(finding.severity == level for finding in audit.findings) for level in SEVERITIES}
    counted = [fmt.plural(counts[level], _WORDS[level]) for level in SEVERITIES if counts[level]]
    if counted:
        text = f"{', '.join(counted)}; most severe: {audit.findings[0].title}."
    else:
        text = f"{fmt.plural(len(audit.silent), 'rule')} passed."
    unchecked = len(audit.not_answered)
    return (
        f"{text} {fmt.plural(unchecked, 'rule')} {'was' if unchecked == 1 else 'were'} not checked."
        if unchecked
        else text
    )


def audit_document(audit: Audit, table: str) -> AuditDocument:
    """Return an audit as a JSON document, with its digest."""
    return sealed(
        AuditDocument(
            table=table,
            version=audit.version,
            time=moment(audit.now).isoformat(),
            basis=_basis(audit.basis),
            verdict=verdict(audit),
            findings=tuple(_finding(finding) for finding in audit.findings),
            not_answered=tuple(
                NotAnsweredRule(id=each.rule.id, reason=each.not_answered) for each in audit.not_answered
            ),
            found_nothing=tuple(rule.id for rule in audit.silent),
        )
    )


def canonical(value: object) -> bytes:
    """Return the one form of a document, or a part of one, as JSON."""
    return msgspec.json.encode(value, order="sorted")


def digest_of(document: JsonRecord | JsonObject) -> str:
    """Return the digest of a document: SHA-256 of the rest, as JSON with sorted keys and no spaces."""
    members: JsonObject = msgspec.to_builtins(document)
    stated = {name: value for name, value in members.items() if name != "digest"}
    return hashlib.sha256(canonical(stated)).hexdigest()


def sealed(document: _SealedType) -> _SealedType:
    """Return a document with its digest."""
    return msgspec.structs.replace(document, digest=digest_of(document))


def _basis(parts: tuple[str, ...]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _finding(finding: Finding) -> ReportFinding:
    return ReportFinding.of(
        finding,
        id=finding.rule,
        evidence=tuple(_evidence(each) for each in finding.evidence),
        remedy=_next_step(finding.remedy),
        bytes=finding.size,
        deadline=None if finding.deadline is None else moment(finding.deadline).isoformat(),
    )


def _evidence(evidence: Evidence) -> ReportEvidence:
    place = evidence.place
    return ReportEvidence(text=evidence.text, version=None if place is None else place.version)


def _next_step(remedy: Remedy) -> NextStep:
    return NextStep(
        label=remedy.label.rstrip("\u2026"),
        intent=None if remedy.intent is None else intent_document(remedy.intent),
        command=remedy.command or None,
    )
