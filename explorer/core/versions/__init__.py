"""The table at each version, and between versions.

In: a `LogStore`; the face of the package is `DeltaLog`, which keeps what it has read.
Out: `Snapshot` (one version), `History` (the commits), `Lifetimes` (every file as an interval of versions),
`SnapshotDiff`, column lineage, the sources of a change feed, and the retention of each version.
Always: a version never changes, so what was read is kept and only newer versions are looked for. The protocol of a
version is checked before its content is used. A column is the same one along its physical path, whatever its name.
A number that the log does not give is null.

Protocol sections: Action Reconciliation, Commit Provenance Information, In-Commit Timestamps, Column Mapping, Add CDC
File, Metadata Cleanup.
"""
