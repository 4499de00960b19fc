"""The table at each version, and between versions.

In: a `LogStore`; callers use the package through `DeltaLog`, which caches everything it has read.
Out: `Snapshot` (one version), `History` (the commits), `Lifetimes` (every file as an interval of versions),
`SnapshotDiff`, column lineage, the sources of a change feed, and the retention of each version.
Always: a version never changes, so snapshots stay in memory and only newer versions are listed; the cache of
`KeptIndexes` serves only the very files that it was read from. The protocol of a version is checked before
its content is used. The physical path identifies a column, whatever its name. A number that is not in the log is null.

Protocol sections: Action Reconciliation, Commit Provenance Information, In-Commit Timestamps, Column Mapping, Add CDC
File, Metadata Cleanup.
"""
