"""The configuration file ``explorer.toml``: roots, stores, the server, Spark, the cache, and limits.

In: a TOML file, and what flags and environment variables set.
Out: one frozen record of what is in force, or an error with the file, the line, and the key.
Always: what is in the file is known and checked before anything starts. An error repeats no value, as some are secrets.
Flags and environment variables precede the file. Where there is no file, nothing of this is loaded but its place.
"""
