"""From a snapshot to a DataFrame of its rows.

In: a `Snapshot`, some of its files, a predicate or none.
Out: a `Scan`: a lazy DataFrame with the table's logical columns, and on request each row's place and id.
Always: partition values and masks come from the log and meet the rows through one join on the file's name; a file that
the join does not know raises. Files are read by physical name or field id, with the table's types. A file is left out
only on the proof of its statistics. No job starts here before rows are asked for.

Protocol sections: Reader Requirements, Deletion Vectors, Column Mapping, Partition Value Serialization, Type Widening,
Row Tracking.
"""
