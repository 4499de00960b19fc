"""Checkpoints, read by column: classic, in several parts, and V2 with sidecars.

In: a `LogStore` and the checkpoint of a segment.
Out: the small actions in force, and the files and tombstones as columns with the schema of
`explorer.core.protocol.logical_files`.
Always: only requested columns are read. A missing column or field reads as null, an unknown one is skipped. There
is exactly one protocol and one metaData. Where only parsed statistics exist, their text is rebuilt from them.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files, Checkpoint Schema.
"""
