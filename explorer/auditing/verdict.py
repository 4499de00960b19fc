"""All rules asked of one table."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import msgspec

from explorer.auditing.finding import SEVERITIES, Finding
from explorer.auditing.rule import NotAnswered, Rule
from explorer.auditing.rules import RULES
from explorer.auditing.subject import Subject
from explorer.core.errors import ExplorerError

_NEVER: Final = 2**63 - 1


class RuleResult(msgspec.Struct, frozen=True):
    """What a rule answered: its findings, or why it has no answer."""

    rule: Rule
    findings: tuple[Finding, ...]
    not_answered: str = ""


class Audit(msgspec.Struct, frozen=True, dict=True):
    """The answers of all rules on one table.

    Attributes:
        version: The newest version, of which they hold.
        now: The present as given, ms since the epoch.
        basis: The inputs: ``log``, and others on request.
        results: One a rule, in the order of the registry.
    """

    version: int
    now: int
    basis: tuple[str, ...]
    results: tuple[RuleResult, ...]

    def __repr__(self) -> str:
        return f"Audit(version={self.version}, findings={[finding.rule for finding in self.findings]})"

    @property
    def checked_files(self) -> bool:
        """Whether missing files were searched for."""
        return "files" in self.basis

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: the worst first, then by deadline, then in the order of the rules."""
        findings = [finding for result in self.results for finding in result.findings]
        return tuple(
            sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding.deadline or _NEVER))
        )

    @property
    def not_answered(self) -> tuple[RuleResult, ...]:
        """The rules without an answer."""
        return tuple(result for result in self.results if result.not_answered)

    @property
    def silent(self) -> tuple[Rule, ...]:
        """The rules that passed."""
        return tuple(result.rule for result in self.results if not result.findings and not result.not_answered)


def audit(subject: Subject, rules: tuple[Rule, ...] = RULES) -> Audit:
    """Ask the rules of a table; one that cannot read what it needs has no answer, and says why."""
    results = tuple(_result(rule, subject) for rule in rules)
    return Audit(subject.version, subject.now, subject.basis, results)


def _result(rule: Rule, subject: Subject) -> RuleResult:
    try:
        findings = rule.judge(subject)
    except ExplorerError as error:
        return RuleResult(rule, (), str(error))
    return RuleResult(rule, (), findings.reason) if isinstance(findings, NotAnswered) else RuleResult(rule, findings)
