"""The report of an audit or of an erasure: what a steward hands on, and how others find out that it is unchanged.

In: a `Subject` and its `Audit`, or an `Erasure`; an earlier report to compare with; a case file with what a person
pinned; a key.
Out: a `TableReport`, a `TablesReport` or an `ErasureStatement`, which is a JSON document and its digest; the same as
one HTML file that holds its own data and needs no script, no font and no network; a detached signature; and the
verdict on such a file.
Always: the HTML follows from the document alone, byte for byte, so its reader can rebuild the text and
compare. The digest covers everything that is stated. Every text from a table is shown as text. What could not be found
out is named with the reason, never left out. Nothing here reads a clock, a file or a key ring; all of it is given.
"""

from explorer.report.document import Signer, TableReport, TablesReport
from explorer.report.erasure_statement import ErasureStatement, erasure_statement
from explorer.report.page import render
from explorer.report.table_report import report_card, table_report, tables_report
from explorer.report.verification import Verification, verify_report

__all__ = [
    "ErasureStatement", "Signer", "TableReport", "TablesReport", "Verification", "erasure_statement", "render",
    "report_card", "table_report", "tables_report", "verify_report",
]  # fmt: skip
