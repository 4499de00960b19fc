"""Log files other than commits: checkpoints, version checksums, compacted logs.

In: the state of a version that is committed, the commits of a range, the table's properties.
Out: files that are written through the `LogStore`, each complete before anything names it.
Always: these files repeat the commits and nothing else; a reader without them reads the same table. Fields
that this program does not know are preserved. A file that would need an unknown number is not written.
None replaces another file, except the hint ``_last_checkpoint``.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files, Last Checkpoint File, Version Checksum File, Log
Compaction Files, Action Reconciliation.
"""
