"""The log on Spark: a version's live files, replayed by Spark's tasks, for tables whose file list no process holds.

In: a `DeltaLog` and a version.
Out: a lazy DataFrame with a row a file, its statistics and partition values typed; totals; which files a condition
needs.
Always: the driver holds the commits after the checkpoint and nothing of the checkpoint but its small actions. A task
replays one row group of the checkpoint at a time with the core itself, so the answers are those of a replay in one
process. The tasks receive this program, and what they read with travels in the function that they run.

Protocol sections: Action Reconciliation, Checkpoints, Sidecar Files, Per-file Statistics.
"""
