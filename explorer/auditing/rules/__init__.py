"""The rules, each in the module of what it is about: to add one is to add it there.

In: a `Subject`.
Out: for each rule its findings, or why it was not checked.
Always: a rule names the evidence and the effect on the table at hand, and finds nothing where its remedy would change
nothing.
"""

from __future__ import annotations

from typing import Final

from explorer.auditing.rule import Rule
from explorer.auditing.rules.changes import CHANGE_RULES
from explorer.auditing.rules.clients import CLIENT_RULES
from explorer.auditing.rules.columns import COLUMN_RULES, EXPRESSION_RULES
from explorer.auditing.rules.commits import COMMIT_RULES
from explorer.auditing.rules.demands import DEMAND_RULES
from explorer.auditing.rules.features import FEATURE_RULES
from explorer.auditing.rules.files import FILE_RULES
from explorer.auditing.rules.hazards import HAZARD_RULES
from explorer.auditing.rules.integrity import INTEGRITY_RULES
from explorer.auditing.rules.layout import LAYOUT_RULES, QUERY_RULES
from explorer.auditing.rules.log import LOG_RULES
from explorer.auditing.rules.reading import READING_RULES
from explorer.auditing.rules.retention import RETENTION_RULES
from explorer.auditing.rules.rows import ROW_RULES
from explorer.auditing.rules.stored import STORED_RULES
from explorer.auditing.rules.values import VALUE_RULES

RULES: Final[tuple[Rule, ...]] = (
    *ROW_RULES, *COLUMN_RULES, *VALUE_RULES, *EXPRESSION_RULES,
    *CLIENT_RULES, *LOG_RULES, *INTEGRITY_RULES, *STORED_RULES, *CHANGE_RULES,
    *RETENTION_RULES, *READING_RULES, *DEMAND_RULES, *HAZARD_RULES, *COMMIT_RULES, *FEATURE_RULES, *FILE_RULES,
    *LAYOUT_RULES, *QUERY_RULES,
)  # fmt: skip
"""Every rule; of findings of one severity the earlier rule's come first."""
