"""A report as one HTML file, made from its document alone.

Invariants: the same document gives the same text, byte for byte, with the same version of this program. Every value is
escaped, and characters that would change the direction of text or hide in it are made visible. The file asks for no
script, no font, no picture and no network, and its policy forbids them.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, TypeVar

from explorer import formatting as fmt
from explorer.auditing.document import ReportFinding, canonical
from explorer.auditing.finding import SEVERITIES
from explorer.report.decoding import AnyReport, embedding
from explorer.report.document import ClientLine, RuleLine, TableReport, TablesReport
from explorer.report.drawing import HorizonDrawing, StripDrawing, draw_history, draw_retention
from explorer.report.erasure_statement import ErasureStatement

if TYPE_CHECKING:
    import jinja2

_LONGEST: Final = 20_000
_MOST_NAMED: Final = 4
_Thing = TypeVar("_Thing")
_READS: Final = {"yes": "\u2713", "no": "refuses", "wrong": "WRONG", "unknown": "unknown"}
_STATES: Final = {
    "live": "live: visible to every reader",
    "masked": "masked: hidden by a deletion vector, but not erased",
    "history": "history: reachable through time travel",
    "feed": "feed: reachable through the change data feed",
    "orphan": "orphan: in an orphaned file",
}
_WORDS: Final = {"error": "error", "warning": "warning", "info": "note"}


def render(report: AnyReport) -> str:
    """Return a report as HTML."""
    from markupsafe import Markup

    style = _style()
    sealed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    template, values = _content(report)
    return (
        _environment()
        .get_template(template)
        .render(
            report=report,
            **values,
            style=Markup(style),  # noqa: S704  # a file of this package
            policy=f"default-src 'none'; style-src 'sha256-{sealed}'; base-uri 'none'; form-action 'none'",
            data=Markup(embedding(canonical(report))),  # noqa: S704  # `embedding` escapes it
        )
    )


def _content(report: AnyReport) -> tuple[str, dict[str, Any]]:
    """Return the template of a report, and its additional values."""
    if isinstance(report, ErasureStatement):
        return "erasure.html", {"places": _places(report)}
    several = isinstance(report, TablesReport)
    tables = report.tables if isinstance(report, TablesReport) else (report,)
    sections = [_Section.of(number, table) for number, table in enumerate(tables)]
    return "report.html", {"several": several, "sections": sections}


def _places(report: ErasureStatement) -> list[tuple[str, int, int, str | None, bool]]:
    """Return by state: its words, rows, files, when the last of them can be deleted, and whether one stays."""
    places = []
    for state, words in _STATES.items():
        matching = [place for place in report.places if place.state == state]
        dates = [place.gone_from for place in matching]
        last = max((date for date in dates if date is not None), default=None)
        places.append(
            (words, sum(place.rows for place in matching), len({place.path for place in matching}), last, None in dates)
        )
    return places


@dataclass(frozen=True, slots=True)
class _Section:
    """A table as the template shows it.

    Attributes:
        anchor: Its place in the file.
        report: Its report.
        strip, horizon: The drawings; None where there is nothing to draw.
        counts: Findings by severity, the worst first.
        clients: Those to show first: in use, or answering wrongly.
        others: The other clients in words.
        steps: The remedies that are commands or intents, each with a command that carries it out or plans it.
        rules: The rules that have an answer, each with it.
        open_rules: Those that have none, together where the reason is the same.
        open_words: The same in a few words.
        unknown: The parts that could not be made, together where the reason is the same.
    """

    anchor: str
    report: TableReport
    strip: StripDrawing | None
    horizon: HorizonDrawing | None
    counts: tuple[tuple[str, int], ...]
    clients: tuple[ClientLine, ...]
    others: str
    steps: tuple[tuple[str, str], ...]
    rules: tuple[tuple[RuleLine, str], ...]
    open_rules: tuple[tuple[tuple[RuleLine, ...], str], ...]
    open_words: str
    unknown: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, number: int, report: TableReport) -> _Section:
        reasons = {each.id: each.reason for each in report.not_answered}
        titles = [rule.title for rule in report.rules if rule.id in reasons]
        unknown = _by_reason((each.part, each.reason) for each in report.missing)
        clients = report.clients or ()
        shown = tuple(each for each in clients if each.in_use or "wrong" in (each.read, each.write))
        return cls(
            anchor=f"table-{number}",
            report=report,
            strip=None if report.history is None else draw_history(report.history),
            horizon=None if report.retention is None else draw_retention(report.retention),
            counts=tuple((level, _count(report.findings, level)) for level in SEVERITIES),
            clients=shown,
            others=_others([each for each in clients if each not in shown]),
            steps=tuple(dict.fromkeys(_steps(report))),
            rules=tuple(
                (rule, "no findings" if rule.id in report.found_nothing else "found")
                for rule in report.rules
                if rule.id not in reasons
            ),
            open_rules=_by_reason((rule, reasons[rule.id]) for rule in report.rules if rule.id in reasons),
            open_words="; ".join(titles[:_MOST_NAMED])
            + (f"; and {len(titles) - _MOST_NAMED} more" if len(titles) > _MOST_NAMED else ""),
            unknown=tuple((", ".join(parts), reason) for parts, reason in unknown),
        )


def _by_reason(each: Iterable[tuple[_Thing, str]]) -> tuple[tuple[tuple[_Thing, ...], str], ...]:
    by_reason: dict[str, list[_Thing]] = {}
    for thing, reason in each:
        by_reason.setdefault(reason, []).append(thing)
    return tuple((tuple(things), reason) for reason, things in by_reason.items())


def _count(findings: tuple[ReportFinding, ...], level: str) -> int:
    return sum(each.severity == level for each in findings)


def _steps(report: TableReport) -> Iterator[tuple[str, str]]:
    """Yield the remedies as commands; an intent is planned, which changes nothing."""
    for remedy in (finding.remedy for finding in report.findings):
        if remedy is None:
            continue
        if remedy.command is not None:
            yield remedy.label, remedy.command
        elif remedy.intent is not None:
            intent = canonical(remedy.intent).decode()
            yield remedy.label, shlex.join(["delta-explorer", "plan", report.table, intent])


def _others(clients: list[ClientLine]) -> str:
    words = {"no": "refuse", "unknown": "unknown", "yes": "read"}
    counts = {word: sum(each.read == access for each in clients) for access, word in words.items()}
    counted = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return f"{fmt.plural(len(clients), 'other')}: {counted}." if clients else ""


def _since(text: str, time: str) -> str:
    """Return a time from which a step is possible; one that has passed is marked."""
    since = fmt.day(datetime.fromisoformat(text))
    return f"now, since {_date(text)}" if datetime.fromisoformat(text) <= datetime.fromisoformat(time) else since


def _date(text: str) -> str:
    return fmt.day(datetime.fromisoformat(text)).rsplit(" ", 2)[0]


@cache
def _style() -> str:
    return files("explorer.report").joinpath("templates", "report.css").read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    from markupsafe import Markup

    def shown(value: object) -> object:
        return value if isinstance(value, Markup | int | float) else fmt.plain(value, _LONGEST)

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("explorer.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "access": lambda access: _READS[access],
        "count": fmt.count,
        "plural": fmt.plural,
        "quantity": fmt.quantity,
        "severity": lambda level: _WORDS[level],
        "size": fmt.size,
        # A page copies a command, a reader of the report runs it.
        "step": lambda label: label.replace("Copy the ", "Run the ", 1),
        "when": lambda text: fmt.day(None if text is None else datetime.fromisoformat(text)),
        "since": _since,
        "date": _date,
        "digits": lambda text: " ".join(text[at : at + 8] for at in range(0, len(text), 8)),
    }
    return made
