"""The configuration file ``explorer.toml``: roots, stores, the server, Spark, the cache, and limits.

Invariants: the file is one frozen record, so what is in it is known and checked before anything starts; an error names
the file, the line, and the key, and no value, as some are secrets. Flags and environment variables precede it. Where
there is no file, nothing of this is loaded but its place.
"""
