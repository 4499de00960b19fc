"""Which versions can be read, until when that is certain, and which are already lost.

In: the `History` with its `Lifetimes`, the listing of the log, a time, and the files that are missing in the store.
Out: one row for each version: readable, at risk from a time on, or lost with the reason; and the `Horizon`: for every
retention period what a VACUUM now would leave readable, and the files and bytes that it would free.
Always: that time is the first at which a cleanup by the table's own properties may delete something that the version
needs. A file counts as missing only after a check.

Protocol sections: Metadata Cleanup, VACUUM, Action Reconciliation (tombstones).
"""
