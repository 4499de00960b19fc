"""Which right each message, export, and tab of the pages needs, as it was decided: by what it shows or does.

It says the same as `explorer.page.entry`, in other words and by other reasons, so a wrong right there, or a new message
without one, is found: the tests compare what happens with this, and never with the program's own table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from explorer.rights import Right

__all__ = ["EXPORTS", "MESSAGES", "OF_THE_LIST", "TABS"]

_ROWS = Right.ROWS


def _decided(*groups: tuple[Right, str]) -> Mapping[str, Right]:
    decided: dict[str, Right] = {}
    for right, names in groups:
        for name in names.split():
            assert name not in decided, f"{name} is decided twice"
            decided[name] = right
    return decided


EXPORTS: Final = _decided(
    # Rows, or changes of rows, themselves.
    (_ROWS, "data changes table-differences"),
    # Minimum and maximum of columns, which are values of rows.
    (_ROWS, "statistics compared-bounds"),
    # What differs of two tables, whose constraints and bounds it makes into changes.
    (_ROWS, "intents"),
    # Where rows are that have a value, and with it that there are some.
    (_ROWS, "erasure erasure-proof case-file"),
    # Documents to be handed on: numbers and places, the words of the person who asked, and no other values.
    (Right.REPORT, "erasure-statement erasure-page report case-report"),
    # What clients can do with the table, and who changed its settings.
    (Right.REPORT, "clients settings"),
    # What the log says of versions, files, and columns.
    (Right.SEE, "diff files columns deletion-vectors form-changes commits schema receipt"),
    # A change that was planned.
    (Right.COMMIT, "plan"),
)
"""The right of each export, by its name."""
OF_THE_LIST: Final = frozenset(
    "seen stop-search search-on search-again pin-table lane-card notice".split()  # noqa: SIM905
)
"""Messages that the list of tables alone has."""
MESSAGES: Final = _decided(
    # The page itself, and how it is drawn.
    (Right.SEE, "hello go theme screen visible palette"),
    # Waiting for the log or for Spark, and what ends it.
    (Right.SEE, "stop-reading stop-waiting read-on wake-spark"),
    # The list of tables, which has visible tables alone.
    (Right.SEE, "seen stop-search search-on search-again pin-table lane-card"),
    # Names of columns, and the footer of a file, from which those without rows get no values.
    (Right.SEE, "find-column footer footer-cancel"),
    # The case of a person: what it holds was seen before.
    (Right.SEE, "pin unpin case-note case-describe case-load"),
    # Rows.
    (_ROWS, "rows rows-turn rows-cancel row row-keys row-read row-cancel"),
    # Changes of rows, of one table or between two.
    (_ROWS, "changes changes-cancel differences differences-cancel pair-rows pair-rows-cancel"),
    # Values of a column, and lines of the log, which hold minimum and maximum.
    (_ROWS, "profile profile-cancel raw"),
    # Where rows are that have a value.
    (_ROWS, "erasure erasure-cancel erasure-share"),
    # An audit of footers and rows, whose findings name values.
    (_ROWS, "audit-rows"),
    # Results that hold rows, for others.
    (_ROWS, "changes-share differences-share story-share pair-share profile-share audit-share"),
    # An audit of the log and of the files that there are.
    (Right.REPORT, "audit-run audit-cancel"),
    # A change from its form to its outcome.
    (Right.COMMIT, "draft person look cancel-look accept commit outcome-read"),
    (Right.COMMIT, "cancel-commit cancel-plan plan-again try-again"),
    # To ask another person, and to take that back.
    (Right.COMMIT, "request-ask request-withdraw"),
    (Right.APPROVE, "request-approve request-decline"),
    (Right.NOTICES, "notice"),
)
"""The right of each message, by its kind; a download needs that of its export."""
TABS: Final = _decided(
    (Right.SEE, "overview diff files columns deletion-vectors case"),
    (_ROWS, "data changes row statistics"),
    (Right.REPORT, "audit erasure"),
    (Right.COMMIT, "act"),
)
"""The right of each tab, by its key; a receipt in the Edit tab needs that to see the table alone."""
