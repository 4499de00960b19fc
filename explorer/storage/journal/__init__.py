"""The journal of maintenance on this machine.

In: entries of the core, each with the table's root as a URL.
Out: the entries of a table, the oldest first.
Always: what is written stays; the folder is for its owner alone.
"""
