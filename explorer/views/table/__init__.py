"""View models of a table: overview, commits, comparison, columns, files, ranges.

In: `TableFacts`, which reads a table once for all its viewers, and a version.
Out: records and Arrow listings for each tab, and the data of the timeline and of the column lines.
Always: facts belong to the newest version of the time they were made; a table with a newer version gets new facts. Rows
that a commit only rewrote count neither as added nor as removed. What was not measured is not shown.
"""
