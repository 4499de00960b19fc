"""Columns at a glance: what the log and some rows say of a column, and the card of one.

In: the facts of a table, and rows that were read.
Out: texts, counts, and the conditions by which rows are chosen.
Always: what comes from statistics is named so, with how many files have them; a count of values names its rows; only
the columns on show are worked out.
"""
