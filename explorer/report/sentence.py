"""The verdict of a report in one sentence: whole or not, the worst that was found, and the first deadline to come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.document import FoundFinding
from explorer.auditing.finding import Severity
from explorer.report.document import LogCheck, Phrase, Tone

__all__ = ["first_deadline", "sentence"]

_TONES: Final[dict[Severity, Tone]] = {"error": "danger", "warning": "strong", "info": "plain"}
_FIRST_WORDS: Final = ("The ", "A ", "An ", "No ", "Early ", "Removed ", "File ")


def first_deadline(findings: Sequence[FoundFinding], time: str) -> FoundFinding | None:
    """The finding whose deadline comes first of those that have not passed at a time; None if there is none."""
    dated = [each for each in findings if each.deadline is not None and each.deadline >= time]
    return min(dated, key=lambda each: each.deadline or "", default=None)


def sentence(
    findings: Sequence[FoundFinding], time: str, *, silent: int, log: LogCheck | None, read_whole: bool
) -> tuple[Phrase, ...]:
    """Say how a table is.

    Args:
        findings: What was found, the worst first.
        time: The time of the report, as its document has it.
        silent: How many rules found nothing.
        log: What verifying the log found; None if that was not possible.
        read_whole: Whether every part of the report could be made.
    """
    worst = findings[0] if findings else None
    grave = worst is not None and worst.severity == "error"
    doubtful = log is None or bool(log.problems) or not read_whole
    opening = "Not sound: " if grave else _doubt(log) if doubtful else "Whole"
    parts = [Phrase(text=opening, tone="danger" if grave or doubtful else "plain")]
    if worst is None:
        parts.append(Phrase(text=f"{', and' if doubtful else ':'} {fmt.plural(silent, 'rule')} found nothing"))
    else:
        if not grave:
            parts.append(Phrase(text=_joint(findings, doubtful=doubtful)))
        parts += [Phrase(text=_clause(worst), tone=_TONES[worst.severity]), *_deadline(findings, worst, time)]
    return (*parts, Phrase(text="."))


def _doubt(log: LogCheck | None) -> str:
    return "The log has faults" if log is not None and log.problems else "Not all of it could be read"


def _joint(findings: Sequence[FoundFinding], *, doubtful: bool) -> str:
    """What leads from the opening to the first finding, which is no error."""
    if doubtful:
        return ", and "
    if findings[0].severity == "warning":
        return ", but "
    first = "the note" if len(findings) == 1 else f"the first of {len(findings)} notes"
    return f", and nothing asks for action; {first}: "


def _clause(finding: FoundFinding) -> str:
    """A claim inside a sentence; a first word that may be a name stays as it is."""
    title = finding.title.rstrip(".")
    word = next((word for word in _FIRST_WORDS if title.startswith(word)), "")
    return word.lower() + title[len(word) :]


def _deadline(findings: Sequence[FoundFinding], worst: FoundFinding, time: str) -> list[Phrase]:
    """The first deadline, and what it is of where that is not the worst finding."""
    if worst.deadline is not None and worst.deadline < time:
        return [Phrase(text=f"; its remedy may fail at any time since {_when(worst.deadline)}")]
    first = first_deadline(findings, time)
    if first is None:
        return []
    when = Phrase(text=_when(first.deadline), tone="strong")
    if first is worst:
        return [Phrase(text="; its remedy works until "), when]
    if first.remedy is None:
        return [Phrase(text="; the first deadline is "), when]
    return [Phrase(text=f"; \u201c{first.remedy.label}\u201d has time until "), when]


def _when(text: str | None) -> str:
    return fmt.day(None if text is None else datetime.fromisoformat(text))
