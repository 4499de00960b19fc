"""From an intent to a commit: a change is a value that is shown, judged, and then written.

An intent (`intents`) is a requested change. `preparation` fetches what it needs besides the version: an earlier
version, rows to write, matching rows. A proposal (`proposals`) is its whole effect on one version: metadata, protocol,
files. Guards (`guards`) are its preconditions, each with evidence. `planner` puts these together as a `CommitPlan`,
which holds the exact lines of the commit and can be printed before anything is written. `commit` writes it.

In: a `DeltaLog`, an intent, the clock and fresh identifiers, a `RowEngine` where rows matter.
Out: a `CommitPlan`, then a `CommitResult`: committed, conflicted, rejected or unknown.
Always: proposals and most guards are pure, so a plan can be made again on a newer version. A guard that cannot be
judged never passes. The commit file is written only if its name is free, and every commit that came first is judged.

Protocol sections: Requirements for Writers, Delta Log Entries, Protocol Evolution, and the writer requirements of each
feature.
"""
