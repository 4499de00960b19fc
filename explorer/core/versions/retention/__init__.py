"""Which versions can be read, until when that is certain, and what is lost already.

In: the `History` with its `Lifetimes`, the listing of the log, a moment, and the files that a look into the store did
not find.
Out: one row for each version: readable, at risk from a moment on, or lost with the reason.
Always: the moment is the first at which a clean-up by the table's own properties may delete something that the version
needs. What nobody has looked for is not called missing.

Protocol sections: Metadata Cleanup, VACUUM, Action Reconciliation (tombstones).
"""
