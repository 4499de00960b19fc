"""The rows held against rules: predicates, statistics, and types of generated columns.

In: a `Snapshot`, and predicates that the core has vetted.
Out: for each predicate how many rows break it, in which files and where first; profiles of columns; statistics that are
wrong, with their file.
Always: a row keeps a predicate only if it is TRUE for the row. All predicates are judged in one pass. What cannot be
judged says so and never passes.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Per-file Statistics.
"""
