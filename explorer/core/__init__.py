"""The replay core: what a Delta table contains, how it got there, and what a change would write, from the log alone.

In: a `LogStore` (the one way to bytes), times and identifiers as arguments, a row engine where rows must be read.
Out: snapshots, histories, diffs, lifetimes, plans and commits, as frozen records and Arrow tables.
Always: nothing here opens a socket, starts a JVM, draws, reads a clock or makes an identifier; it asks its caller.
Imports go down: maintenance, transaction, versions and compatibility, log, protocol, errors. A table that cannot be
read right raises a typed error that names version, file and feature; nothing is left out in silence.

Protocol: the whole document, a package for each of its nouns.
"""
