"""The layout of a table's files: how many bytes and files are where, who wrote them, and what one file holds.

In: the facts of a table; for a footer, its store.
Out: counts by partition, size, and group of files; sentences; the card of a file.
Always: nothing is done for each file in Python, so a million files take a moment; a file is counted once in each
picture; what the log does not record is a group of its own, never left out; an estimate is that of the planner.
"""
