"""Statistics of data files: read, compared with a condition, and collected for new files.

In: ``stats`` texts or ``stats_parsed`` structs of many files at once, and the schema; a parsed condition; new rows.
Out: bounds and counts by logical column, as Arrow; which files a condition needs, and the rule that drops each other
one; the statistics of a new file.
Always: what is absent, unreadable or of another type is unknown, costs only its own file, and keeps that file. A file
is dropped only on proof that no row of it makes the condition TRUE. A bound that must be cut is cut outwards.

Protocol section: Per-file Statistics.
"""
