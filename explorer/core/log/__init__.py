"""The files of ``_delta_log``: a listing becomes a segment, and a segment the state of a version.

In: a `LogStore`, and a version or none.
Out: `LogListing` (what is there), `LogSegment` (the checkpoint and the commits that make up one version), `TableState`
(protocol, metadata, transactions, domains) and `LogicalFiles` (the live files as columns that are read when asked for).
Always: a segment is contiguous and complete or does not exist. The newest action for a key wins. A commit counts whole
or not at all. A checkpoint of any shape gives the state that its commits give. A hint that is wrong costs time only.

The way down: `replay` and `verify` use `checkpoint` and `catalog_commits`, these use `log_segment`, and that uses
`log_path`, `commit` and `last_checkpoint`. `writing` is the way back.

Protocol sections: Delta Log Entries, Checkpoints, Last Checkpoint File, Log Compaction Files, Version Checksum File,
Catalog-managed tables, Action Reconciliation.
"""
