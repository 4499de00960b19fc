"""Rows checked against rules: predicates, statistics, and types of generated columns.

In: a `Snapshot`, and predicates that the core has vetted.
Out: how many rows break each predicate, in which files, and the first place; profiles of columns; wrong statistics with
their file.
Always: a row satisfies a predicate only if it is TRUE for the row. One pass checks all predicates. A predicate that
cannot be checked is reported and never passes.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Per-file Statistics.
"""
