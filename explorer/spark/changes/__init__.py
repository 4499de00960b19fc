"""Changed rows: the change feed of a range, and the rows in which two versions differ.

In: `ChangeSources` of the core, or two snapshots, and key columns if any.
Out: lazy DataFrames of changed rows with the version and time of their commit, and exact counts.
Always: a version that recorded its changes is read from its change files alone; others are read from their files only
if the caller asks for that. A file is read once, however many parts it plays. Rows that both sides have cancel each
other, so that a rewrite shows nothing.

Protocol sections: Add CDC File (Reader Requirements), Deletion Vectors, Column Mapping.
"""
