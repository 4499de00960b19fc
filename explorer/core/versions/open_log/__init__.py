"""A log that is open: what is known of it, and how more of it is read.

In: a `LogStore`, and the catalog's commits where a catalog manages them.
Out: `LogReader`, by which `explorer.core.versions.delta_log.DeltaLog` answers questions.

What is known is one frozen record, `KnownLog`: the listing, and with it the memory of what was read of the files that
are listed. `CurrentLog` has the record of now. It replaces the record by one assignment and never changes a part of it,
so a thread that has a record goes on with one listing and with what belongs to it, whatever others do meanwhile.

Invariants: what was read stays in memory as long as new listings have the very files that it was read from. It is put
where the listing that it was read by is, so it never answers for another one. Listing is done by one thread at a time,
so an older listing never replaces a newer one.

Protocol sections: Action Reconciliation, Metadata Cleanup, In-Commit Timestamps.
"""
