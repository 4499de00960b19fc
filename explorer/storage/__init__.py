"""Where bytes come from: the local disk, object stores and memory, each behind the core's `LogStore`.

In: a location (a path or a URL), storage options, and the places that the program may read.
Out: a `LogStore`, whose calls are all that the core knows of storage; and what is kept of tables between runs, in the
user's cache folder.
Always: a file appears completely or not at all, and a name is given once where that is required. No place outside the
allowed ones is read, through whatever link or path of the log. No text that leaves here holds a credential. Builtin
`FileNotFoundError` and `FileExistsError` are answers; any other failure is a `StorageError` with its cause.

A storage is an implementation and a row in `explorer.storage.schemes`.

Protocol section: Delta Log Entries (what a log asks of its storage: atomic visibility, put-if-absent, listing).
"""

from explorer.storage.locate import open_store

__all__ = ["open_store"]
