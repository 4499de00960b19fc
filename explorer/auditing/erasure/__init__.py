"""Where rows that match a predicate physically are, from when each copy can be gone, and what may be said of it.

In: a table's log, the present, the listing of its folder, the result of a search of the files, and other tables.
Out: an `Erasure` for each predicate: places (a file and a state), traces in the log itself, what could not be
answered, other tables that were not searched, the steps that are left, and what may be claimed;
`explorer.report.erasure_statement` states it as a document to hand on.
Always: every Parquet file in the folder has a role: live, reached by time travel alone (history), change data (feed),
or named by no version (orphan). A place is a file and a state with its rows, so a file with visible and masked
matches is two places. A file that cannot be answered is named, never counted as one without a match; a column that a
file lacks because it was added later is null there and answered. Statistics of the log leave out no file, as they may
be wrong. A value that the log holds is judged for every value of a row that it may stand for, and where these differ it
is not answered. Nothing here starts an engine or reads a clock.
"""

from explorer.auditing.erasure.document import erasure_document
from explorer.auditing.erasure.neighbour_tables import Neighbour, NeighbourTable, out_of_reach
from explorer.auditing.erasure.proof import Erasure, ErasureStep, MatchedPlace, UnansweredFile, narrowed
from explorer.auditing.erasure.traces import Trace

__all__ = [
    "Erasure", "ErasureStep", "MatchedPlace", "Neighbour", "NeighbourTable", "Trace", "UnansweredFile",
    "erasure_document", "narrowed", "out_of_reach",
]  # fmt: skip
