"""Rows through Spark: the only package that imports PySpark.

In: a `DeltaLog`, a `Snapshot` or sources of changes: which files to read, under which schema, less which masked rows.
Out: lazy DataFrames, Arrow tables and batches, and jobs that report progress, can be cancelled and end in a result or a
typed error.
Always: opening a table starts no JVM: a module here is imported inside the call that asks for rows. Which files and
which rows belong to a version comes from the core alone. A user's own session is used and never stopped or configured.
Nothing of a predicate is evaluated before it is vetted. A missing or cut file is named before Spark reads it.

From the bottom up: `engine` (Java, session, jobs), `scan` (a snapshot becomes a DataFrame), then `changes`, `checks`
and `writes`, and on top `rows`, what pages and commands show.
"""
