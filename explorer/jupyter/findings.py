"""What the rules find in a table, as one line of the widget that opens to all of it."""

from __future__ import annotations

from markupsafe import Markup

from explorer import formatting as fmt
from explorer.auditing import Audit, Finding
from explorer.jupyter.markup import joined, tag

__all__ = ["findings_line"]


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
