"""A log that is open: what is known of it, and how more of it is read.

What is known is one frozen record, `KnownLog`: the listing, and with it the memory of what was read of the files that
are listed. `CurrentLog` has the record of now. It replaces the record by one assignment and never changes a part of it,
so a thread that has a record goes on with one listing and with what belongs to it, whatever others do meanwhile.
`LogReader` reads versions and histories, and puts them into the record whose listing named their files.

In: a `LogStore`, and the commits that a catalog ratified where one manages the commits.
Out: `LogReader`, by which `explorer.core.versions.delta_log.DeltaLog` answers questions.
Always: what was read stays in memory as long as new listings have the very files that it was read from, and answers for
no other listing. One thread lists at a time, so an older listing never replaces a newer one; a history is read by one
thread, and others wait for it. A thread that lists never waits for one that reads, nor the other way round.

Protocol sections: Action Reconciliation, Metadata Cleanup, In-Commit Timestamps.
"""
