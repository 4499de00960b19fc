"""An open log: the record of its state, and how more of it is read.

The state is one frozen record, `LogState`: the listing, and with it everything read of the files that are listed.
`CurrentLog` has the present record. It replaces the record by one assignment and never changes a part of it, so a
thread that has a record continues with one listing and its contents, whatever others do meanwhile. `LogReader` reads
versions and histories, and puts them into the record whose listing named their files.

In: a `LogStore`, and the commits that a catalog ratified where one manages the commits.
Out: `LogReader`, which `explorer.core.versions.delta_log.DeltaLog` uses.
Always: the contents read stay in memory as long as new listings have the very files that they were read from, and
serve no other listing. One thread lists at a time, so an older listing never replaces a newer one; a history is read by
one thread, and others wait for it. A thread that lists never waits for one that reads, nor the other way round.

Protocol sections: Action Reconciliation, Metadata Cleanup, In-Commit Timestamps.
"""
