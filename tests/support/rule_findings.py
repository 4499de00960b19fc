"""What an audit says of one rule."""

from __future__ import annotations

from explorer.auditing import Audit, Finding


def finding_of(audit: Audit, rule: str) -> Finding:
    """The one finding of a rule."""
    findings = [finding for finding in audit.findings if finding.rule == rule]
    assert len(findings) == 1, audit
    return findings[0]


def is_silent(audit: Audit, rule: str) -> bool:
    """Whether a rule looked and found nothing."""
    return rule in {silent.id for silent in audit.silent}
