"""Changes that make no version: checkpoint, log compaction, clean-up of the log, VACUUM.

In: a `DeltaLog`, an intent of maintenance, and a time.
Out: a plan that lists each file to be written or deleted, and why; then the result of doing exactly that.
Always: the table reads the same before and after. Nothing is overwritten except the hint ``_last_checkpoint``. A file
is deleted only if the plan lists it, the table's own retention has passed, and a check just before allows it. If it is
unclear, a file stays.

Protocol sections: Checkpoints, Log Compaction Files, Metadata Cleanup, VACUUM, Checkpoint Protection.
"""
