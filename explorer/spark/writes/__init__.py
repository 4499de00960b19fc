"""The rows that a commit needs: those that match, those that stay, those that are added.

In: a `Snapshot`, and a predicate or a source of rows.
Out: row indexes by file as bitmaps, the rows that a rewritten file keeps, and new rows in the table's schema, checked
against the rules.
Always: indexes are places in the data file, from 0, with masked rows counted and never given. No row is added unless
all rows keep all rules. Nothing here writes a commit.

Protocol sections: Deletion Vectors, CHECK Constraints, Generated Columns, Default Columns, Identity Columns, Row
Tracking.
"""
