"""The files of ``_delta_log``: a listing becomes a segment, and a segment the state of a version.

In: a `LogStore`, and a version or none.
Out: `LogListing` (the files that exist), `LogSegment` (the checkpoint and the commits that make up one version),
`TableState` (protocol, metadata, transactions, domains) and `LogicalFiles` (the live files as lazily read columns).
Always: a segment is contiguous and complete or does not exist. The newest action for a key wins. A commit counts in
full or not at all. A checkpoint of any shape gives the state that its commits give. A wrong hint costs time only.

Layers: `replay` and `verify` use `checkpoint` and `catalog_commits`, these use `log_segment`, and that uses
`log_path`, `commit` and `last_checkpoint`. `writing` is the reverse.

Protocol sections: Delta Log Entries, Checkpoints, Last Checkpoint File, Log Compaction Files, Version Checksum File,
Catalog-managed tables, Action Reconciliation.
"""
