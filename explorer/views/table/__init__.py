"""View models of a table: overview, commits, comparison, columns, files, ranges.

In: `TableFacts`, which reads a table once for all who look at it, and a version.
Out: records and Arrow listings for each tab, and the data of the timeline and of the column lines.
Always: the facts are fixed at the newest version they were made at; a table that has moved on gets new ones. Rows that
a commit only rewrote are counted neither as added nor as removed. What was not measured is not shown.
"""
