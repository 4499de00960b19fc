"""An audit as a JSON object: one line of ``delta-explorer audit``, and what its digest is taken of."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from explorer import formatting as fmt
from explorer.auditing.finding import SEVERITIES, Evidence, Finding, Remedy, Severity
from explorer.auditing.verdict import Audit
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.versions.commit_times import moment

__all__ = ["audit_document", "verdict"]

_WORDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


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


def audit_document(audit: Audit, table: str) -> JsonObject:
    """Return an audit as JSON: table, version, time, basis, verdict, findings, notAnswered, foundNothing, digest.

    Args:
        audit: The audit.
        table: The table's location.
    """
    document: JsonObject = {
        "table": table,
        "version": audit.version,
        "time": moment(audit.now).isoformat(),
        "basis": _basis(audit.basis),
        "verdict": verdict(audit),
        "findings": [_finding(finding) for finding in audit.findings],
        "notAnswered": [{"id": each.rule.id, "reason": each.not_answered} for each in audit.not_answered],
        "foundNothing": [rule.id for rule in audit.silent],
    }
    return {**document, "digest": hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()}


def _basis(parts: tuple[str, ...]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _finding(finding: Finding) -> JsonObject:
    return {
        "id": finding.rule,
        "subject": finding.subject,
        "severity": finding.severity,
        "title": finding.title,
        "evidence": [_evidence(each) for each in finding.evidence],
        "effect": finding.effect,
        "remedy": _remedy(finding.remedy),
        "versions": [list(span) for span in finding.versions],
        "files": finding.files,
        "rows": finding.rows,
        "bytes": finding.size,
        "deadline": None if finding.deadline is None else moment(finding.deadline).isoformat(),
    }


def _evidence(evidence: Evidence) -> JsonValue:
    place = evidence.place
    return {"text": evidence.text, "version": None if place is None else place.version}


def _remedy(remedy: Remedy) -> JsonValue:
    return {
        "label": remedy.label.rstrip("\u2026"),
        "intent": None if remedy.intent is None else intent_document(remedy.intent),
        "command": remedy.command or None,
    }
