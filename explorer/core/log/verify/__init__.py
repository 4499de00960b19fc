"""The log checked against the protocol and against itself.

In: the `LogStore` of a table.
Out: an `IntegrityReport`: every fault as a `Problem` with its version and file, and the head of the hash chain.
Always: no content of a log raises an error. Every commit is read once, oldest first, and the running state is compared
with each checksum and each checkpoint, in both directions. A table with features that this program does not read is
verified too.

Protocol sections: Delta Log Entries, Actions, Checkpoints, Last Checkpoint File, Version Checksum File, In-Commit
Timestamps.
"""
