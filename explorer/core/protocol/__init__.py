"""The contents of a table's files: records, and the rules of single values.

In: bytes, JSON values, texts and Arrow columns that other packages have read.
Out: actions, schemas, statistics, partition values, deletion vectors, features and properties, typed, and their text
for writing.
Always: nothing here lists a folder or knows of a version. One module both reads and writes a kind of value, and the two
invert each other. Unknown fields, keys, features and types are preserved and written back, or refused by name; a number
that the log lacks is null, never 0.

Protocol sections: Actions, Table Features, Valid Feature Names, Protocol Evolution, Column Mapping, Deletion Vectors,
Partition Value Serialization, Per-file Statistics, Schema Serialization Format, Row Tracking, Clustered Table.
"""
