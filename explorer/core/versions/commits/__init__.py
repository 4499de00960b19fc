"""The one account of what commits did: amounts, records, and columns over the versions.

In: the table of `DeltaLog.history`.
Out: `commits.Commits`, `summary.CommitSummary` and `amounts.CommitAmounts`.
Always: timeline, lists, cards, findings, reports and the command line read their numbers here, so they cannot differ.

Protocol sections: Commit Provenance Information, Deletion Vectors (the rows that they hide).
"""
