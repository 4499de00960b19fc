"""Statistics of data files: read, compared with a condition, and collected for new files.

In: ``stats`` texts or ``stats_parsed`` structs of many files at once, and the schema; a parsed condition; new rows.
Out: bounds and counts by logical column, as Arrow; the files that a condition needs, and the rule that skips each other
one; the statistics of a new file.
Always: absent or unreadable statistics, or of another type, are unknown, affect only their own file, and keep it from
being skipped. A file is skipped only on proof that no row of it makes the condition TRUE. A truncated bound is rounded
outwards.

Protocol section: Per-file Statistics.
"""
