"""The report of a table in short, as a notebook and a terminal show it: importing it gives reports their card."""

from __future__ import annotations

from datetime import datetime

from explorer import formatting as fmt
from explorer.report.document import TableReport
from explorer.views.card import MOST, TONES, Card, first_rows, stated
from explorer.views.cards import card_of

__all__ = ["report_card"]


@card_of.register
def report_card(report: TableReport) -> Card:
    """Return the sentence, the findings and the digest of a report."""
    cells = [
        (each.severity, each.title, "; ".join(piece.text for piece in each.evidence), each.effect)
        for each in report.findings
    ]
    log = report.log
    facts = (
        ("summary", "".join(phrase.text for phrase in report.sentence)),
        ("table", report.table),
        ("made", f"{_time(report.time)}{'' if report.by is None else f' by {report.by}'}, from {report.basis}"),
        ("first deadline", "" if report.deadline is None else _time(report.deadline)),
        ("log", "" if log is None else fmt.plural(len(log.problems), "problem") if log.problems else "no problems"),
        ("passed", fmt.plural(len(report.found_nothing), "rule")),
        ("not checked", fmt.plural(len(report.not_answered), "rule")),
        *((f"without {each.part}", each.reason) for each in report.missing[:MOST]),
        ("digest", report.digest),
    )
    worst = TONES[report.findings[0].severity] if cells else "ok"
    if worst in ("info", "ok") and (log is None or log.problems or report.missing):
        worst = "warning"
    title = f"Report of {report.title}, v{report.version}: {fmt.plural(len(cells), 'finding')}"
    rows = first_rows(("severity", "finding", "evidence", "effect"), cells) if cells else None
    return Card(title, stated(facts), rows, worst)


def _time(text: str) -> str:
    """Return a time of a document for cards; texts that are not times are unchanged."""
    try:
        return fmt.moment(datetime.fromisoformat(text))
    except ValueError:
        return text
