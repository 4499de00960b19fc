"""What is written into the log beside commits: checkpoints, version checksums, compacted logs.

In: the state of a version that is committed, the commits of a range, the table's properties.
Out: files that are written through the `LogStore`, each complete before anything names it.
Always: these files repeat what the commits say and nothing else; a reader without them reads the same table. Fields
that this program does not know are kept. A number that is not known is not guessed: the file is not written then.
None replaces another file, except the hint ``_last_checkpoint``.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files, Last Checkpoint File, Version Checksum File, Log
Compaction Files, Action Reconciliation.
"""
