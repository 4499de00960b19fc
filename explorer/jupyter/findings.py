"""What the rules find in a table, as one line of the widget that opens to all of it.

Invariant: what takes long comes later, on a thread, and the line is drawn again: all rules of a large table, and those
that trust nothing kept of the log (`TableFacts.awaits_log`), for which it is read again.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.auditing import Audit, Finding
from explorer.core.errors import TableError
from explorer.debug import log_failure
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.panels import problem_panel
from explorer.jupyter.parts import look, style
from explorer.views import TableFacts

__all__ = ["FindingsLine", "findings_line"]

_log = logging.getLogger(__name__)
_UNDER_WAY: Final = tag("p", "The rules look at the table\u2026", class_="dte-caption")
_AWAITED: Final = tag("p", "Some rules read the log\u2026", class_="dte-caption")


class FindingsLine(ipywidgets.HTML):  # type: ignore[misc]  # ipywidgets publishes no types
    """The line of one table."""

    def __init__(self) -> None:
        self._facts: TableFacts | None = None
        super().__init__(layout=look(), style=style(ipywidgets.HTML))

    def ask(self, facts: TableFacts) -> None:
        """Say what the rules find, unless that was asked of the same facts before."""
        if facts is self._facts:
            return
        self._facts = facts
        if at_once := facts.is_judged_soon:
            self.value = findings_line(facts.audit(wait=False))
            if not facts.awaits_log:
                return
            self.value += _AWAITED
        else:
            self.value = _UNDER_WAY
        threading.Thread(target=self._find, args=(facts,), kwargs={"judged": at_once}, daemon=True).start()

    def _find(self, facts: TableFacts, *, judged: bool) -> None:
        try:
            if not judged:
                facts.judge()
                found = facts.audit_at_hand()
                self._say(facts, (Markup() if found is None else findings_line(found)) + _AWAITED)
            try:
                facts.prepare_audit()
            except TableError as error:
                _log.info("an audit of %s leaves rules open: %s", facts.location, error)
            said = findings_line(facts.audit())
        except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
            log_failure(_log, f"{facts.location} could not be audited", error)
            said = problem_panel(error)
        self._say(facts, said)

    def _say(self, facts: TableFacts, said: Markup) -> None:
        if facts is self._facts:
            self.value = said


def findings_line(audit: Audit) -> Markup:
    """Return the worst finding with how many more there are; opened, each with its evidence and effect."""
    found = audit.findings
    if not found:
        return Markup()
    more = f" +{len(found) - 1}" if len(found) > 1 else ""
    worst = tag("span", found[0].label + more, class_=f"dte-chip dte-{found[0].severity}")
    basis = f"v{audit.version}, from the log alone; {fmt.plural(len(audit.not_answered), 'rule')} not answered"
    items = [tag("li", *_said(finding)) for finding in found]
    return tag("details", tag("summary", worst), tag("ul", *items), tag("p", basis, class_="dte-caption"),
               class_="dte-findings")  # fmt: skip


def _said(finding: Finding) -> tuple[Markup, ...]:
    evidence = " \u00b7 ".join(piece.text for piece in finding.evidence)
    return tag("b", finding.title), joined([" ", evidence, ". ", finding.effect])
