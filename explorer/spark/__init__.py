"""Rows through Spark: the only package that imports PySpark.

In: a `DeltaLog`, a `Snapshot` or sources of changes: which files to read, with which schema, without which rows.
Out: lazy DataFrames, Arrow tables and batches, and jobs that report progress, can be cancelled and end in a result or a
typed error.
Always: opening a table starts no JVM: a module here is imported inside the call that asks for rows. The core
alone says which files and which rows belong to a version. A user's own session is used and never stopped or configured.
No predicate is evaluated before it is vetted. An error names a missing or truncated file before Spark reads it.

From the bottom up: `engine` (Java, session, jobs), `scan` (a snapshot becomes a DataFrame), then `changes`, `checks`
and `writes`, and on top `rows`: what pages and commands show.
"""
