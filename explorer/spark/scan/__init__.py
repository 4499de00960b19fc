"""From a snapshot to a DataFrame of its rows.

In: a `Snapshot`, some of its files, a predicate or none.
Out: a `Scan`: a lazy DataFrame with the table's logical columns, and on request each row's place and id.
Always: partition values and masks come from the log and join the rows on the file's name; a file that the join does not
know raises. Files are read by physical name or field id, with the table's types. A file is left out
only if its statistics prove that no row of it is needed. No job starts here before rows are requested.

Protocol sections: Reader Requirements, Deletion Vectors, Column Mapping, Partition Value Serialization, Type Widening,
Row Tracking.
"""
