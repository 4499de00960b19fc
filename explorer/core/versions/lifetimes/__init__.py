"""The interval of versions of each file, for all versions at once and in columns.

In: the commits of the log, oldest first, and the files of the checkpoint that it begins with.
Out: `Lifetimes`: one row for each stay of a file with one deletion vector, from its first version up to the version
that ended it.
Always: the live files of a version are one mask over the rows, the difference of two versions is one XOR. Two stays of
one path never overlap. A value is stored once and rows have its number, so that long histories fit in memory.

Protocol section: Action Reconciliation.
"""
