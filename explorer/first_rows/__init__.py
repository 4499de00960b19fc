"""The first rows of a version, and the next, read in this process.

In: a snapshot, a position, and a number of rows.
Out: the rows as Spark gives them, or why only Spark can read them.
Always: it starts no JVM and opens only the files that hold the rows; files that Spark would not read are not read here,
and a type that Arrow reads otherwise than Spark is left to Spark.

Protocol sections: Reader Requirements, Deletion Vectors, Column Mapping, Partition Value Serialization.
"""
