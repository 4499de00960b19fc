"""Rows as Arrow made into the data files and change files of a table.

In: a `FileLayout` of the core, a store, and batches of rows whose columns lie in the order that a `FilePlan` names.
Out: Parquet files, and the facts of each for the log: partition values, size, rows, nulls and extremes.
Always: the same function writes inside Spark's workers and in this process; it needs PyArrow and obstore alone where it
runs, so it is sent to the workers by value. A name is used once, and no file is overwritten.

Protocol sections: Data Files, Add File, Add CDC File, Column Mapping (Writer Requirements), Per-file Statistics.
"""
