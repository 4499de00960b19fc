"""What an intent over rows needs: the rows that it finds, and the files that the engine writes for it.

In: an intent, the table's log and the engine of rows.
Out: a function that makes the proposal for a version, with what is left to write when the plan is committed.
Always: a plan reads and counts and writes nothing; the engine writes once the plan is committed, and once for all tries
of a commit; no row passes through this process. A module is named after what happens to rows.

Protocol section: Requirements for Writers.
"""
