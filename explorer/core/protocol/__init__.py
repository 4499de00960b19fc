"""What the files of a table hold: records, and the rules of single values.

In: bytes, JSON values, texts and Arrow columns that someone else has read.
Out: actions, schemas, statistics, partition values, deletion vectors, features and properties, typed, and the way back
to the text that is written.
Always: nothing here lists a folder or knows of a version. One module both reads and writes a kind of value, and the two
invert each other. What this program does not know (fields, keys, features, types) it keeps and writes back, or refuses
by name; what the log does not say is null, never 0.

Protocol sections: Actions, Table Features, Valid Feature Names, Protocol Evolution, Column Mapping, Deletion Vectors,
Partition Value Serialization, Per-file Statistics, Schema Serialization Format, Row Tracking, Clustered Table.
"""
