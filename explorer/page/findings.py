"""Findings as a page shows them: evidence as links, remedies as links to the change filled in, a chip of the worst."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from explorer import formatting as fmt
from explorer.auditing import Audit, Evidence, Finding, Place, Remedy
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.versions.commit_times import moment
from explorer.page.address import Address
from explorer.page.tabs import tab_showing
from explorer.views.act.intent_form import answers_of
from explorer.views.card import TONES

_MOST_NAMED = 3
_SOURCES = {
    "log": "the log",
    "files": "the stored files",
    "replay": "a replay of the log",
    "chain": "a saved chain head",
    "rows": "the rows",
    "footers": "the footers",
}
_COUNTED = {"error": "wrong", "warning": "warning", "info": "note"}


@dataclass(frozen=True, slots=True)
class LinkedText:
    """A piece of text, and the address that shows it; empty if there is none."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding.

    Attributes:
        tone: ``danger``, ``warning`` or ``info``.
        title, effect: As the finding has them.
        evidence: In pieces, each a link where there is something to see.
        remedy: The next step, as a link; None if there is none or it is a command.
        command: A command to copy; empty if there is none.
        command_label: What copying it is called.
        worst: Whether it is the first of those to act on.
        rule, subject: What it is the finding of.
        undo: The way to what undoes the commit that caused it; None where no one commit did.
        can_be_pinned: The log alone shows it, by which a case checks its pins.
    """

    tone: str
    title: str
    effect: str
    evidence: tuple[LinkedText, ...]
    remedy: LinkedText | None
    command: str
    command_label: str
    worst: bool
    rule: str
    subject: str
    undo: LinkedText | None = None
    can_be_pinned: bool = True


@dataclass(frozen=True, slots=True)
class AuditCard:
    """What the rules say of a table.

    Attributes:
        version: The newest version, of which they say it.
        findings: The worst first.
        verdict: How many there are, in words.
        deadline: Until when the first remedy in time works, and of what; empty if none has a deadline to come.
        tone: Of the worst; ``ok`` if there is none.
        chip: The worst in two or three words, with how many more.
        basis: How many rules were checked, from which sources, when.
        checked: The titles of the rules that passed.
        unanswered: Rules without an answer, and why; of many with one reason, how many.
        unchecked: How many rules have no answer.
    """

    version: int
    findings: tuple[FindingView, ...]
    verdict: str
    deadline: str
    tone: str
    chip: str
    basis: str
    checked: tuple[str, ...]
    unanswered: tuple[LinkedText, ...]
    unchecked: int


def audit_card(audit: Audit, address: Address, pinned_by: Audit | None = None) -> AuditCard:
    """Return what a page shows of an audit, with links that start from its address.

    Args:
        audit: The audit.
        address: The address of the page.
        pinned_by: The audit by which a case checks its pins, if it is another one.
    """
    reported = audit.findings
    more = len(reported) - 1
    findings = tuple(finding_view(finding, address, worst=not place) for place, finding in enumerate(reported))
    if pinned_by is not None:
        pinned = {(finding.rule, finding.subject) for finding in pinned_by.findings}
        findings = tuple(replace(each, can_be_pinned=(each.rule, each.subject) in pinned) for each in findings)
    answered = len(audit.results) - len(audit.not_answered)
    return AuditCard(
        version=audit.version,
        findings=findings,
        verdict=_verdict(audit),
        deadline=_deadline(audit),
        tone=tone(reported[0]) if reported else "ok",
        chip="" if not reported else reported[0].label + (f" +{more}" if more else ""),
        basis=f"{answered} of {fmt.plural(len(audit.results), 'rule')} checked, v{audit.version}, "
        f"from {_sources(audit)}, {fmt.day(moment(audit.now))}",
        checked=tuple(rule.title for rule in audit.silent),
        unanswered=_unanswered(audit),
        unchecked=len(audit.not_answered),
    )


def _sources(audit: Audit) -> str:
    """Return what an audit has read."""
    read = [_SOURCES[part] for part in audit.basis]
    return "the log alone" if len(read) == 1 else f"{', '.join(read[:-1])} and {read[-1]}"


def tone(finding: Finding) -> str:
    """Return the tone of a finding."""
    return TONES[finding.severity]


def _verdict(audit: Audit) -> str:
    if not audit.findings:
        return "No findings" if len(audit.not_answered) < len(audit.results) / 2 else "Not checked"
    kinds = [_COUNTED[finding.severity] for finding in audit.findings]
    return ", ".join(
        f"{len(list(group))} {kind}" if kind == "wrong" else fmt.plural(len(list(group)), kind)
        for kind, group in groupby(kinds)
    )


def _deadline(audit: Audit) -> str:
    dated = [(finding.deadline, finding) for finding in audit.findings if (finding.deadline or 0) >= audit.now]
    first = min(dated, key=lambda each: each[0] or 0, default=None)
    return "" if first is None else f"first deadline {fmt.day(moment(first[0] or 0))}: {first[1].title}"


def _unanswered(audit: Audit) -> tuple[LinkedText, ...]:
    """Return the rules without an answer, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for result in audit.not_answered:
        reasons.setdefault(result.not_answered, []).append(result.rule.title)
    return tuple(LinkedText(f"{_questions(titles)}: {reason}") for reason, titles in reasons.items())


def _questions(titles: list[str]) -> str:
    return ", ".join(titles) if len(titles) <= _MOST_NAMED else f"{len(titles)} questions"


def finding_view(finding: Finding, address: Address, *, worst: bool) -> FindingView:
    """Return a finding with links that start from an address; the worst of those to act on is marked."""
    remedy = finding.remedy
    way = LinkedText(remedy.label, _way(remedy, address))
    return FindingView(
        tone=tone(finding),
        title=finding.title,
        effect=finding.effect,
        evidence=tuple(_part(piece, address) for piece in finding.evidence),
        remedy=way if way.href else None,
        command="" if way.href else remedy.command,
        command_label=remedy.label,
        worst=worst and finding.severity != "info",
        rule=finding.rule,
        subject=finding.subject,
        undo=_undo(finding, address),
    )


def _undo(finding: Finding, address: Address) -> LinkedText | None:
    if not finding.cause:
        return None
    plain = Address(table=address.table, fold=address.fold)
    return LinkedText(f"Undo v{finding.cause}\u2026", plain.undo_of(finding.cause))


def _part(evidence: Evidence, address: Address) -> LinkedText:
    return LinkedText(evidence.text, "" if evidence.place is None else _seen_at(evidence.place, address))


def _seen_at(place: Place, address: Address) -> str:
    key = tab_showing(place.aspect).key
    feed = "inferred" if place.aspect == "changes" else None
    plain = Address(table=address.table, fold=address.fold)
    return plain.to(tab=key, version=place.version, compared=place.compared, column=place.column, feed=feed)


def _way(remedy: Remedy, address: Address) -> str:
    if remedy.intent is None:
        return "" if remedy.place is None else _seen_at(remedy.place, address)
    plain = Address(table=address.table, fold=address.fold)
    return plain.filled(intent_kind(remedy.intent), dict(sorted(answers_of(remedy.intent).items())))
