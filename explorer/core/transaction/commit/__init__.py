"""One plan becomes one file in the log, or the reason why not; and what follows a commit.

In: a `CommitPlan` that was approved, and the `DeltaLog` of its table.
Out: a `CommitResult`; after a commit also the checksum of the version, and the checkpoint that is due.
Always: nothing is written for a plan that guards block. A version is taken once: the file is written only if its name
is free, or the catalog that manages the table's commits ratified it (`VersionWriter`). A commit that came first is
judged before another try; if it cannot be judged, it is a conflict. A plan that is already in the log is recognized and
not written again. If an answer is lost, the log, or the catalog, is searched for the commit; where that fails the
outcome is unknown.

Protocol sections: Delta Log Entries (Writer Requirements), Version Checksum File, Checkpoints.
"""
