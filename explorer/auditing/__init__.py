"""What a person should know of a table: rules over its log, each of which finds something, nothing, or cannot say.

In: a table's log, the present, and, if checked, the missing files.
Out: an `Audit`: for each rule its findings or why it has no answer. A finding has a severity, a claim, evidence
(versions, files, rows, bytes), its effect on this table, and a remedy: an intent filled in, a command, or a place to
look at.
Always: a finding is stated only with its evidence, and withheld where its remedy would change nothing. Not checked is
never the same as passed. A rule is one entry in one module of `explorer.auditing.rules`; it starts no engine
and reads no data file and no clock.
"""

from explorer.auditing.finding import Aspect, Evidence, Finding, Place, Remedy
from explorer.auditing.options import AuditInputs, AuditOptions
from explorer.auditing.subject import Subject
from explorer.auditing.verdict import Audit, RuleResult, audit

__all__ = [
    "Aspect", "Audit", "AuditInputs", "AuditOptions", "Evidence", "Finding", "Place", "Remedy", "RuleResult",
    "Subject", "audit",
]  # fmt: skip
