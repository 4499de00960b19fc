"""Why a store refused: its own code and words, told apart by kind, with what to do.

In: the error of a store's client, and what was asked.
Out: a `StorageError` with its reason and its code, or the region of a bucket.
Always: no text holds a secret of the options or the environment. A store is asked for a region without credentials.
"""
