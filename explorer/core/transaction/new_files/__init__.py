"""Data files that a commit adds: rows, split, encoded and described.

In: rows as Arrow in the table's schema, and the snapshot whose layout they follow.
Out: the bytes of Parquet files, and the ``add``, ``remove`` and ``cdc`` actions that name them.
Always: columns are stored under physical names, partition columns are not stored, and each file states its partition
values, size, rows and true bounds. A name is used once; no file is overwritten.

Protocol sections: Data Files, Add File and Remove File, Column Mapping (Writer Requirements), Per-file Statistics.
"""
